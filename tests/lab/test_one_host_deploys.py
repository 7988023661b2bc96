"""Deploys on one host: an update has no gap, and what cannot work is refused or taken back, with the reason, while the old
release serves. A poller asks the page all the time and must never fail."""

import calendar
import time

import plane as planes
import projects
from grounds import OneHost, on_each_engine
from plane import AGENT, join
from slow_registry import SlowRegistry
from test_one_host import NEEDS
from world import check, equal, wait_for

PORT = projects.ADMIN_PORT
# The least time that a new container has to get well, so that a test of one that never does is short.
SOON = "    x-muster: {deadline: 8s}\n"


def unready():
    lacking = planes.lacks(*NEEDS)
    return lacking and f"this muster has no command `{lacking}`"


def seconds(text):
    """An engine's time, since 1970."""
    whole, _, rest = text.rstrip("Z").partition(".")
    return calendar.timegm(time.strptime(whole, "%Y-%m-%dT%H:%M:%S")) + float(f"0.{rest or 0}")


def serving(world, engine="20"):
    """A host that serves version 1 of the page, and somebody who asks for it all the time."""
    ground = OneHost(world, engine)
    ground.plane.deployed("page", projects.page())
    wait_for("the page", lambda: ground.page(PORT) == "v1", 20)
    return ground, ground.poll(PORT)


def refused(ground, poller, text, *reasons):
    """Deploys what cannot work: it fails with one of these reasons, and version 1 has noticed nothing."""
    before = ground.starts("page")
    code, said = ground.plane.deploy("page", text)
    check(code != 0, f"the deploy ended well: {said}")
    check(any(reason.lower() in said.lower() for reason in reasons), f"none of {reasons} in: {said}")
    wait_for("nothing but the old release", lambda: ground.starts("page") == before, 20)
    wait_for("one container, also of those that do not run", lambda: len(ground.ours("page", running=False)) == 1, 30)
    wait_for("requests enough to tell", lambda: len(poller.answers) >= 20, 30)
    poller.unbroken()
    equal(set(poller.texts()), {"v1"}, "what was served")
    ground.foreign.untouched()


def logged(ground, text):
    """What the host itself says of it."""
    wait_for(f"{text} in the host's log", lambda: text in ground.plane.must("hosts", "log", ground.host.name), 40)


@on_each_engine
def test_r68_an_update_has_no_gap_and_leaves_nothing_of_the_old_release(world, engine):
    ground, poller = serving(world, engine)
    for version in ("v2", "v1", "v2"):
        ground.plane.deployed("page", projects.page(version))
        wait_for(version, lambda: ground.page(PORT) == version, 10)
    wait_for("one container", lambda: len(ground.ours("page", running=False)) == 1, 20)
    poller.unbroken(least=50)
    # Once a release is gone it does not come back.
    changes = [a for a, b in zip(poller.texts(), poller.texts()[1:]) if a != b]
    check(len(changes) >= 3, f"what was served changed {len(changes)} times")
    ground.foreign.untouched()


@on_each_engine
def test_state_10_a_missing_image_is_refused_and_the_old_release_serves(world, engine):
    ground, poller = serving(world, engine)
    refused(ground, poller, projects.page("none", extra=SOON), "lab/web:none")


@on_each_engine
def test_state_10_a_missing_image_stops_nothing_of_a_service_with_a_volume_either(world, engine):
    ground = OneHost(world, engine)
    ground.plane.deployed("page", projects.kept(project="page"))
    wait_for("the page", lambda: ground.page(PORT) == "v1", 20)
    poller = ground.poll(PORT)
    refused(ground, poller, projects.kept("none", project="page", extra=SOON), "lab/web:none")


def test_a_service_with_a_volume_has_its_next_container_made_before_the_old_one_stops(world):
    ground = OneHost(world)
    ground.plane.deployed("page", projects.kept(project="page"))
    wait_for("the page", lambda: ground.page(PORT) == "v1", 20)
    old = ground.one("page", "web")["Id"]
    ground.plane.deployed("page", projects.kept("v2", project="page"))
    wait_for("one container", lambda: len(ground.ours("page", running=False)) == 1, 20)
    new = ground.one("page", "web")
    equal(ground.page(PORT), "v2", "the page")
    code, died = ground.host.run(
        "docker", "events", "--since", "10m", "--until", "0s", "--filter", f"container={old}", "--filter", "event=die",
        "--format", "{{.TimeNano}}", check=False)
    check(code == 0, f"docker events: {died}")
    died = int(died.split()[0]) / 1e9
    check(seconds(new["Created"]) < died, "the old one stopped before the next was made")
    check(died < seconds(new["State"]["StartedAt"]), "two ran at a time")
    ground.foreign.untouched()


