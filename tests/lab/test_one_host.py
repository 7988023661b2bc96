"""One machine becomes a host and runs a project: joining, deploying, names, isolation, logs. What goes wrong with it is in
test_one_host_faults.py. In each test things of somebody else are on the host, and are untouched at the end."""

import json
import os
import pathlib
import re
import shlex
import stat
import subprocess
import sys

import plane as planes
import projects
import resolver as resolvers
import wire
from grounds import OneHost, lab, on_each_engine
from machines import Broken
from muster import binary
from world import check, equal, stays, wait_for

NEEDS = ("agent run", "deploy", "logs")


def unready():
    """Why these tests cannot run with this binary, or None."""
    lacking = planes.lacks(*NEEDS)
    return lacking and f"this muster has no command `{lacking}`"


@on_each_engine
def test_join_2_join_5_connect_3_a_machine_becomes_a_host_by_the_pasted_command(world, engine):
    ground = OneHost(world, engine)
    host = ground.host
    identity = host.path("/etc/5050/agent.json")
    equal(stat.S_IMODE(identity.stat().st_mode), 0o600, "mode of the identity")
    check("mst_join_" not in identity.read_text(), "the join token is not kept")
    seen = ground.plane.until_host(host.name, "online")
    equal(seen["machine_id"], host.path("/etc/machine-id").read_text().strip(), "machine-id")
    equal(seen["engine"], host.engine.call("GET", "/version")["Version"], "the engine's version")
    equal(seen["problems"], [], "what is wrong with it")
    ground.foreign.untouched()


def test_join_3_join_7_a_used_join_token_makes_no_second_host(world):
    ground = OneHost(world, hosts=2)
    other = ground.hosts[1]
    command = ground.plane.join_command("twice")
    before = len(ground.plane.hosts())
    planes.join_with(other, command)
    equal(len(ground.plane.hosts()), before + 1, "hosts after the first use")
    # A running agent would write its identity again.
    other.run("systemctl", "stop", planes.AGENT)
    other.run("sh", "-c", "rm -rf /etc/5050; tr -d - </proc/sys/kernel/random/uuid >/etc/machine-id")
    refused = refusal(other, command)
    check("duplicate_host" in refused or "token" in refused, f"it says why: {refused}")
    equal(len(ground.plane.hosts()), before + 1, "hosts after the second")
    equal(ground.plane.host(ground.host.name)["state"], "online", "the first host")
    ground.foreign.untouched()


def refusal(host, command):
    """What the join command said when it failed."""
    try:
        said = planes.join_with(host, command)
    except Broken as refused:
        return str(refused)
    return check(False, f"it joined: {said}")


def test_connect_7_a_copied_identity_is_refused_as_duplicate_host_and_the_first_stays(world):
    ground = OneHost(world, hosts=2)
    first, second = ground.hosts
    ground.plane.deployed("page", projects.page())
    wait_for("the page", lambda: ground.page(projects.ADMIN_PORT) == "v1", 20)
    poller = ground.poll(projects.ADMIN_PORT)
    second.run("sh", "-c", "mkdir -p /etc/5050; cat >/etc/5050/agent.json; chmod 600 /etc/5050/agent.json", text=first.path("/etc/5050/agent.json").read_text())
    second.run("cp", first.path("/usr/local/bin/muster"), "/usr/local/bin/muster")
    for unit in first.path("/etc/systemd/system").glob("muster-*.service"):
        second.unit(unit.stem, unit.read_text())
    wait_for("the refusal", lambda: "duplicate_host" in second.log(planes.AGENT), 60)
    stays("the first one is online", lambda: ground.plane.host(first.name)["state"] == "online", 5)
    equal(ground.ours("page", host=second), [], "containers on the copy")
    poller.unbroken()
    ground.foreign.untouched()


