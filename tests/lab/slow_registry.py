"""A registry that has every image and sends next to nothing of its layers, as one behind a bad line does. Speaks as much of
the distribution API as a pull needs."""

import hashlib
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import wire

LAYER_BYTES = 10_000_000


def _sha256(data):
    return "sha256:" + hashlib.sha256(data).hexdigest()


def _config(repository):
    diff = _sha256(repository.encode())
    return json.dumps({"architecture": "amd64", "os": "linux", "config": {}, "rootfs": {"type": "layers", "diff_ids": [diff]}}).encode()


def _manifest(repository):
    config = _config(repository)
    kind = "application/vnd.docker."
    return json.dumps({
        "schemaVersion": 2,
        "mediaType": kind + "distribution.manifest.v2+json",
        "config": {"mediaType": kind + "container.image.v1+json", "size": len(config), "digest": _sha256(config)},
        "layers": [{
            "mediaType": kind + "image.rootfs.diff.tar.gzip", "size": LAYER_BYTES, "digest": _sha256(repository.encode() + b" layer"),
        }],
    }).encode()


class SlowRegistry:
    """Serves until the test is over. `open`: how many layers are being sent."""

    def __init__(self, world, namespace, address):
        self.over, self.open, self.lock = threading.Event(), 0, threading.Lock()
        registry = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_HEAD(self):
                self.do_GET()

            def do_GET(self):
                repository, _, rest = self.path.removeprefix("/v2/").partition("/")
                if self.path == "/v2/":
                    return self.answer(b"{}", "application/json")
                if rest.startswith("manifests/"):
                    return self.answer(_manifest(repository), "application/vnd.docker.distribution.manifest.v2+json")
                if rest == "blobs/" + _sha256(_config(repository)):
                    return self.answer(_config(repository), "application/octet-stream")
                return self.layer()

            def answer(self, body, kind):
                self.send_response(200)
                self.send_header("content-type", kind)
                self.send_header("content-length", str(len(body)))
                self.send_header("docker-content-digest", _sha256(body))
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(body)

            def layer(self):
                self.close_connection = True
                self.send_response(200)
                self.send_header("content-length", str(LAYER_BYTES))
                self.end_headers()
                registry.count(1)
                try:
                    while not registry.over.wait(0.5):
                        self.wfile.write(b"x" * 200)
                        self.wfile.flush()
                except OSError:
                    pass
                registry.count(-1)

        server = wire.inside(namespace, lambda: ThreadingHTTPServer((address, 0), Handler))
        server.daemon_threads = True
        self.address = f"{address}:{server.server_address[1]}"
        threading.Thread(target=server.serve_forever, daemon=True).start()
        world.later(server.server_close)
        world.later(server.shutdown)
        world.later(self.over.set)

    def count(self, more):
        with self.lock:
            self.open += more
