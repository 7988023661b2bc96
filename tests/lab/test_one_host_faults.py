"""What goes wrong on one host while a project runs there: reboots, killed programs, a lost socket, flushed rules, full disks,
a damaged cache, a restored control plane. The page is asked for all the time; what must not stop has not stopped."""

import random
import time

import plane as planes
import projects
from grounds import OneHost, on_each_engine
from plane import AGENT, join
from test_one_host import NEEDS
from world import check, equal, stays, wait_for

WEB, PAGE = projects.WEB_PORT, projects.ADMIN_PORT
CACHE = "/var/lib/5050/state.cache"
NEW, LATER = 8085, 8086
# Asks for others by their names.
ASKER = """\
  asker:
    image: lab/busybox:1
    command: [sleep, "100000"]
    stop_grace_period: 0s
"""


def unready():
    lacking = planes.lacks(*NEEDS)
    return lacking and f"this muster has no command `{lacking}`"


def running(world, engine="20", hosts=1):
    """A host with the shop and, in a project of its own, the page. Further hosts have not joined."""
    ground = OneHost(world, engine, hosts)
    ground.shop()
    ground.plane.deployed("page", projects.page())
    wait_for("the page", lambda: ground.page(PAGE) == "v1", 20)
    return ground


def names_and_walls(ground, seconds=60):
    """Within this time the shop finds its database by name, and the page cannot reach it."""
    def probe():
        code, said = ground.inside("shop", "web", "timeout", "3", "wget", "-q", "-O", "-", "http://db:5432/id", check_code=False)
        check(code == 0, f"shop does not find its database: {said}")
        address = next(iter(ground.one("shop", "db")["NetworkSettings"]["Networks"].values()))["IPAddress"]
        code, said = ground.inside("page", "web", "timeout", "2", "wget", "-q", "-O", "-", f"http://{address}:5432/id", check_code=False)
        check(code != 0, f"page reaches the database of shop: {said}")
        return True

    wait_for("names and walls", probe, seconds, pause=0.5)


@on_each_engine
def test_state_4_r42_a_reboot_without_the_control_plane_brings_everything_back(world, engine):
    ground = running(world, engine)
    host = ground.host
    ids = set(ground.starts("shop")) | set(ground.starts("page"))
    ground.plane.stop()
    host.reboot()
    wait_for("both pages", lambda: ground.page(WEB) == "v1" and ground.page(PAGE) == "v1", 60)
    names_and_walls(ground)
    equal(ground.inside("shop", "worker", "cat", "/run/secrets/db_password"), projects.PASSWORD, "the secret")
    equal(set(ground.starts("shop")) | set(ground.starts("page")), ids, "the same containers")
    started = {**ground.starts("shop"), **ground.starts("page")}
    ground.plane.start()
    ground.plane.until_host(host.name, "online")
    stays("nothing is started again", lambda: {**ground.starts("shop"), **ground.starts("page")} == started, 5)
    ground.foreign.untouched(restarted=True)


@on_each_engine
def test_state_5_killed_agents_engines_and_servers_stop_nothing(world, engine):
    ground = running(world, engine)
    seed = random.randrange(10**6)
    dice = random.Random(seed)
    started = {**ground.starts("shop"), **ground.starts("page")}
    poller = ground.poll(WEB)
    for _ in range(8):
        victim = dice.choice(("agent", "engine", "server"))
        if victim == "agent":
            ground.host.kill_unit(AGENT)
        elif victim == "engine":
            ground.host.kill_engine()
            time.sleep(dice.uniform(0, 1))
            ground.host.start_engine()
        else:
            ground.plane.kill()
            time.sleep(dice.uniform(0, 1))
            ground.plane.start()
        time.sleep(dice.uniform(0, 2))
    ground.plane.until_host(ground.host.name, "online", 90)
    equal({**ground.starts("shop"), **ground.starts("page")}, started, f"containers (seed {seed})")
    names_and_walls(ground)
    poller.unbroken(least=100)
    ground.foreign.untouched()


def test_an_update_goes_on_through_killed_agents_and_servers(world):
    ground = running(world)
    seed = random.randrange(10**6)
    dice = random.Random(seed)
    poller = ground.poll(PAGE)
    for version in ("v2", "v1", "v2"):
        deploy = ground.plane.deploying("page", projects.page(version))
        time.sleep(dice.uniform(0, 2))
        if dice.random() < 0.5:
            ground.host.kill_unit(AGENT)
        else:
            ground.plane.kill()
            ground.plane.start()
        deploy.process.wait(60)
        if deploy.process.returncode != 0:  # it was killed before the server had it
            ground.plane.until_host(ground.host.name, "online", 90)
            ground.plane.deployed("page", projects.page(version))
        wait_for(f"{version} (seed {seed})", lambda: ground.page(PAGE) == version, 90)
        wait_for("one container", lambda: len(ground.ours("page", running=False)) == 1, 60)
    poller.unbroken(least=100)
    ground.foreign.untouched()