@on_each_engine
def test_state_1_state_2_one_host_runs_a_compose_file_with_health_secret_volume_and_two_networks(world, engine):
    ground = OneHost(world, engine)
    ground.shop()
    web, worker, db = (ground.one("shop", service) for service in ("web", "worker", "db"))
    equal((web["State"]["Health"]["Status"], db["State"]["Health"]["Status"]), ("healthy", "healthy"), "health")
    check(db["State"]["StartedAt"] < web["State"]["StartedAt"], "the database was started first")
    equal(len(web["NetworkSettings"]["Networks"]), 2, "networks of web")
    equal(len(db["NetworkSettings"]["Networks"]), 1, "networks of db")
    equal(ground.inside("shop", "worker", "cat", "/run/secrets/db_password"), projects.PASSWORD, "the secret")
    everything = json.dumps([web, worker, db])
    check(projects.PASSWORD not in everything, "the secret shows nowhere in the engine")
    equal(worker["HostConfig"]["Memory"], 64 << 20, "limit of memory")
    equal(worker["HostConfig"]["PidsLimit"], 64, "limit of processes")
    equal({c["HostConfig"]["RestartPolicy"]["Name"] for c in (web, worker, db)}, {"unless-stopped"}, "restart policy")
    for container in (web, worker, db):
        check(container["Config"]["Labels"].get("muster.host", "").startswith("hst_"), "the label of its host")
    # The volume outlives its container.
    number = ground.inside("shop", "web", "wget", "-q", "-O", "-", "http://db:5432/id")
    ground.host.engine.call("DELETE", f"/containers/{db['Id']}", force="1")
    wait_for("another database", lambda: ground.ours("shop", "db") and ground.one("shop", "db")["Id"] != db["Id"], 40)
    same = ("shop", "web", "wget", "-q", "-O", "-", "http://db:5432/id")
    wait_for("its id", lambda: ground.inside(*same, check_code=False)[0] == 0, 30)
    equal(ground.inside(*same), number, "what is on the volume")
    healthy = {"web": "healthy", "worker": "running", "db": "healthy"}
    states = lambda: {name: service["state"] for name, service in ground.plane.services("shop").items()}
    wait_for("the control plane to say so", lambda: states() == healthy, 30)
    ground.foreign.untouched()


@on_each_engine
def test_r57_r59_names_resolve_in_their_project_and_only_there(world, engine):
    ground = OneHost(world, engine)
    ground.shop()
    ground.plane.deployed("page", projects.page())
    address = next(iter(ground.one("shop", "db")["NetworkSettings"]["Networks"].values()))["IPAddress"]

    def asked(project, name):
        return ground.inside(project, "web", "nslookup", name, check_code=False)

    for name in ("db", "db.shop.internal", "db-1.shop.internal"):
        code, said = asked("shop", name)
        check(code == 0 and address in said, f"{name} in shop is {said}")
    for name in ("db", "db.shop.internal"):
        code, said = asked("page", name)
        check(code != 0 and address not in said, f"{name} in page is {said}")
    code, said = asked("shop", "nobody.shop.internal")
    check(code != 0 and "NXDOMAIN" in said, f"a name that is not: {said}")
    # No packet gets there either, whatever the name.
    code, said = ground.inside("page", "web", "timeout", "3", "wget", "-q", "-O", "-", f"http://{address}:5432/id", check_code=False)
    check(code != 0, f"page reaches the database of shop: {said}")
    # Nor to what listens on the host itself.
    gateway = next(iter(ground.one("page", "web")["NetworkSettings"]["Networks"].values()))["Gateway"]
    world.start("listener", ground.host.command("busybox", "httpd", "-f", "-p", "9999", "-h", "/etc/docker"))
    wait_for("the listener", lambda: ground.host.run("curl", "-sf", "http://127.0.0.1:9999/daemon.json", check=False)[0] == 0)
    for target in (gateway, ground.host.ip):
        fetch = ("timeout", "3", "wget", "-q", "-O", "-", f"http://{target}:9999/daemon.json")
        code, said = ground.inside("page", "web", *fetch, check_code=False)
        check(code != 0, f"page reaches a service of its host at {target}: {said}")
    ground.foreign.untouched()


