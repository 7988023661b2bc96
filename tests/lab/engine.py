"""A Docker engine as the tests see it: its API over the unix socket, and which of the two engines a host runs."""

import http.client
import json
import pathlib
import shutil
import socket
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILT = ROOT / "interop" / ".cache" / "engine28" / "dockerd"


def program(version):
    """The path of the engine `20` (Debian's own) or `28` (which ./build makes); an empty one for `none`."""
    if version == "none":
        return ""
    path = {"20": shutil.which("dockerd", path="/usr/sbin:/usr/bin"), "28": str(BUILT)}[version]
    if not path or not pathlib.Path(path).exists():
        raise RuntimeError(f"there is no engine {version} (tests/lab/lab deps, tests/lab/build)")
    return path


class Refused(Exception):
    """The engine answered, but not with success."""

    def __init__(self, status, text):
        super().__init__(f"{status} {text}")
        self.status = status


class _Link(http.client.HTTPConnection):
    def __init__(self, path, timeout):
        super().__init__("engine", timeout=timeout)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(str(self.path))


class Engine:
    """Calls of the engine's API. The newest version that it knows is used, so keep to what has never changed."""

    def __init__(self, path):
        self.path = path

    def call(self, method, path, body=None, timeout=60, content_type="application/json", **query):
        """The decoded answer; text where it is not JSON."""
        link = _Link(self.path, timeout)
        if query:
            path += "?" + urllib.parse.urlencode({k: v if isinstance(v, str) else json.dumps(v) for k, v in query.items()})
        data = body if isinstance(body, (bytes, type(None))) else json.dumps(body).encode()
        try:
            link.request(method, path, body=data, headers={"content-type": content_type} if data is not None else {})
            answer = link.getresponse()
            text = answer.read()
        finally:
            link.close()
        if answer.status >= 400:
            raise Refused(answer.status, text.decode(errors="replace").strip())
        try:
            return json.loads(text) if text else None
        except ValueError:
            return text.decode(errors="replace")

    def answers(self):
        try:
            return self.call("GET", "/_ping", timeout=5) == "OK"
        except (OSError, http.client.HTTPException, Refused):
            return False

    def containers(self, **filters):
        """Also those that are not running; a filter is a list, as in `label=["a=b"]`."""
        return self.call("GET", "/containers/json", all="1", filters=filters)

    def inspect(self, name):
        return self.call("GET", f"/containers/{name}/json")

    def networks(self):
        return self.call("GET", "/networks")

    def volumes(self):
        return self.call("GET", "/volumes")["Volumes"] or []

    def load(self, archive):
        """Takes a file as `docker save` writes it."""
        answer = self.call("POST", "/images/load", archive, content_type="application/x-tar", quiet="1")
        if "errorDetail" in str(answer):
            raise Refused(200, str(answer))

    def create(self, name, image, start=True, **config):
        made = self.call("POST", "/containers/create", {"Image": image, **config}, name=name)
        if start:
            self.call("POST", f"/containers/{made['Id']}/start")
        return made["Id"]