def test_r29_an_engine_that_is_gone_for_20_seconds_is_no_reason_to_start_anything(world):
    ground = running(world)
    started = {**ground.starts("shop"), **ground.starts("page")}
    poller = ground.poll(WEB)
    ground.host.hide_engine()
    stays("the host is online", lambda: ground.plane.host(ground.host.name)["state"] == "online", 20)
    ground.host.show_engine()
    stays("nothing is started", lambda: {**ground.starts("shop"), **ground.starts("page")} == started, 15)
    poller.unbroken(least=100)
    ground.plane.deployed("page", projects.page("v2"))
    wait_for("a deploy afterwards", lambda: ground.page(PAGE) == "v2", 20)
    ground.foreign.untouched()


@on_each_engine
def test_h37_r48_flushed_rules_are_back_within_35_seconds(world, engine):
    ground = running(world, engine)
    poller = ground.poll(WEB)
    ground.host.run("nft", "flush", "ruleset")
    names_and_walls(ground, 35)
    poller.unbroken(least=10)
    ground.foreign.untouched()


def test_state_3_a_full_disk_stops_nothing_and_is_got_over(world):
    ground = running(world)
    poller = ground.poll(WEB)
    started = ground.starts("shop")
    for part in ("data", "disk"):
        ground.host.fill(part)
        code, said = ground.plane.deploy("page", projects.page("v2"))
        check(code == 0 or "no space" in said.lower(), f"with a full {part}: {said}")
        ground.host.empty(part)
        equal(ground.plane.host(ground.host.name)["state"], "online", f"the host after a full {part}")
        ground.plane.deployed("page", projects.page("v1"))
        wait_for("v1", lambda: ground.page(PAGE) == "v1", 20)
    equal(ground.starts("shop"), started, "the shop")
    poller.unbroken(least=50)
    ground.foreign.untouched()


def foreign_cache(ground, other):
    """What the agent of another host of the same control plane keeps."""
    join(ground.plane, other)
    return wait_for("its cache", lambda: other.path(CACHE).exists() and other.path(CACHE).read_bytes(), 30)


