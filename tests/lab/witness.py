"""Those who watch while a test does its worst: a client that asks a service all the time, and things on a host that are
none of ours."""

import http.client
import subprocess
import threading
import time

import wire
from world import check, wait_for

KEPT = ("Id", "Created", "Path", "Args", "Image", "Name", "Mounts", "HostConfig", "Config")


class Poller:
    """Asks a page all the time, a new connection for each request, from the wire or from a host; counts what failed."""

    def __init__(self, world, namespace, host, port=80, path="/", pause=0.02):
        self.namespace, self.host, self.port, self.path, self.pause = namespace, host, port, path, pause
        self.answers, self.failures = [], []
        self.done = threading.Event()
        self.thread = threading.Thread(target=wire.inside, args=(namespace, self._run), daemon=True)
        self.thread.start()
        world.later(self.done.set)

    def _run(self):
        while not self.done.is_set():
            begun = time.monotonic()
            try:
                link = http.client.HTTPConnection(self.host, self.port, timeout=5)
                link.request("GET", self.path)
                answer = link.getresponse()
                text = answer.read().decode(errors="replace").strip()
                link.close()
                if answer.status == 200:
                    self.answers.append((begun, text))
                else:
                    self.failures.append((begun, f"{answer.status} {text}"))
            except (OSError, http.client.HTTPException) as problem:
                self.failures.append((begun, repr(problem)))
            self.done.wait(self.pause)

    def texts(self):
        return [text for _, text in list(self.answers)]

    def stop(self):
        self.done.set()
        self.thread.join(10)

    def unbroken(self, least=20):
        """Ends it; fails if one request did."""
        self.stop()
        check(len(self.answers) >= least, f"only {len(self.answers)} requests were made")
        check(not self.failures, f"{len(self.failures)} of {len(self.answers) + len(self.failures)} requests failed: {self.failures[:3]}")


def differences(before, after, path=""):
    """The places in which two documents differ. Nothing and empty are the same: an engine that was restarted says one for
    the other."""
    if isinstance(before, dict) and isinstance(after, dict):
        for key in sorted(before.keys() | after.keys()):
            yield from differences(before.get(key), after.get(key), f"{path}.{key}" if path else key)
    elif (before or None) != (after or None):
        yield f"{path}: {before!r} became {after!r}"


class Foreign:
    """A container, a network and a volume of somebody else, among ours: on the same host, with a name like ours and labels
    that only look like ours. It serves a page on a port that Docker publishes. Nothing may happen to them."""

    NAME, NETWORK, VOLUME, PORT = "shop-web-1-abcdef", "muster-shop-front-abcdef", "muster-shop-files", 9090

    def __init__(self, host):
        self.host = host
        call = host.engine.call
        labels = {"muster.project": "shop", "muster.host": "hst_00000000000000000000000000"}
        call("POST", "/networks/create", {"Name": self.NETWORK, "Labels": labels, "IPAM": {"Config": [{"Subnet": "172.30.0.0/24", "Gateway": "172.30.0.1"}]}})
        call("POST", "/volumes/create", {"Name": self.VOLUME, "Labels": labels})
        host.engine.create(
            self.NAME, "lab/busybox:1", Labels=labels, ExposedPorts={"80/tcp": {}},
            Cmd=["sh", "-c", "echo theirs >/data/index.html; exec httpd -f -p 80 -h /data"],
            HostConfig={
                "Binds": [f"{self.VOLUME}:/data"], "NetworkMode": self.NETWORK, "RestartPolicy": {"Name": "unless-stopped"},
                "PortBindings": {"80/tcp": [{"HostPort": str(self.PORT)}]},
            },
        )
        self.before = self.look()
        wait_for("somebody else's page", self.serves, 20)

    def serves(self):
        """Whether a client on the wire gets its page."""
        fetch = self.host.lab.client("curl", "-s", "--max-time", "3", f"http://{self.host.ip}:{self.PORT}/")
        return subprocess.run(fetch, capture_output=True, text=True).stdout == "theirs\n"

    def look(self):
        engine = self.host.engine
        container = engine.inspect(self.NAME)
        network = engine.call("GET", f"/networks/{self.NETWORK}")
        return {
            "container": {key: container[key] for key in KEPT},
            "started": container["State"]["StartedAt"],
            "running": container["State"]["Running"],
            "attached": sorted(container["NetworkSettings"]["Networks"]),
            "network": {key: network[key] for key in ("Id", "Created", "Driver", "IPAM", "Options", "Labels")},
            "members": sorted(network["Containers"]),
            # Engines take the age of a volume from its folder, which changes with what its user writes.
            "volume": {key: value for key, value in engine.call("GET", f"/volumes/{self.VOLUME}").items() if key != "CreatedAt"},
        }

    def untouched(self, restarted=False):
        """`restarted`: the host itself was, so that it runs since another time."""
        changed = list(differences(self.before, self.look()))
        if restarted:
            changed = [change for change in changed if not change.startswith("started")]
        check(not changed, f"somebody else's things were changed: {changed}")
        check(self.serves(), "somebody else's page is served no more")