def test_h4_r58_names_of_the_hosts_own_resolver_are_known_in_containers(world):
    ground = OneHost(world)
    resolver = world.start("resolver", ground.lab.client(sys.executable, resolvers.__file__))
    resolver.line("ready")
    ground.plane.deployed("page", projects.page())
    said = ground.inside("page", "web", "nslookup", resolvers.NAME)
    check(resolvers.ADDRESS in said, f"{resolvers.NAME} is {said}")
    ground.inside("page", "web", "nslookup", "nobody.page.internal", check_code=False)
    asked = [line for line in resolver.lines if "internal" in line]
    equal(asked, [], "names of ours that were asked outside")
    ground.foreign.untouched()


def test_req_3_logs_stream_as_they_are_made(world):
    ground = OneHost(world)
    ground.shop()
    follower = ground.plane.follow("shop", "worker")
    follower.line("order")
    numbers = lambda: [int(n) for line in list(follower.lines) for n in re.findall(r"order (\d+) with 13 letters", line)]
    wait_for("thirty lines", lambda: len(numbers()) > 30, 30)
    got = numbers()
    equal(got, list(range(got[0], got[0] + len(got))), "lines, none twice and none missing")
    follower.stop()
    # Another one begins with the last lines, not with the first.
    late = ground.plane.follow("shop", "worker", "--tail", "2")
    first = re.search(r"order (\d+) with", late.line("order"))
    check(int(first[1]) >= got[-1] - 1, f"it begins with order {first[1]} after {got[-1]}")
    late.stop()
    ground.foreign.untouched()


def test_a_host_that_leaves_with_its_containers_leaves_only_its_volumes(world):
    ground = OneHost(world, "28")
    ground.shop()
    host = ground.host
    said = host.run("muster", "agent", "leave", "--yes", "--remove-containers")[1]
    check("no host any more" in said and "Volumes that are left" in said, f"it says what it did: {said}")
    equal(ground.ours("shop", running=False), [], "containers")
    equal([n["Name"] for n in host.engine.networks() if "muster.network" in (n["Labels"] or {})], [], "networks")
    check("table inet muster" not in host.run("nft", "list", "tables")[1], "no rules are left")
    check("/run/5050" not in host.run("cat", "/proc/mounts")[1], "no file system is left")
    code, said = host.run("muster", "agent", "status", check=False)
    check(code != 0 and "no host yet" in said, f"it is none: {said}")
    ground.foreign.untouched()


@on_each_engine
def test_r43_a_project_is_removed_and_its_volumes_only_when_that_is_said(world, engine):
    ground = OneHost(world, engine)
    ground.shop()
    ours = lambda: [v["Name"] for v in ground.host.engine.volumes() if "muster.volume" in (v["Labels"] or {})]
    equal(len(ours()), 1, "volumes of the shop")
    said = ground.plane.must("projects", "rm", "shop", "--yes")
    check("its volumes stay: data" in said, f"it says what stays: {said}")
    equal((ground.ours("shop", running=False), len(ours())), ([], 1), "containers and volumes that are left")
    said = ground.plane.must("projects", "rm", "shop", "--volumes", "--yes")
    check("is removed" in said, f"it says so: {said}")
    equal(ours(), [], "volumes of the shop")
    equal(ground.plane.table("projects", "list"), [], "projects")
    ground.foreign.untouched()


def test_a_newcomer_sees_the_machine_itself_as_a_host(world):
    ground = lab(world, 1, "28")
    ground.load()
    host = ground.host(1)
    host.run("install", binary(), "/usr/local/bin/muster")
    place = {"HOME": "/var/lib/newcomer"}
    host.run("mkdir", "-p", "/var/lib/newcomer")
    start = lambda: world.start("dev", host.command("muster", "dev", "--data-dir", "/var/lib/newcomer/dev", "--listen", "127.0.0.1:0", env=place))
    tool = lambda *argv: host.run("muster", *argv, env=place, check=False)

    def interrupt():
        host.run("pkill", "-INT", "-f", "^muster dev")
        equal(dev.process.wait(20), 0, "the exit code after Ctrl-C")

    dev = start()
    dev.line("this machine, with the engine at /var/run/docker.sock")
    dev.line("Ctrl-C stops")
    wait_for("the host", lambda: "online" in tool("hosts", "list")[1], 30)
    file = projects.page()
    host.run("sh", "-c", "cat >/var/lib/newcomer/compose.yaml", text=file)
    code, said = tool("deploy", "--file", "/var/lib/newcomer/compose.yaml", "--yes")
    check(code == 0, f"deploying ended with {code}: {said}")
    page = lambda: host.run("curl", "-s", f"http://127.0.0.1:{projects.ADMIN_PORT}/", check=False)[1].strip()
    wait_for("the page", lambda: page() == "v1", 20)
    interrupt()
    equal(page(), "v1", "the page without the control plane")
    dev = start()
    dev.line("Ctrl-C stops")
    wait_for("the same host", lambda: "online" in tool("hosts", "list")[1], 30)
    code, said = tool("projects", "rm", "page", "--yes")
    check(code == 0, f"removing ended with {code}: {said}")
    interrupt()
    check("table inet muster" not in host.run("nft", "list", "tables")[1], "no rules are left")
    check("netd" not in host.run("ps", "-e", "-o", "args")[1], "no program is left")


