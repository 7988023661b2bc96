"""Faults that other products of this kind had with one host, each as it ought to be: links that die without a word, names of what
was replaced, logs that are cut under a reader, machines set up anew, engines replaced in place, reboots again and again."""

import re

import plane as planes
import projects
from grounds import OneHost
from plane import AGENT, join
from test_one_host import NEEDS
from world import check, equal, stays, wait_for

WEB, PAGE = projects.WEB_PORT, projects.ADMIN_PORT
# A neighbour of the page that can ask for its name.
ASKER = """\
  asker:
    image: lab/busybox:1
    command: ["sleep", "100000"]
    stop_grace_period: 1s
"""


def unready():
    lacking = planes.lacks(*NEEDS)
    return lacking and f"this muster has no command `{lacking}`"


def address(ground, project, service):
    return next(iter(ground.one(project, service)["NetworkSettings"]["Networks"].values()))["IPAddress"]


def test_h1_h21_h47_a_link_that_died_without_a_word_is_noticed_on_both_sides_and_made_anew(world):
    ground = OneHost(world)
    ground.plane.deployed("page", projects.page())
    started = ground.starts("page")
    name = ground.host.name
    ground.lab.wire.partition(1)
    ground.plane.until_host(name, "offline", 70)
    # What it said before is not told as if it were so.
    web = ground.plane.services("page")["web"]
    equal((web["state"], web["ready"], web["replicas"][0]["state"]), ("stranded", 0, "stranded"), f"web: {web}")
    check(name in web["waits_for"], f"it says which host is away: {web}")
    # Longer than either side waits for the other: what is there afterwards is a connection made anew.
    wait_for("the agent to give the connection up", lambda: "nothing was heard of the server" in ground.host.log(AGENT), 30)
    ground.lab.wire.heal(1)
    ground.plane.until_host(name, "online", 35)
    equal(ground.plane.services("page")["web"]["ready"], 1, "replicas that work")
    equal(ground.starts("page"), started, "containers")
    ground.plane.deployed("page", projects.page("v2"))
    wait_for("what was deployed afterwards", lambda: ground.page(PAGE) == "v2", 20)
    ground.foreign.untouched()


def test_state_8_a_copy_that_somebody_made_of_a_container_of_ours_is_somebody_elses(world):
    """`docker commit` takes our labels along, and whatever is made of that image has them too."""
    ground = OneHost(world)
    ground.plane.deployed("page", projects.page())
    wait_for("the page", lambda: ground.page(PAGE) == "v1", 20)
    poll = ground.poll(PAGE)
    ours = ground.starts("page")
    [id] = ours
    ground.host.run("docker", "commit", id, "copy:1")
    ground.host.run("docker", "create", "--name", "made", "copy:1")
    ground.host.run("docker", "run", "-d", "--name", "theirs", "copy:1", "sleep", "100000")
    theirs = {name: ground.host.engine.inspect(name) for name in ("made", "theirs")}
    equal(theirs["theirs"]["Config"]["Labels"]["muster.replica"], ground.host.engine.inspect(id)["Config"]["Labels"]["muster.replica"], "label")
    # What is deployed next to the page makes the agent look at everything.
    ground.plane.deployed("other", projects.page(project="other", port=8085))
    equal(ground.host.engine.inspect(id)["State"]["StartedAt"], ours[id], "the page's container")
    ground.plane.deployed("page", projects.page("v2"))
    wait_for("the new page", lambda: ground.page(PAGE) == "v2", 20)
    poll.unbroken()
    for name, before in theirs.items():
        after = ground.host.engine.inspect(name)
        # Its check came along too, and has its own say.
        before["State"].pop("Health", None), after["State"].pop("Health", None)
        for part in ("Id", "State", "NetworkSettings"):
            equal(after[part], before[part], f"{part} of {name}")
    ground.foreign.untouched()


def test_h7_h10_the_name_of_what_was_replaced_leads_to_what_replaced_it(world):
    ground = OneHost(world)

    def leads_there():
        now = address(ground, "page", "web")
        code, said = ground.inside("page", "asker", "nslookup", "web", check_code=False)
        found = re.findall(r"Address(?: \d+)?: ([0-9.]+)(?!\S)", said.partition("Name:")[2])
        check(code == 0 and found == [now], f"web is {found}, and ought to be {now}: {said}")
        return True

    seen = set()
    for version in ("v1", "v2") * 4:
        ground.plane.deployed("page", projects.page(version, extra=ASKER))
        wait_for("its name", leads_there, 3)
        seen.add(address(ground, "page", "web"))
    check(len(seen) > 1, "it had more than one address")
    for _ in range(4):
        gone = ground.one("page", "web")["Id"]
        ground.host.engine.call("DELETE", f"/containers/{gone}", force="1")
        wait_for("another", lambda: ground.ours("page", "web") and ground.one("page", "web")["Id"] != gone, 40)
        wait_for("its name", leads_there, 3)
    ground.foreign.untouched()