@on_each_engine
def test_r68_a_release_that_never_gets_healthy_is_taken_back(world, engine):
    ground, poller = serving(world, engine)
    refused(ground, poller, projects.page("sick", extra=SOON), "unhealthy", "not healthy", "not ready")


def test_r68_a_release_that_exits_is_taken_back_with_its_last_words(world):
    ground, poller = serving(world)
    refused(ground, poller, projects.page("exits", extra=SOON), "cannot open the database")


def test_state_10_a_port_that_is_taken_is_refused_by_its_number(world):
    ground, poller = serving(world)
    world.start("squatter", ground.host.command("busybox", "httpd", "-f", "-p", "8090", "-h", "/etc/docker"))
    wait_for("the squatter", lambda: ground.host.run("curl", "-s", "http://127.0.0.1:8090/", check=False)[0] == 0)
    refused(ground, poller, projects.page("v2", port=8090, extra=SOON), "8090")


def test_state_10_a_port_that_is_taken_is_refused_also_when_no_container_changes(world):
    ground = OneHost(world)
    ground.plane.deployed("page", projects.page())
    before = ground.starts("page")
    wait_for("the page", lambda: ground.page(PORT) == "v1", 20)
    poller = ground.poll(PORT)
    world.start("squatter", ground.host.command("busybox", "httpd", "-f", "-p", "8090", "-h", "/etc/docker"))
    wait_for("the squatter", lambda: ground.host.run("curl", "-s", "http://127.0.0.1:8090/", check=False)[0] == 0)
    code, said = ground.plane.deploy("page", projects.page(port=8090))
    check(code != 0 and "8090" in said, f"the deploy ended with {code}: {said}")
    equal(ground.starts("page"), before, "containers")
    # It answered where it was all the time, although its port was to be another one.
    poller.unbroken(least=20)
    logged(ground, "port 8090/tcp: address already in use")
    ground.foreign.untouched()


@on_each_engine
def test_a_port_is_narrowed_to_an_address_and_widened_again_and_answers_where_it_is_to(world, engine):
    ground = OneHost(world, engine)
    here = lambda ip: ground.host.run("curl", "-s", "--max-time", "3", f"http://{ip}:{PORT}/", check=False)[1].strip()
    ground.plane.deployed("page", projects.page())
    wait_for("the page", lambda: ground.page(PORT) == "v1", 20)
    poller = ground.poll(PORT)
    # What goes back has closed nothing.
    code, said = ground.plane.deploy("page", projects.page("absent", port=f"127.0.0.1:{PORT}", extra=SOON))
    check(code != 0, f"the deploy ended with {code}: {said}")
    code, said = ground.plane.deploy("page", projects.page(port=f"192.0.2.77:{PORT}"))
    check(code != 0 and f"port 192.0.2.77:{PORT}/tcp on {ground.host.name}: the host does not have this address" in said, f"the deploy ended with {code}: {said}")
    equal((ground.page(PORT), here("127.0.0.1")), ("v1", "v1"), "the page from without and within")
    ground.plane.deployed("page", projects.page("v2", port=f"{ground.host.ip}:{PORT}"))
    wait_for("the page on one address", lambda: (ground.page(PORT), here("127.0.0.1")) == ("v2", ""), 20)
    poller.unbroken(least=50)
    started = ground.starts("page")
    ground.plane.deployed("page", projects.page("v2", port=f"127.0.0.1:{PORT}"))
    wait_for("the page on the machine alone", lambda: (ground.page(PORT), here("127.0.0.1")) == (None, "v2"), 20)
    ground.plane.deployed("page", projects.page("v2"))
    wait_for("the page everywhere", lambda: (ground.page(PORT), here("127.0.0.1")) == ("v2", "v2"), 20)
    equal(ground.starts("page"), started, "containers")
    ground.foreign.untouched()