def test_the_agent_runs_where_there_is_nothing_but_itself(world):
    ground = lab(world, 1, "28")
    host, plane = ground.host(1), planes.Plane(world, ground)
    token = re.search(r"mst_join_[0-9a-f]+", plane.join_command("bare"))[0]
    # Beside the program there is what says which machine this is, the engine, and what the kernel offers: no libc, no shell, no file.
    for file in ("/etc/machine-id", "/run/docker.sock", "/dev/random", "/dev/urandom"):
        inside = f"/run/bare{file}"
        host.run("sh", "-c", f"mkdir -p $(dirname {inside}) && touch {inside} && mount --bind {file} {inside}")
    host.run("sh", "-c", "mkdir /run/bare/proc && mount -t proc proc /run/bare/proc")
    host.run("install", binary(), "/run/bare/muster")
    bare = ("chroot", "/run/bare", "/muster", "agent")
    where = {"MUSTER_SERVER": plane.console.geturl(), "MUSTER_CA_PEM": pathlib.Path(plane.ca).read_text(), "MUSTER_AGENT_DOCKER": "/run/docker.sock"}
    host.run(*bare, "join", "--token-stdin", text=token, env=where)
    world.start("bare", host.command(*bare, "run", env=where))
    plane.until_host("bare", "online")
    version = host.engine.call("GET", "/version")["Version"]
    wait_for("the engine's version", lambda: plane.host("bare")["engine"] == version, 20)


def test_a_machine_without_systemd_and_with_folders_of_its_own_runs_by_the_commands_that_joining_prints(world):
    ground = lab(world, 1, "28")
    host, plane = ground.host(1), planes.Plane(world, ground)
    places = "--identity '/var/my host/agent.json' --data-dir /var/data --run-dir /run/own"
    # systemd runs there; the command is pasted where it is not to be seen.
    pasted = shlex.quote(f"mount -t tmpfs none /run/systemd && {plane.join_command(host.name)} {places}")
    said = planes.join_with(host, f"unshare --mount sh -c {pasted}")
    printed = {verb: re.search(f"^ +(/.* agent {verb} .*)$", said, re.MULTILINE)[1] for verb in ("run", "boot")}
    equal(plane.host(host.name)["state"], "joining", "a host whose agent nobody started")
    world.start("agent", host.command("sh", "-c", f"exec {printed['run']}"))
    plane.until_host(host.name, "online")
    wait_for("netd", lambda: host.path("/run/own/netd.sock").exists())
    wait_for("its copy of the state", lambda: host.path("/var/data/state.cache").exists())
    usual = [host.path(file) for file in ("/etc/5050/agent.json", "/var/lib/5050/state.cache", "/run/5050/netd.sock")]
    check(not any(file.exists() for file in usual), "only its own folders are used")
    code, said = host.run("sh", "-c", f"{printed['run'].replace(' agent run ', ' agent status ')}", check=False)
    check(code == 0 and "connected" in said, f"its status: {said}")
    code, said = host.run("sh", "-c", printed["boot"], check=False)
    check(code == 0, f"boot ended with {code}: {said}")
    # Nobody but the agent starts netd here, and it does so at once.
    ground.load()
    plane.deployed("page", projects.page())
    page = lambda: host.run("curl", "-s", "-m", "1", f"http://127.0.0.1:{projects.ADMIN_PORT}/", check=False)[1].strip()
    wait_for("the page", lambda: page() == "v1", 20)
    netd = lambda: host.run("pgrep", "-f", "agent netd", check=False)[1].split()
    for _ in range(2):
        before = netd()
        host.run("pkill", "-9", "-f", "agent netd")
        wait_for("another netd, and the page", lambda: page() == "v1" and netd() not in ([], before), 4)


