"""How each peer is started: the agents of other makers, their servers, our own example agent, and nginx.

Configurations are written here so that a test reads them beside the command that uses them; the programs themselves and
their quirks are in ../README.md and in their own headers.
"""

import os
import pathlib
import signal
import socket
import subprocess
import sys

from world import BIN, CACHE, ROOT, check, wait_for

BEAT = 1  # seconds between heartbeats or polls of every peer that lets us choose


def free_port():
    """A port that was free a moment ago, for programs that cannot take one of the kernel's choice."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return probe.getsockname()[1]


def go_agent(world, url, token, name, *more, ca=None):
    command = [BIN / "goagent", "-url", url, "-token", token, "-name", name, "-interval", f"{BEAT}s", *more]
    return world.start(name, command + (["-ca", ca] if ca else []))


def node_agent(world, url, token, name, ca=None):
    command = ["node", "agent.mjs", "--url", url, "--token", token, "--name", name, "--interval", BEAT]
    return world.start(name, command + (["--ca", ca] if ca else []), cwd=CACHE / "node")


def python_agent(world, url, token, name, ca=None):
    command = [CACHE / "python/bin/python", ROOT / "interop/python/agent.py",
               "--url", url, "--token", token, "--name", name, "--interval", BEAT]
    return world.start(name, command + (["--ca", ca] if ca else []))


def java_agent(world, url, token, name, ca=None):
    # One compiler thread level and a small heap: start-up is most of what these tests pay for.
    command = ["java", "-XX:TieredStopAtLevel=1", "-Xmx128m", "-cp", f"{CACHE}/java/lib/*:{CACHE}/java/classes", "JavaAgent",
               "--url", url, "--token", token, "--name", name, "--interval", BEAT]
    return world.start(name, command + (["--ca", ca] if ca else []))


COLLECTOR = """
extensions:
  opamp:
    server:
      {transport}:
        endpoint: {url}
        headers:
          Authorization: Bearer ${{env:OPAMP_TOKEN}}
        tls:
          {tls}
        {poll}
    agent_description:
      non_identifying_attributes:
        deployment.environment: interop
receivers:
  nop:
exporters:
  nop:
service:
  extensions: [opamp]
  telemetry:
    resource:
      service.name: {name}
    metrics:
      level: none
  pipelines:
    metrics:
      receivers: [nop]
      exporters: [nop]
"""


def collector(world, url, token, name, ca=None):
    """The Collector with its opamp extension."""
    http = url.startswith("http")
    config = world.folder / f"{name}.yaml"
    config.write_text(COLLECTOR.format(
        transport="http" if http else "ws", url=url, name=name, tls=f"ca_file: {ca}" if ca else "insecure: true",
        poll=f"polling_interval: {BEAT}s" if http else "",
    ))
    return world.start(name, [BIN / "collector", "--config", config], env={"OPAMP_TOKEN": token})


SUPERVISOR = """
server:
  endpoint: {url}
  headers:
    Authorization: ["Bearer {token}"]
  tls:
    {tls}
capabilities:
  accepts_remote_config: true
  reports_remote_config: true
  reports_effective_config: true
  reports_health: true
  reports_available_components: true
  reports_heartbeat: true
  accepts_restart_command: true
  reports_own_metrics: false
agent:
  executable: {collector}
  # Else each Collector, the one for the supervisor's first look included, serves its own metrics on port 8888.
  args: ["--set=service.telemetry.metrics.level=none"]
  config_apply_timeout: 3s
  bootstrap_timeout: 20s
  orphan_detection_interval: 1s
  description:
    identifying_attributes:
      service.name: {name}
    non_identifying_attributes:
      deployment.environment: interop
storage:
  directory: {storage}
