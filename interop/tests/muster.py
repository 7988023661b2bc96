"""Our server as the tests see it: start, ready file, and the few calls of the HTTP API that they need.

The contract of the ready file is in ../README.md.
"""

import http.client
import json
import os
import pathlib
import ssl
import urllib.parse

from world import ROOT, check, wait_for


def binary():
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    return pathlib.Path(os.environ.get("MUSTER_BIN", target / "debug" / "muster"))


class Muster:
    """A running `muster server` with a data directory of its own."""

    def __init__(self, world, label="muster", tls=False, flags=(), env=None, listen=("127.0.0.1:0", "127.0.0.1:0")):
        self.world, self.label, self.tls, self.flags, self.env = world, label, tls, list(flags), env
        self.data = world.folder / f"{label}-data"
        self.starts = 0
        self.first = {}
        self.token = None
        self.listen = listen
        self.start()

    def command(self, *argv):
        """The command line that runs the binary where the server lives."""
        return [binary(), *argv]

    def start(self):
        """Starts it; a second start reuses data, ports and login of the first."""
        self.starts += 1
        ready = self.world.folder / f"{self.label}-ready-{self.starts}.json"
        command = self.command("server", "--data-dir", self.data, "--opamp-listen", self.listen[0], "--listen", self.listen[1],
                               "--ready-file", ready, *self.flags)
        if not self.tls:
            command.append("--insecure-http")
        self.child = self.world.start(self.label, command, env=self.env)

        def probe():
            check(self.child.alive(), f"{self.label} ended with code {self.child.process.returncode}")
            return ready.exists()

        wait_for(f"ready file of {self.label}", probe, 60)
        self.ready = json.loads(ready.read_text())
        for field in ("admin_password", "enrolment_token"):
            if self.ready.get(field):
                self.first[field] = self.ready[field]
        self.opamp = urllib.parse.urlsplit(self.ready["opamp"])
        self.console = urllib.parse.urlsplit(self.ready["console"])
        self.listen = (self.opamp.netloc, self.console.netloc)
        self.token = None

    @property
    def enrolment(self):
        return self.first["enrolment_token"]

    @property
    def ca(self):
        return self.ready["ca_file"]

    def url(self, scheme, port=None):
        """The OpAMP endpoint for `ws` or `http` (with TLS `wss` or `https`), by another port if it is a tape's."""
        secure = "s" if self.tls else ""
        return f"{scheme}{secure}://{self.opamp.hostname}:{port or self.opamp.port}{self.opamp.path}"

    def link(self):
        """A connection to the console's port."""
        if self.tls:
            context = ssl.create_default_context(cafile=self.ca)
            return http.client.HTTPSConnection(self.console.hostname, self.console.port, timeout=60, context=context)
        return http.client.HTTPConnection(self.console.hostname, self.console.port, timeout=60)

    def call(self, method, path, body=None, token=None):
        """One API call: (status, decoded body)."""
        link = self.link()
        headers = {"authorization": f"Bearer {token}"} if token else {}
        data = None
        if body is not None:
            headers["content-type"], data = "application/json", json.dumps(body)
        try:
            link.request(method, path, body=data, headers=headers)
            answer = link.getresponse()
            text = answer.read()
        finally:
            link.close()
        return answer.status, json.loads(text) if text else None

    def api(self, method, path, body=None):
        """An API call as the administrator; anything but 2xx fails the test."""
        if self.token is None:
            login = {"username": "admin", "password": self.first["admin_password"], "want_token": True}
            status, session = self.call("POST", "/api/v1/session", login)
            check(status == 200, f"login answered {status}: {session}")
            self.token = session["token"]
        status, answer = self.call(method, path, body, self.token)
        check(200 <= status < 300, f"{method} {path} answered {status}: {answer}")
        return answer

    def agents(self, **query):
        return self.api("GET", "/api/v1/agents?" + urllib.parse.urlencode({"limit": 500, **query}))["items"]

    def named(self, name):
        """The summary of the one agent with this service.name, or None."""
        found = [a for a in self.agents(selector=f"service.name={name}")]
        check(len(found) <= 1, f"{len(found)} agents are named {name}: {[a['instance_uid'] for a in found]}")
        return found[0] if found else None

    def detail(self, uid):
        return self.api("GET", f"/api/v1/agents/{uid}")

    def until(self, name, what, condition, seconds=20.0):
        """Waits until the agent of this name is seen and fits; returns its summary."""
        last = {}

        def probe():
            agent = self.named(name)
            last["seen"] = agent
            return agent if agent and condition(agent) else None

        try:
            return wait_for(f"{name}: {what}", probe, seconds, pause=0.1)
        except AssertionError as late:
            raise type(late)(f"{late}; last seen: {json.dumps(last.get('seen'))}") from None