def test_state_8_a_volume_of_somebody_else_is_not_taken_for_ours(world):
    ground = OneHost(world)
    host = ground.host
    host.engine.call("POST", "/volumes/create", {"Name": "muster-shop-data"})
    host.run("docker", "run", "--rm", "-v", "muster-shop-data:/d", "lab/busybox:1", "sh", "-c", "echo theirs >/d/id")
    code, said = ground.plane.deploy("shop", projects.shop(), projects.SHOP_FILES)
    check(code == 0, f"a volume of a name like ours is in nobody's way: {said}")
    used = [mount.get("Name", "") for mount in ground.one("shop", "db")["Mounts"]]
    check(any(name.startswith("muster-shop-data-") for name in used), f"ours has a name of its own: {used}")
    check("muster-shop-data" not in used, f"theirs is not mounted: {used}")
    _, kept = host.run("docker", "run", "--rm", "-v", "muster-shop-data:/d", "lab/busybox:1", "cat", "/d/id")
    equal(kept, "theirs\n", "what is on it")
    ground.foreign.untouched()


def intercept(world, ground, files):
    """Somebody with a certificate of his own, who answers in the place of the control plane with these files."""
    folder = world.folder / "interceptor"
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj", "/CN=false",
         "-addext", f"subjectAltName=IP:{wire.CLIENT}", "-keyout", folder / "key.pem", "-out", folder / "cert.pem"],
        check=True, capture_output=True,
    )
    server = ("openssl", "s_server", "-accept", f"{wire.CLIENT}:5050", "-key", "key.pem", "-cert", "cert.pem", "-WWW", "-quiet")
    child = world.start("interceptor", ground.client(*server), cwd=folder)
    fetch = ("curl", "-sk", "--max-time", "2", f"https://{wire.CLIENT}:5050/{next(iter(files))}")
    wait_for("the interceptor", lambda: ground.host(1).run(*fetch, check=False)[1].strip() == files[next(iter(files))].strip())
    return child


def test_join_10_an_interceptor_without_the_key_gets_nothing_run(world):
    ground = lab(world, 1, "none")
    host, plane = ground.host(1), planes.Plane(world, ground)
    command = plane.join_command(host.name)
    script, binary = "api/agent/v1/install.sh", f"api/agent/v1/binary/{os.uname().machine}"
    true_script = host.run("curl", "-sk", f"{plane.console.geturl()}/{script}")[1]
    evil = "#!/bin/sh\ntouch /usr/local/bin/owned\n"
    plane.stop()
    for kind, files in {"script": {script: evil, binary: evil}, "binary": {script: true_script, binary: evil}}.items():
        child = intercept(world, ground, files)
        refusal(host, command)
        check(not host.path("/usr/local/bin/owned").exists(), f"the {kind} of an interceptor was run")
        check(not host.path("/usr/local/bin/muster").exists(), f"the {kind} of an interceptor was taken")
        check(not host.path("/etc/5050/agent.json").exists(), "an identity was made")
        child.stop()
    # The same command is good once the control plane itself answers.
    plane.start()
    planes.join_with(host, command)
    check(host.path("/etc/5050/agent.json").exists(), "an identity")


def test_join_9_a_revoked_join_token_is_refused(world):
    ground = OneHost(world, hosts=2)
    command = ground.plane.join_command("late")
    ground.plane.revoke_join_tokens("late")
    refused = refusal(ground.hosts[1], command)
    check("token" in refused, f"it says why: {refused}")
    equal(ground.plane.host("late"), None, "the host")