def test_h32_h33_a_followed_log_goes_on_over_rotation_and_truncation(world):
    ground = OneHost(world)
    text = """\
name: chatty
services:
  talker:
    image: lab/busybox:1
    command: ["sh", "-c", "n=0; while :; do n=$$((n+1)); echo line $$n of a log that fills its file; sleep 0.01; done"]
    logging:
      driver: json-file
      options: {max-size: 64k, max-file: "1"}
    stop_grace_period: 1s
"""
    ground.plane.deployed("chatty", text)
    follower = ground.plane.follow("chatty", "talker")
    numbers = lambda: [int(n) for line in list(follower.lines) for n in re.findall(r"line (\d+) of", line)]
    # More than twice what the file holds.
    wait_for("lines over several rotations", lambda: len(numbers()) > 3000, 90)
    path = ground.one("chatty", "talker")["LogPath"]
    for _ in range(2):
        if path:
            ground.host.run("truncate", "-s", "0", path)
        last = numbers()[-1]
        wait_for("lines after the file was cut", lambda: numbers()[-1] > last + 300, 60)
    got = numbers()
    wrong = [(got[i - 1], got[i]) for i in range(1, len(got)) if got[i] <= got[i - 1]]
    check(not wrong, f"lines that came twice or too late, of {len(got)}: {wrong[:5]}")
    follower.stop()
    ground.foreign.untouched()


def test_h42_a_machine_that_was_set_up_anew_joins_under_its_old_name(world):
    ground = OneHost(world)
    host = ground.host
    old = ground.plane.host(host.name)["id"]
    ground.plane.must("hosts", "rm", host.name, "--yes")
    host.run("systemctl", "disable", "--now", AGENT)
    host.run("sh", "-c", "rm -rf /etc/5050 /var/lib/5050/* /usr/local/bin/muster /etc/systemd/system/muster-*; systemctl daemon-reload")
    join(ground.plane, host)
    check(ground.plane.host(host.name)["id"] != old, "it is another host to the control plane")
    equal([h["name"] for h in ground.plane.hosts()].count(host.name), 1, "hosts of that name")
    ground.plane.deployed("page", projects.page())
    wait_for("the page", lambda: ground.page(PAGE) == "v1", 20)
    ground.foreign.untouched()


def test_h59_an_engine_is_replaced_in_place_by_a_much_newer_one(world):
    ground = OneHost(world, "20")
    ground.shop()
    host = ground.host
    started = ground.starts("shop")
    poller = ground.poll(WEB)
    host.use_engine("28")
    host.kill_engine()
    host.start_engine()
    newer = host.engine.call("GET", "/version")["Version"]
    check(not newer.startswith("20."), f"the engine is {newer}")
    wait_for("the host to say so", lambda: ground.plane.host(host.name)["engine"] == newer, 60)
    equal(ground.starts("shop"), started, "containers")
    poller.unbroken(least=50)
    ground.plane.deployed("shop", projects.shop("v2"), projects.SHOP_FILES)
    wait_for("what was deployed afterwards", lambda: ground.page(WEB) == "v2", 30)
    ground.foreign.untouched()


def test_h60_a_host_that_is_rebooted_ten_times_serves_after_each(world):
    ground = OneHost(world, "28")
    ground.shop()
    ids = set(ground.starts("shop"))
    for boot in range(10):
        ground.host.reboot()
        wait_for(f"the page after reboot {boot + 1}", lambda: ground.page(WEB) == "v1", 60)
        wait_for(
            "the database by its name",
            lambda: ground.inside("shop", "web", "timeout", "3", "wget", "-q", "-O", "-", "http://db:5432/id", check_code=False)[0] == 0, 30,
        )
    equal(set(ground.starts("shop")), ids, "the same containers")
    ground.foreign.untouched(restarted=True)


def test_h63_an_app_that_refuses_at_first_gets_healthy_in_every_deployment(world):
    ground = OneHost(world)
    late = """\
    command: ["sh", "-c", "sleep 3; exec httpd -f -p 80 -h /www"]
"""
    for version in ("v1", "v2") * 4:
        ground.plane.deployed("page", projects.page(version, extra=late))
        wait_for(version, lambda: ground.page(PAGE) == version, 10)
    wait_for("one container", lambda: len(ground.ours("page", running=False)) == 1, 30)
    stays("it serves", lambda: ground.page(PAGE) == "v2", 2)
    ground.foreign.untouched()