def test_a_registry_that_sends_next_to_nothing_holds_up_no_other_project(world):
    ground = OneHost(world)
    ground.plane.deployed("page", projects.page())
    wait_for("the page", lambda: ground.page(PORT) == "v1", 20)
    # On the host itself: engines ask a registry there without TLS.
    registry = SlowRegistry(world, ground.host.netns, "127.0.0.1")
    services = "".join(f"  s{number}: {{image: '{registry.address}/x{number}:1'}}\n" for number in range(10))
    pulling = ground.plane.deploying("pulls", f"name: pulls\nservices:\n{services}", "--wait")
    wait_for("pulls that are under way", lambda: registry.open > 0, 30)
    poll = ground.poll(PORT)
    ground.plane.deployed("page", projects.page("v2"))
    equal(ground.page(PORT), "v2", "the page")
    check(registry.open > 0 and pulling.alive(), "the pulls go on beside it")
    poll.unbroken()
    # What nobody wants any more is not pulled any longer.
    code, said, complaint = ground.plane.tool("projects", "rm", "pulls", "--yes")
    equal(code, 0, f"projects rm: {said} {complaint}")
    wait_for("the pulls to be given up", lambda: registry.open == 0, 30)
    ground.foreign.untouched()


def test_a_removed_project_leaves_its_addresses_to_the_next(world):
    ground = OneHost(world)
    ground.plane.deployed("page", projects.page())
    for name, port in (("one", 8091), ("two", 8092), ("three", 8093)):
        ground.plane.deployed(name, projects.page(project=name, port=port))
        ground.plane.must("projects", "rm", name, "--yes")
    ours = lambda: [n["Name"] for n in ground.host.engine.networks() if "muster.network" in (n["Labels"] or {})]
    wait_for("only the network of what runs", lambda: len(ours()) == 1, 30)
    ground.foreign.untouched()


@on_each_engine
def test_networks_of_others_are_kept_off_whenever_they_were_made(world, engine):
    ground = OneHost(world, engine, joined=False)
    call = ground.host.engine.call
    theirs = {}

    def take(name, block):
        call("POST", "/networks/create", {"Name": name, "IPAM": {"Config": [{"Subnet": block}]}})
        theirs[name] = call("GET", f"/networks/{name}")

    def block(project):
        named = lambda n: (n["Labels"] or {}).get("muster.project") == project and "muster.network" in n["Labels"]
        return [n["IPAM"]["Config"][0]["Subnet"] for n in ground.host.engine.networks() if named(n)]

    # Before the machine is a host.
    take("before", "10.208.0.0/23")
    join(ground.plane, ground.host)
    ground.plane.deployed("one", projects.page(project="one", port=8091))
    equal(block("one"), ["10.208.2.0/24"], "the block of the first project")
    # While it is connected.
    take("after", "10.208.3.0/25")
    ground.plane.deployed("two", projects.page(project="two", port=8092))
    equal(block("two"), ["10.208.4.0/24"], "the block of the second project")
    # When the control plane has given the block already: its agent hears of it all at once.
    ground.host.run("systemctl", "kill", "--kill-whom=main", "--signal=STOP", AGENT)
    take("meanwhile", "10.208.5.0/24")
    deploy = ground.plane.deploying("three", projects.page(project="three", port=8093), "--wait")
    wait_for("a replica that its host knows nothing of", lambda: ground.plane.services("three").get("web", {}).get("replicas"), 20)
    ground.host.run("systemctl", "kill", "--kill-whom=main", "--signal=CONT", AGENT)
    deploy.process.wait(90)
    equal(deploy.process.returncode, 0, f"how the deployment ended: {deploy.lines}")
    equal(block("three"), ["10.208.6.0/24"], "the block of the third project")
    told = [line for line in ground.plane.child.lines if "gets other addresses" in line]
    check(any("10.208.5.0/24 overlaps with 10.208.5.0/24 of the engine's network meanwhile" in line for line in told), f"it is told what overlaps: {told}")
    for port in (8091, 8092, 8093):
        wait_for(f"the page on {port}", lambda: ground.page(port) == "v1", 20)
    equal({name: call("GET", f"/networks/{name}") for name in theirs}, theirs, "networks of others")
    ground.foreign.untouched()


def test_a_compose_file_that_makes_no_sense_changes_nothing_and_names_its_line(world):
    ground, poller = serving(world)
    refused(ground, poller, projects.page("v2", extra="    netwroks: [front]\n"), "netwroks")


