"""The lab itself: its hosts are apart from each other and from the machine, and its faults do what they say."""

import os
import pathlib
import signal
import socket
import subprocess
import sys
import time

import wire
from engine import Refused
from grounds import lab, on_each_engine
from labs import Lab
from machines import HERE, Broken, born, mark_of
from world import check, equal, wait_for

OURS = ("/etc/5050", "/var/lib/5050", "/run/5050")
BEFORE = """[Unit]
Before=docker.service

[Service]
Type=oneshot
ExecStart=/bin/sh -c 'if test -S /run/docker.sock; then echo there; else echo none; fi >>/var/lib/5050/boots'

[Install]
WantedBy=multi-user.target
"""
KEPT = """[Service]
ExecStart=/bin/sleep 100000
Restart=always
RestartSec=200ms

[Install]
WantedBy=multi-user.target
"""
WEB = {"HostConfig": {"PortBindings": {"80/tcp": [{"HostPort": "80"}]}, "RestartPolicy": {"Name": "unless-stopped"}}}


def get(host, url, seconds=1):
    """(exit code, body) of curl as a program of this host."""
    return host.run("curl", "-s", "--max-time", seconds, url, check=False)


@on_each_engine
def test_lab_hosts_are_apart_from_each_other_and_from_the_machine(world, engine):
    outside, rules = [os.path.exists(path) for path in OURS], wire.run("nft", "list", "ruleset")
    ground = lab(world, 3, engine)
    one, two, three = ground.hosts()
    versions = {host.engine.call("GET", "/version")["Version"].split(".")[0] for host in ground.hosts()}
    equal(versions, {engine}, "engines")
    for file in ("/etc/machine-id", "/proc/sys/kernel/random/boot_id"):
        own = [pathlib.Path(file).read_text()] if os.path.exists(file) else []  # a bare container has no machine-id
        values = own + [host.run("cat", file)[1] for host in ground.hosts()]
        equal(len(set(values)), len(own) + 3, f"different contents of {file}")
    equal(len({host.engine.call("GET", "/info")["ID"] for host in ground.hosts()}), 3, "different engines")
    for path in (*OURS, "/usr/local/bin"):
        one.run("sh", "-c", f"mkdir -p {path} && echo mine >{path}/a-file-of-one")
        equal(one.path(f"{path}/a-file-of-one").read_text(), "mine\n", f"{path} from outside")
        equal(two.run("test", "-e", f"{path}/a-file-of-one", check=False)[0], 1, f"{path} of the neighbour")
        check(not pathlib.Path(path, "a-file-of-one").exists(), f"{path} of the machine is untouched")
    ground.load(hosts=[one])
    one.engine.create("web", "lab/web:v1", **WEB)
    wait_for("the page", lambda: get(two, f"http://{one.ip}/") == (0, "v1\n"), 10)
    equal(get(three, "http://h1/"), (0, "v1\n"), "by its name")
    try:
        socket.create_connection((one.ip, 80), timeout=2).close()
        check(False, "the machine itself reaches a host")
    except OSError:
        pass
    with wire.inside(ground.wire.path, lambda: socket.create_connection((one.ip, 80), timeout=2)):
        pass  # a socket that was made on the wire reaches it
    check(traces(ground.name), "the lab is somewhere")
    ground.down()
    equal(traces(ground.name), [], "what is left of it")
    equal([os.path.exists(path) for path in OURS], outside, "the machine's own folders")
    equal(wire.run("nft", "list", "ruleset"), rules, "the machine's own rules")


def traces(name):
    """Where a lab could leave something of itself on the machine."""
    mounts = [line for line in pathlib.Path("/proc/self/mounts").read_text().splitlines() if f"muster-{name}" in line]
    groups = [str(path) for path in pathlib.Path("/sys/fs/cgroup").glob(f"**/muster-{name}")]
    folders = [path for path in (f"/tmp/muster-{name}", f"/run/netns/muster-{name}-wire") if os.path.exists(path)]
    marked = [pid for pid in os.listdir("/proc") if pid.isdigit() and (mark_of(pid) or "").startswith(f"{name}/")]
    return mounts + groups + folders + marked


@on_each_engine
def test_lab_a_reboot_keeps_the_disk_and_wipes_the_rest(world, engine):
    ground = lab(world, 1, engine)
    host = ground.host(1)
    ground.load()
    host.unit("first", BEFORE)
    host.unit("clock", KEPT)
    pid = wait_for("the service", lambda: host.unit_pid("clock"))
    host.kill_unit("clock")
    wait_for("another process of the service", lambda: host.unit_pid("clock") not in (None, pid))
    container = host.engine.create("web", "lab/web:v1", **WEB)
    host.engine.call("POST", "/volumes/create", {"Name": "kept"})
    host.run("nft", "add", "table", "inet", "gone")
    host.run("sh", "-c", "echo x >/etc/kept; echo x >/run/gone")
    first = host.run("cat", "/proc/sys/kernel/random/boot_id")[1]
    host.reboot()
    check(host.run("cat", "/proc/sys/kernel/random/boot_id")[1] != first, "another boot_id")
    equal(host.run("cat", "/etc/kept")[1], "x\n", "files")
    equal(host.run("cat", "/var/lib/5050/boots")[1], "there\nnone\n", "sockets of the engine before its unit")
    check(host.unit_pid("clock"), "what is enabled is started")
    check("table inet gone" not in host.run("nft", "list", "tables")[1], "rules end with the boot")
    check(not host.path("/run/gone").exists(), "/run ends with the boot")
    equal([v["Name"] for v in host.engine.volumes()], ["kept"], "volumes")
    wait_for("the container", lambda: host.engine.inspect(container)["State"]["Running"])


