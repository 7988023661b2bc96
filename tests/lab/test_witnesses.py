"""What the tests on hosts rely on, tested itself: a control plane on the wire, a poller that misses nothing, and a look at
somebody else's things that notices a touch."""

import sys

import plane as planes
import resolver
from grounds import lab
from plane import Plane
from witness import Foreign, Poller
from world import Failed, check, equal, wait_for


WALL = f"""
table inet wall {{
  chain early {{
    type filter hook prerouting priority -300; policy accept;
    tcp dport {Foreign.PORT} drop
  }}
}}
"""


def unready():
    lacking = planes.lacks("server")
    return lacking and "there is no muster binary"


def test_lab_a_control_plane_on_the_wire_is_reached_by_operators_and_hosts_and_comes_back(world):
    ground = lab(world, 1, "none")
    plane = Plane(world, ground)
    equal(plane.table("users", "list")[0]["name"], "admin", "what the command line is told")
    ready = ("curl", "-sS", "--cacert", plane.ca, f"{plane.console.geturl()}/readyz")
    equal(ground.host(1).run(*ready)[1].strip(), "ready", "what a host is told")
    plane.kill()
    check(ground.host(1).run(*ready, check=False)[0] != 0, "it is gone")
    plane.start()
    equal(ground.host(1).run(*ready)[1].strip(), "ready", "what a host is told by the next one")
    saved = plane.backup("saved")
    plane.must("labels", "--help")
    plane.stop()
    plane.restore(saved)
    check(plane.api("GET", "/api/v1/overview")["restored_at"], "it knows that it was restored")


def test_lab_hosts_ask_the_resolver_on_the_wire(world):
    ground = lab(world, 1)
    host = ground.host(1)
    ground.load()
    look = ("docker", "run", "--rm", "lab/busybox:1", "nslookup", resolver.NAME)
    check(host.run(*look, check=False)[0] != 0, "a name without a resolver")
    child = world.start("resolver", ground.client(sys.executable, resolver.__file__))
    child.line("ready")
    check(resolver.ADDRESS in host.run(*look)[1], "a name with one")
    child.line(f"asked {resolver.NAME} 1")


def test_lab_a_poller_counts_every_request_that_failed(world):
    ground = lab(world, 1)
    host = ground.host(1)
    ground.load()
    name = host.engine.create("web", "lab/web:v1")
    address = host.engine.inspect(name)["NetworkSettings"]["Networks"]["bridge"]["IPAddress"]
    check(host.run("curl", "-s", "--retry", "5", "--retry-connrefused", f"http://{address}/")[1] == "v1\n", "the page")
    poller = Poller(world, host.netns, address)
    wait_for("answers", lambda: len(poller.texts()) > 20)
    check(not poller.failures, f"{poller.failures}")
    host.engine.call("POST", f"/containers/{name}/pause")
    host.engine.call("POST", f"/containers/{name}/unpause")
    host.engine.call("POST", f"/containers/{name}/kill")
    wait_for("a failure", lambda: poller.failures, 20)
    host.engine.call("POST", f"/containers/{name}/start")
    before = len(poller.answers)
    wait_for("answers again", lambda: len(poller.answers) > before, 20)
    try:
        poller.unbroken()
    except Failed as failed:
        check("requests failed" in str(failed), str(failed))
    else:
        check(False, "nothing was noticed")


def test_lab_a_touch_of_what_is_somebody_elses_is_noticed(world):
    ground = lab(world, 1)
    host = ground.host(1)
    ground.load()
    foreign = Foreign(host)
    foreign.untouched()
    call = host.engine.call
    host.engine.create("mine", "lab/busybox:1", Cmd=["sleep", "1000"], HostConfig={"RestartPolicy": {"Name": "unless-stopped"}})
    foreign.untouched()
    host.reboot()
    wait_for("the container", lambda: host.engine.inspect(foreign.NAME)["State"]["Running"])
    wait_for("its page", foreign.serves, 20)
    foreign.untouched(restarted=True)
    host.run("nft", "-f", "-", text=WALL)
    check(not foreign.serves(), "a wall in front of it is noticed")
    host.run("nft", "delete", "table", "inet", "wall")
    touches = {
        "restart": lambda: call("POST", f"/containers/{foreign.NAME}/restart", t="0"),
        "attach": lambda: call("POST", "/networks/bridge/connect", {"Container": foreign.NAME}),
        "join": lambda: call("POST", f"/networks/{foreign.NETWORK}/connect", {"Container": "mine"}),
        "limit": lambda: call("POST", f"/containers/{foreign.NAME}/update", {"PidsLimit": 77}),
        "stop": lambda: call("POST", f"/containers/{foreign.NAME}/kill"),
    }
    for name, touch in touches.items():
        foreign.before = foreign.look()
        foreign.untouched()
        touch()
        try:
            foreign.untouched()
        except Failed:
            continue
        check(False, f"{name} was not noticed")