def test_h58_five_deploys_of_three_replicas_leave_three_containers(world):
    ground = OneHost(world)
    for version in ("v1", "v2", "v1", "v2", "v1"):
        ground.plane.deployed("page", projects.page(version, replicas=3))
    wait_for("three containers", lambda: len(ground.ours("page", running=False)) == 3, 30)
    poller = ground.poll(PORT, "/cgi-bin/who")
    wait_for("an answer of each", lambda: len(set(poller.texts())) == 3, 20)
    poller.unbroken(least=3)
    equal(len(ground.host.engine.networks()) - 3, 2, "networks beside the engine's own: theirs and ours")
    ground.foreign.untouched()


def test_a_secret_that_a_container_prints_at_its_end_is_masked(world):
    ground = OneHost(world)
    text = """\
name: leaky
services:
  web:
    image: lab/busybox:1
    command: ["sh", "-c", "echo the password is $$(cat /run/secrets/pw); echo INFO user admin logged in; exit 3"]
    secrets: [pw]
    stop_grace_period: 1s
secrets:
  pw: {file: ./pw.txt}
"""
    code, said = ground.plane.deploy("leaky", text, {"pw.txt": projects.PASSWORD})
    check(code == 1 and "the password is ***" in said, f"it says the last words: {said}")
    check(projects.PASSWORD not in said, f"the secret shows: {said}")
    told = [line for line in ground.plane.child.lines if "INFO user admin logged in" in line and "address" not in line]
    equal(told, [], "lines that a container put into the server's log")
    ground.foreign.untouched()


def test_nobody_is_led_to_a_replica_that_leaves_also_when_its_host_was_away(world):
    """Who is told to stop serves no page any more for as long as its grace lasts."""
    ground = OneHost(world)
    serve = "mkdir /w; echo here >/w/index.html; httpd -f -p 80 -h /w & trap 'rm /w/index.html; sleep 3' TERM; wait; wait"
    text = f"""\
name: page
services:
  web:
    image: lab/busybox:1
    command: ["sh", "-c", "{serve}"]
    ports: ["{PORT}:80"]
    stop_grace_period: 5s
    deploy: {{replicas: %d}}
"""
    ground.plane.deployed("page", text % 3)
    poller = ground.poll(PORT, pause=0.002)
    ground.plane.deployed("page", text % 2)
    wait_for("two containers", lambda: len(ground.ours("page", running=False)) == 2, 30)
    ground.host.kill_unit(AGENT, stay=True)
    deploy = ground.plane.deploying("page", text % 1)
    phases = lambda: [it["phase"] for it in ground.plane.services("page")["web"]["replicas"]]
    wait_for("the second to be given up", lambda: "removing" in phases(), 60)
    equal(len(ground.ours("page")), 2, "containers while the agent is away")
    ground.host.start_unit(AGENT)
    wait_for("one container", lambda: len(ground.ours("page", running=False)) == 1, 60)
    deploy.process.wait(60)
    poller.unbroken(least=100)
    ground.foreign.untouched()


@on_each_engine
def test_r33_what_is_given_up_while_it_is_made_goes_and_hinders_nothing_that_goes_later(world, engine):
    """Containers that are being made when another release is deployed are known to nobody but their host."""
    ground = OneHost(world, engine)
    text = "name: page\nservices: {web: {image: 'lab/busybox:1', command: [sleep, '%d'], stop_grace_period: 0s, deploy: {replicas: %d}}}\n"
    for number in range(4):
        many = ground.plane.deploying("page", text % (1000 + number, 16))
        wait_for("the first of many", lambda: len(ground.ours("page", running=False)) >= 3, 30, pause=0.02)
        ground.plane.deployed("page", text % (2000 + number, 1))
        many.process.wait(60)
        wait_for("one container", lambda: len(ground.ours("page", running=False)) == 1, 60)
    wait_for("the host to be in sync", lambda: ground.plane.host(ground.host.name)["in_sync"], 20)
    equal(ground.plane.host(ground.host.name)["problems"], [], "what is wrong with the host")
    ground.plane.must("projects", "rm", "page", "--yes")
    equal(ground.ours("page", running=False), [], "containers of a removed project")
    ground.foreign.untouched()