def test_state_12_a_damaged_or_foreign_cache_is_set_aside_and_never_applied(world):
    ground = running(world, hosts=2)
    host = ground.host
    started = {**ground.starts("shop"), **ground.starts("page")}
    good = host.path(CACHE).read_bytes()
    damaged = {
        "of noise": random.Random(1).randbytes(len(good)), "cut short": good[: len(good) // 2],
        "with one bit turned": good[:-1] + bytes([good[-1] ^ 1]),
        "of another host": foreign_cache(ground, ground.hosts[1]),
    }
    ground.plane.stop()
    for kind, content in damaged.items():
        host.kill_unit(AGENT, stay=True)
        wait_for("no agent", lambda: host.unit_pid(AGENT) is None)
        host.path(CACHE).write_bytes(content)
        said = len(host.log(AGENT))
        host.start_unit(AGENT)
        wait_for(f"a word about the cache {kind}", lambda: "cache" in host.log(AGENT)[said:], 20)
        pid = host.unit_pid(AGENT)
        stays("the agent lives", lambda: host.unit_pid(AGENT) == pid, 2)
        check(host.path(f"{CACHE}.bad").exists(), f"a cache {kind} is set aside")
        host.path(f"{CACHE}.bad").unlink()
        equal({**ground.starts("shop"), **ground.starts("page")}, started, f"containers with a cache {kind}")
    ground.plane.start()
    ground.plane.until_host(host.name, "online", 90)
    wait_for("a good cache again", lambda: host.path(CACHE).exists() and len(host.path(CACHE).read_bytes()) > 100, 30)
    equal({**ground.starts("shop"), **ground.starts("page")}, started, "containers afterwards")
    ground.foreign.untouched()


def test_state_7_state_13_a_restored_control_plane_removes_nothing(world):
    ground = OneHost(world)
    ground.shop()
    old = ground.plane.backup("old")
    ground.plane.deployed("page", projects.page())
    wait_for("the page", lambda: ground.page(PAGE) == "v1", 20)
    started = {**ground.starts("shop"), **ground.starts("page")}
    poller = ground.poll(WEB)
    ground.plane.stop()
    ground.plane.restore(old)
    ground.plane.until_host(ground.host.name, "online", 90)
    stays("what the back-up does not know runs on", lambda: {**ground.starts("shop"), **ground.starts("page")} == started, 15)
    ground.plane.deployed("shop", projects.shop("v2"), projects.SHOP_FILES)
    wait_for("the shop can be deployed", lambda: ground.page(WEB) == "v2", 30)
    check(ground.starts("page"), "the page runs")
    poller.unbroken(least=100)
    ground.foreign.untouched()


@on_each_engine
def test_state_7_a_project_that_a_restored_control_plane_does_not_know_gets_its_data_back(world, engine):
    ground = OneHost(world, engine, hosts=2)
    plane = ground.plane
    join(plane, ground.hosts[1])
    old = plane.backup("old")
    # The hosts are filled by turns: it would go to the first one, had it not been to the second.
    plane.deployed("page", projects.page())
    plane.deployed("kept", projects.kept(port=NEW))
    there = next(host for host in ground.hosts if host.name == plane.services("kept")["web"]["replicas"][0]["host"])
    elsewhere = next(host for host in ground.hosts if host is not there)
    volumes = lambda host: [volume["Name"] for volume in host.engine.volumes() if volume["Name"].startswith("muster-kept-")]
    before = volumes(there)
    equal(len(before), 1, "volumes")
    container = lambda: ground.ours("kept", host=there)[0]["Id"]
    there.run("docker", "exec", container(), "sh", "-c", "echo precious >/data/it")
    plane.stop()
    plane.restore(old)
    for host in ground.hosts:
        plane.until_host(host.name, "online", 90)
    started = container()
    code, said = plane.deploy("kept", projects.kept(port=NEW))
    check(code != 0 and before[0] in said and f"muster hosts set {there.name} --adopting=false" in said, f"deployed again it ended with {code}: {said}")
    equal((volumes(there), volumes(elsewhere), container()), (before, [], started), "what there was")
    for host in ground.hosts:
        plane.must("hosts", "set", host.name, "--adopting=false", "--yes")
    wait_for("the end of what the server does not know", lambda: not ground.ours("kept", running=False, host=there), 60)
    told = lambda: [text for text in plane.host(there.name)["problems"] if f"the volume {before[0]}, which this server does not know" in text]
    wait_for("the host to say what is left", told, 30)
    diff = lambda: "".join(plane.tool("diff", "--file", plane.files("kept", projects.kept(port=NEW), None))[1:])
    wait_for("the server to know that nobody writes to it", lambda: "taken over" in diff(), 30)
    said = plane.deployed("kept", projects.kept(port=NEW))
    check(f"is {before[0]} of {there.name}, which this server did not know: it is taken over" in said, f"what the plan said: {said}")
    equal((volumes(there), volumes(elsewhere)), (before, []), "volumes")
    equal(there.run("docker", "exec", container(), "cat", "/data/it")[1].strip(), "precious", "its data")
    wait_for("nothing to be left", lambda: not told(), 30)
    ground.foreign.untouched()


def test_a_machine_that_joins_as_another_host_says_that_its_volumes_are_not_those_of_before(world):
    ground = OneHost(world)
    plane = ground.plane
    plane.deployed("kept", projects.kept())
    ground.inside("kept", "web", "sh", "-c", "echo precious >/data/it")
    container, volume = ground.one("kept", "web"), next(v["Name"] for v in ground.host.engine.volumes() if v["Name"].startswith("muster-kept-"))
    ground.host.kill_unit(AGENT, stay=True)
    plane.must("hosts", "rm", ground.host.name, "--force", "--yes")
    ground.host.run("muster", "agent", "leave", "--yes")
    join(plane, ground.host)
    told = lambda: [text for text in plane.host(ground.host.name)["problems"] if f"began empty beside {volume}" in text]
    wait_for("the host to say what lies beside it", told, 60)
    equal(ground.host.run("docker", "exec", container["Id"], "cat", "/data/it")[1].strip(), "precious", "the data of before")
    ground.foreign.untouched()


def test_state_7_what_a_restored_control_plane_does_not_know_is_served_and_keeps_its_volume(world):
    ground = OneHost(world)
    plane = ground.plane
    plane.deployed("kept", projects.kept())
    old = plane.backup("old")
    plane.deployed("kept", projects.kept("v2"))
    plane.deployed("new", projects.page(project="new", port=NEW, extra=ASKER))
    found = lambda: ground.inside("new", "asker", "timeout", "3", "wget", "-q", "-O", "-", "http://web/", check_code=False)[1].strip()
    pages = lambda: (ground.page(PAGE), ground.page(NEW))
    wait_for("both pages, and the name", lambda: pages() == ("v2", "v1") and found() == "v1", 30)
    started = {**ground.starts("kept"), **ground.starts("new")}
    pollers = [ground.poll(PAGE), ground.poll(NEW)]

    plane.stop()
    plane.restore(old)
    plane.until_host(ground.host.name, "online", 90)
    stays("all runs on, and nothing else", lambda: {**ground.starts("kept"), **ground.starts("new")} == started and found() == "v1", 10)
    told = lambda: [text for text in plane.host(ground.host.name)["problems"] if "volume `muster-kept-data-" in text and "--adopting=false" in text]
    wait_for("the host to say why the old release waits", told, 30)
    check(any("3 containers are unknown here" in text for text in plane.host(ground.host.name)["problems"]), "unknown containers")
    # The address block of what it does not know is not given to something else.
    plane.deployed("later", projects.page("v2", "later", LATER))
    equal(ground.page(LATER), "v2", "a project that is new to both")
    for poller in pollers:
        poller.unbroken(least=100)
    equal(set(pollers[0].texts()), {"v2"}, "the only release that wrote to the volume")

    plane.stop()
    ground.host.reboot()
    wait_for("both pages after a reboot", lambda: pages() == ("v2", "v1") and found() == "v1", 90)
    equal(set(ground.starts("kept")) | set(ground.starts("new")), set(started), "the same containers")
    plane.start()
    plane.until_host(ground.host.name, "online", 90)
    stays("the newer release serves", lambda: pages() == ("v2", "v1") and len(ground.ours("kept", running=False)) == 1, 5)

    plane.must("hosts", "set", ground.host.name, "--adopting=false", "--yes")
    wait_for("what the control plane knows, and nothing else", lambda: pages() == ("v1", None) and not ground.ours("new", running=False), 60)
    check(ground.one("kept", "web")["Config"]["Image"].endswith("lab/web:v1"), "the release of the back-up runs")
    equal(len(ground.ours("kept", running=False)), 1, "containers of it")
    equal(ground.page(LATER), "v2", "the project of the time in between")
    wait_for("a host in sync", lambda: plane.host(ground.host.name)["in_sync"], 30)
    ground.foreign.untouched(restarted=True)


def test_h19_a_container_that_vanished_while_the_agent_was_down_is_made_again(world):
    ground = running(world)
    host = ground.host
    host.kill_unit(AGENT, stay=True)
    gone = ground.one("page", "web")["Id"]
    host.engine.call("DELETE", f"/containers/{gone}", force="1")
    host.start_unit(AGENT)
    wait_for("the page", lambda: ground.page(PAGE) == "v1", 60)
    check(ground.one("page", "web")["Id"] != gone, "another container")
    ground.foreign.untouched()


def test_h34_h35_r37_a_container_that_vanishes_after_the_engine_was_restarted_is_noticed(world):
    ground = running(world)
    host = ground.host
    host.kill_engine()
    host.start_engine()
    gone = ground.one("page", "web")["Id"]
    host.engine.call("DELETE", f"/containers/{gone}", force="1")
    wait_for("the page", lambda: ground.ours("page") and ground.page(PAGE) == "v1", 35)
    ground.foreign.untouched()


def test_r28_without_the_control_plane_what_stopped_is_started_again(world):
    ground = running(world)
    ground.plane.stop()
    name = ground.one("page", "web")["Id"]
    ground.host.engine.call("POST", f"/containers/{name}/kill")
    wait_for("the page", lambda: ground.page(PAGE) == "v1", 45)
    equal(ground.one("page", "web")["Id"], name, "the same container")
    ground.foreign.untouched()


def test_state_9_what_the_engine_tells_is_acted_on_at_once_and_what_nobody_tells_within_30_seconds(world):
    ground = running(world)
    for _ in range(3):  # each could come to light by a look that was due anyway
        gone = ground.one("page", "web")["Id"]
        ground.host.engine.call("DELETE", f"/containers/{gone}", force="1")
        wait_for("another container", lambda: ground.ours("page") and ground.one("page", "web")["Id"] != gone, 10)
    worker = ground.one("shop", "worker")
    secret = next(m["Source"] for m in worker["Mounts"] if m["Destination"] == "/run/secrets/db_password")
    ground.host.run("rm", secret)
    wait_for("the file", lambda: ground.host.run("cat", secret, check=False) == (0, projects.PASSWORD), 35, pause=0.5)
    equal(ground.one("shop", "worker")["State"]["StartedAt"], worker["State"]["StartedAt"], "the worker")
    ground.foreign.untouched()
