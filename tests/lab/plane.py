"""The control plane of a lab, and what an operator does with it: every call of the command line that the tests make is
written here. It runs on the wire but on no host, at 198.18.0.254.
"""

import hashlib
import json
import shutil
import subprocess

import wire
from machines import Broken
from muster import Muster, binary
from world import Failed, check, wait_for


# The unit that the join command leaves behind.
AGENT = "muster-agent"


def lacks(*commands):
    """The first of these commands that the binary under test does not have, or None; all are lacking without one."""
    for command in commands:
        if not binary().exists():
            return command
        if subprocess.run([binary(), *command.split(), "--help"], capture_output=True).returncode != 0:
            return command
    return None


class Plane(Muster):
    def __init__(self, world, lab, flags=()):
        self.lab = lab
        super().__init__(world, "plane", tls=True, flags=flags, listen=(f"{wire.CLIENT}:4320", f"{wire.CLIENT}:5050"))

    def command(self, *argv):
        return self.lab.client(binary(), *argv)

    def link(self):
        link = super().link()
        make = link._create_connection
        link._create_connection = lambda *a, **k: wire.inside(self.lab.wire.path, lambda: make(*a, **k))
        return link

    # ---- its own fate ----

    def stop(self):
        self.child.stop()

    def kill(self):
        self.child.kill()

    def restart(self):
        if self.child.alive():
            self.stop()
        self.start()

    def backup(self, name):
        file = self.world.folder / f"{name}.tar.gz"
        subprocess.run([binary(), "backup", "--data-dir", self.data, "--to", file], check=True, capture_output=True)
        return file

    def restore(self, file):
        """Replaces its data by those of the back-up, as an operator does whose disk was lost; it must be stopped."""
        old = self.data.with_name("lost-data")
        self.data.rename(old)
        done = subprocess.run(
            [binary(), "restore", file, "--data-dir", self.data, "--key-file", old / "master.key"], capture_output=True, text=True,
        )
        check(done.returncode == 0, f"restore: {done.stderr}")
        if not (self.data / "master.key").exists():
            shutil.copy(old / "master.key", self.data / "master.key")
        self.start()

    # ---- the command line ----

    def environment(self):
        if self.token is None:
            self.api("GET", "/api/v1/overview")
        return {
            "MUSTER_URL": self.console.geturl(), "MUSTER_TOKEN": self.token, "MUSTER_FINGERPRINT": self.pin(),
            "HOME": str(self.world.folder), "NO_COLOR": "1",
        }

    def pin(self):
        """SHA-256 of the public key of its authority."""
        key = subprocess.run(["openssl", "x509", "-in", self.ca, "-pubkey", "-noout"], check=True, capture_output=True).stdout
        der = subprocess.run(["openssl", "pkey", "-pubin", "-outform", "der"], input=key, check=True, capture_output=True).stdout
        return hashlib.sha256(der).hexdigest()

    def tool(self, *argv, text=None, seconds=120):
        """Runs `muster` as an operator: (exit code, output, what it said on standard error)."""
        done = subprocess.run(
            self.command(*argv), env={"PATH": "/usr/bin:/bin", **self.environment()}, input=text or "", text=True,
            capture_output=True, timeout=seconds, cwd=self.world.folder,
        )
        return done.returncode, done.stdout, done.stderr

    def must(self, *argv, text=None, seconds=120):
        code, out, err = self.tool(*argv, text=text, seconds=seconds)
        if code != 0:
            raise Failed(f"muster {' '.join(map(str, argv))} ended with {code}: {err.strip() or out.strip()}")
        return out

    def table(self, *argv):
        answer = json.loads(self.must(*argv, "-o", "json"))
        return answer["items"] if isinstance(answer, dict) else answer

    # ---- hosts ----

    def join_command(self, name):
        """What an operator is given to paste on the new machine."""
        return self.api("POST", "/api/v1/join-tokens", {"host_name": name})["command"]

    def revoke_join_tokens(self, name):
        for token in self.api("GET", "/api/v1/join-tokens")["items"]:
            if token["host_name"] == name:
                self.api("DELETE", f"/api/v1/join-tokens/{token['id']}")

    def hosts(self):
        return self.api("GET", "/api/v1/hosts")["items"]

    def host(self, name):
        return next((host for host in self.hosts() if host["name"] == name), None)

    def until_host(self, name, state, seconds=60):
        def probe():
            host = self.host(name)
            check(host and host["state"] == state, f"{name} is {host}")
            return host

        return wait_for(f"{name} to be {state}", probe, seconds, pause=0.2)

    # ---- projects ----

    def files(self, project, text, beside):
        """Writes a Compose file and what it refers to; the path of the first."""
        folder = self.world.folder / project
        folder.mkdir(exist_ok=True)
        for name, content in {**(beside or {}), "compose.yaml": text}.items():
            (folder / name).write_text(content)
        return folder / "compose.yaml"

    def deploy(self, project, text, beside=None, seconds=120):
        """Deploys a Compose file and waits for the end: (exit code, all that it said)."""
        code, out, err = self.tool("deploy", "--file", self.files(project, text, beside), "--yes", "--wait", seconds=seconds)
        return code, out + err

    def deploying(self, project, text, *flags):
        """The same as a child, which may be killed or left alone."""
        return self.world.start("deploy", self.command("deploy", "--file", self.files(project, text, None), "--yes", *flags), env=self.environment())

    def deployed(self, project, text, beside=None):
        code, said = self.deploy(project, text, beside)
        check(code == 0, f"deploying {project} ended with {code}: {said}")
        return said

    def services(self, project):
        """{name: service} as the API shows them."""
        return {s["name"]: s for s in self.api("GET", "/api/v1/services")["items"] if s["project"] == project}

    def follow(self, project, service, *flags):
        """`muster logs --follow` as a child whose lines come as they are made."""
        return self.world.start("logs", self.command("logs", f"{project}/{service}", "--follow", *flags), env=self.environment())


def join_with(host, command):
    """Pastes the command on the machine; what it said."""
    code, said = host.run("sh", "-c", "mkdir -p /run/join && cd /run/join && " + command, check=False)
    if code != 0:
        raise Broken(f"the join command ended with {code}: {said[-2000:]}")
    return said


def join(plane, host):
    """Makes the machine a host of the plane's by what an operator would paste."""
    said = join_with(host, plane.join_command(host.name))
    plane.until_host(host.name, "online")
    return said