"""


def supervisor(world, url, token, name, ca=None):
    """The upstream supervisor with a Collector below it. It ends in order on SIGINT only."""
    config = world.folder / f"{name}.yaml"
    config.write_text(SUPERVISOR.format(
        url=url, token=token, name=name, collector=BIN / "collector", storage=world.folder / f"{name}-storage",
        tls=f"ca_file: {ca}" if ca else "insecure: true",
    ))
    return world.start(name, [BIN / "opampsupervisor", "--config", config], stop=signal.SIGINT)


class GoServer:
    """The recording server on opamp-go; a second start takes the first one's port."""

    def __init__(self, world, *flags, label="goserver"):
        self.world, self.flags, self.label, self.address = world, flags, label, "127.0.0.1:0"
        self.start()

    def start(self):
        self.child = self.world.start(self.label, [BIN / "goserver", "-listen", self.address, *self.flags])
        self.address = self.child.line("listening on ").rpartition(" ")[2]

    def url(self, scheme):
        return f"{scheme}://{self.address}/v1/opamp"

    def messages(self):
        return [e["message"] for e in self.child.of("message")]

    def offer(self, text):
        path = self.world.folder / f"offer-{len(list(self.world.folder.iterdir()))}.yaml"
        path.write_text(text)
        self.child.tell(f"config {path}")


class MockServer:
    """Elastic's mock server."""

    def __init__(self, world, *flags, port=0):
        self.child = world.start("mockserver", ["node", "mockserver.mjs", "--port", port, *flags], cwd=CACHE / "node")
        self.url = self.child.event("listening")["url"]

    def messages(self):
        return [e["a2s"] for e in self.child.of("message") if e.get("a2s")]


def our_agent_binary():
    """`agent` of crates/opamp-client/examples, from the same build as the binary under test."""
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    muster = pathlib.Path(os.environ.get("MUSTER_BIN", target / "debug" / "muster"))
    return pathlib.Path(os.environ.get("AGENT_BIN", muster.parent / "examples" / "agent"))


def our_agent(world, url, *more, name="ours"):
    return world.start(name, [our_agent_binary(), url, "--interval", BEAT, "--name", name, *more])


def certificate(world):
    """A throw-away certificate authority and a certificate of it for 127.0.0.1: (ca, certificate, key)."""
    folder = world.folder
    ca, cert, key = folder / "ca.pem", folder / "cert.pem", folder / "key.pem"
    def openssl(*arguments):
        done = subprocess.run(["openssl", *[str(a) for a in arguments]], cwd=folder, capture_output=True, text=True)
        check(done.returncode == 0, f"openssl: {done.stderr}")
    curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
    openssl("req", "-x509", *curve, "-keyout", "ca.key", "-out", ca, "-days", 2, "-subj", "/CN=interop CA")
    openssl("req", *curve, "-keyout", key, "-out", "request.pem", "-subj", "/CN=127.0.0.1")
    (folder / "extensions").write_text("subjectAltName=IP:127.0.0.1,DNS:localhost\nbasicConstraints=CA:FALSE\n")
    openssl("x509", "-req", "-in", "request.pem", "-CA", ca, "-CAkey", "ca.key", "-CAcreateserial", "-days", 2,
            "-extfile", "extensions", "-out", cert)
    return ca, cert, key


NGINX = """
daemon off;
master_process off;
pid {folder}/nginx.pid;
error_log stderr warn;
events {{}}
http {{
  access_log off;
  client_body_temp_path {folder}/body;
  proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi;
  scgi_temp_path {folder}/scgi;
  map $http_upgrade $connection_upgrade {{
    default upgrade;
    ''      '';
  }}
  server {{
    listen 127.0.0.1:{port} ssl;
    ssl_certificate {cert};
    ssl_certificate_key {key};
    location /v1/opamp {{
      proxy_pass http://{upstream};
      proxy_http_version 1.1;
      proxy_set_header Host $host;
      proxy_set_header Upgrade $http_upgrade;
      proxy_set_header Connection $connection_upgrade;
      proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
      proxy_set_header X-Forwarded-Proto $scheme;
      proxy_read_timeout 1h;
    }}
  }}
}}
"""


def nginx(world, upstream):
    """nginx with TLS in front of `upstream` (host:port): (port, CA file)."""
    ca, cert, key = certificate(world)
    port = free_port()
    config = world.folder / "nginx.conf"
    config.write_text(NGINX.format(folder=world.folder, port=port, cert=cert, key=key, upstream=upstream))
    child = world.start("nginx", ["nginx", "-p", world.folder, "-e", "stderr", "-c", config], stop=signal.SIGQUIT)

    def listening():
        check(child.alive(), f"nginx ended: {child.lines}")
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            return False
        return True

    wait_for("nginx to listen", listening)
    return port, ca


if sys.version_info < (3, 11):
    raise SystemExit("the interop tests need Python 3.11 or newer")
