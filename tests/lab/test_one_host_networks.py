"""What networks of a project say of the world outside, on real engines: it holds for what runs already, for connections that
began before, and for a release that comes back."""

import sys
import threading

import plane as planes
from grounds import OneHost, on_each_engine
from test_one_host import NEEDS
from wire import NET
from world import check, equal, wait_for

WORLD = f"{NET}.254"
# Takes lines from whoever connects and says how many have come.
SINK = """
import socket, sys
listening = socket.create_server((sys.argv[1], 8098))
while True:
    peer, _ = listening.accept()
    for line in peer.makefile():
        print("line", flush=True)
"""


def unready():
    lacking = planes.lacks(*NEEDS)
    return lacking and f"this muster has no command `{lacking}`"


def two(top, db="echo ok >/d/x; exec httpd -f -p 80 -h /d", web="100000"):
    """`web` beside `db`, which has a volume, on one network."""
    return f"""services:
  web:
    image: lab/busybox:1
    command: [sleep, '{web}']
    stop_grace_period: 0s
    networks: [back]
  db:
    image: lab/busybox:1
    command: ["sh", "-c", "{db}"]
    stop_grace_period: 0s
    networks: [back]
    volumes: ['d:/d']
    x-muster: {{update_order: stop_first, deadline: 8s}}
networks: {{back: {{{top}}}}}
volumes: {{d: {{}}}}
"""


class Ground(OneHost):
    def __init__(self, world, engine):
        super().__init__(world, engine)
        world.start("outside", self.lab.client("busybox", "httpd", "-f", "-p", f"{WORLD}:8099", "-h", "/etc/docker"))

    def reaches_out(self, service):
        """Whether the world answers, be it that there is no such page."""
        code, said = self.inside("x", service, "timeout", "4", "wget", "-q", "-O", "-", f"http://{WORLD}:8099/none", check_code=False)
        return "404" in said

    def db_answers(self):
        code, said = self.inside("x", "web", "timeout", "4", "wget", "-q", "-O", "-", "http://db/x", check_code=False)
        return code == 0 and said.strip() == "ok"

    def ids(self):
        return {c["Id"] for c in self.ours("x")}


@on_each_engine
def test_r34_a_network_that_becomes_internal_is_closed_under_what_runs_and_opens_again(world, engine):
    ground = Ground(world, engine)
    sink = world.start("sink", ground.lab.client(sys.executable, "-c", SINK, WORLD))
    ground.plane.deployed("x", two(""))
    wait_for("the world", lambda: ground.reaches_out("web") and ground.reaches_out("db"), 20)
    wait_for("the database", ground.db_answers, 20)
    before = ground.ids()

    # A connection that goes on for as long as the test lets it.
    web = ground.one("x", "web")["Id"]
    talk = f"while sleep 0.2; do echo x; done | nc {WORLD} 8098"
    world.start("talk", ground.host.command("docker", "exec", web, "sh", "-c", talk))
    lines = lambda: sum(line.strip() == "line" for line in sink.lines)
    wait_for("lines", lambda: lines() > 3, 20)

    _, said, _ = ground.plane.tool("diff", "--file", ground.plane.files("x", two("internal: true"), None))
    check("becomes internal" in said, said)
    ground.plane.deployed("x", two("internal: true"))
    check(not ground.reaches_out("web") and not ground.reaches_out("db"), "the world is reached from an internal network")
    check(ground.db_answers(), "the database is not reached any more")
    equal(ground.ids(), before, "the containers")
    seen = lines()
    threading.Event().wait(3)
    equal(lines(), seen, "lines of a connection that began before")

    ground.plane.deployed("x", two(""))
    wait_for("the world again", lambda: ground.reaches_out("web"), 20)
    equal(ground.ids(), before, "the containers")
    ground.foreign.untouched()


@on_each_engine
def test_r68_what_goes_back_stands_in_the_network_of_the_others_which_is_internal_as_before(world, engine):
    ground = Ground(world, engine)
    ground.plane.deployed("x", two("internal: true"))
    wait_for("the database", ground.db_answers, 20)
    code, said = ground.plane.deploy("x", two("", db="sleep 1; exit 3"))
    check(code != 0, f"what exits was deployed: {said}")
    wait_for("the database again", ground.db_answers, 20)
    wait_for("a closed network", lambda: not ground.reaches_out("web") and not ground.reaches_out("db"), 20)
    ours = [n for n in ground.host.engine.networks() if (n["Labels"] or {}).get("muster.project") == "x"]
    equal(len(ours), 1, "networks of the project")

    # A release whose network the files do not name any more.
    ground.plane.deployed("x", "services: {web: {image: 'lab/busybox:1', command: [sleep, '7'], stop_grace_period: 0s}}")
    wait_for("the world", lambda: ground.reaches_out("web"), 20)
    ground.plane.must("services", "rollback", "x/web", "--to", "1", "--yes")
    wait_for("a closed network", lambda: not ground.reaches_out("web"), 20)
    ground.foreign.untouched()