def test_lab_partition_cut_freeze_and_power_cut_do_what_they_say(world):
    ground = lab(world, 3)
    one, two, three = ground.hosts()
    ground.load(hosts=[one])
    one.engine.create("web", "lab/web:v1", **WEB)
    url = f"http://{one.ip}/"
    fine = (0, "v1\n")
    wait_for("the page", lambda: get(two, url) == fine, 10)
    ground.wire.partition(1)
    equal([get(two, url)[0], get(three, url)[0]], [28, 28], "silence while it is partitioned")
    ground.wire.heal(1)
    wait_for("the page", lambda: get(two, url) == fine, 10)
    ground.wire.cut(1, 2)
    equal([get(two, url)[0], get(three, url)], [28, fine], "silence for one of them")
    ground.wire.heal(2)
    wait_for("the page", lambda: get(two, url) == fine, 10)
    one.freeze()
    equal(get(two, url)[0], 28, "no answer while it is frozen")
    try:
        one.run("true")
        check(False, "a frozen host runs a program")
    except Broken:
        pass
    one.thaw()
    wait_for("the page", lambda: get(two, url) == fine, 10)
    one.kill()
    equal(get(two, url)[0], 28, "silence and no refusal after a power cut")
    one.boot()
    wait_for("the page", lambda: get(two, url) == fine, 20)


@on_each_engine
def test_lab_containers_survive_their_engine_and_its_socket_can_go(world, engine):
    ground = lab(world, 1, engine)
    host = ground.host(1)
    ground.load()
    container = host.engine.create("web", "lab/web:v1")
    before = host.engine.inspect(container)
    begun, url = before["State"]["StartedAt"], f"http://{before['NetworkSettings']['Networks']['bridge']['IPAddress']}/"
    wait_for("the page", lambda: get(host, url) == (0, "v1\n"), 10)
    host.kill_engine()
    wait_for("no engine", lambda: not host.engine.answers())
    equal(get(host, url), (0, "v1\n"), "the page without an engine")
    host.start_engine()
    equal(host.engine.inspect(container)["State"]["StartedAt"], begun, "the container went on")
    host.hide_engine()
    check(not host.engine.answers(), "no socket")
    host.show_engine()
    check(host.engine.answers(), "the socket again")


def test_lab_a_disk_can_be_full(world):
    ground = lab(world, 1)
    host = ground.host(1)
    ground.load()
    host.fill("data")
    write = ("sh", "-c", "echo 1234 >/var/lib/5050/file && cat /var/lib/5050/file")
    check(host.run(*write, check=False)[0] != 0, "no room for data")
    equal(host.run("sh", "-c", "echo x >/etc/file; cat /etc/file")[1], "x\n", "room elsewhere")
    host.empty("data")
    equal(host.run(*write)[1], "1234\n", "room again")
    host.fill("disk")
    try:
        host.engine.create("more", "lab/busybox:1")
        check(False, "a container was made on a full disk")
    except Refused as refused:
        check("no space left on device" in str(refused), f"the engine says why: {refused}")
    host.empty("disk")
    host.engine.create("more", "lab/busybox:1", Cmd=["true"])


def test_lab_what_a_killed_test_leaves_is_swept(world):
    program = "import os, sys, time; from labs import Lab; Lab(sys.argv[1]).up(1, 'none', owner=os.getpid()); print('up', flush=True); time.sleep(600)"
    name = f"t{os.getpid()}-left"
    other = Lab(name)
    world.later(other.down)
    child = world.start("left", [sys.executable, "-c", program, name], env={"PYTHONPATH": str(HERE)})
    child.line("up")
    pid = other.host(1).need()
    os.kill(child.pid, signal.SIGKILL)
    child.process.wait()
    swept = subprocess.run([HERE / "lab", "sweep"], capture_output=True, text=True, check=True).stdout
    check(name in swept.split(), f"swept: {swept}")
    equal((born(pid), other.folder.exists(), other.wire.exists()), (None, False, False), "what is left")


def test_lab_the_command_line_brings_up_runs_and_removes(world):
    name = f"t{os.getpid()}-cli"
    world.later(Lab(name).down)
    begun = time.monotonic()
    done = subprocess.run(
        [HERE / "lab", "run", "2", HERE / "lab", "exec", "2", "sh", "-c", "hostname; exit 7"],
        env={**os.environ, "LAB": name, "LAB_ENGINE": "none"}, capture_output=True, text=True,
    )
    equal((done.returncode, done.stdout), (7, "h2\n"), f"exit code and output ({done.stderr})")
    check(not Lab(name).folder.exists(), f"nothing is left after {time.monotonic() - begun:.1f} s")
