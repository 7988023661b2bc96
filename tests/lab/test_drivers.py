"""The tests of the drivers (crates/host-drivers/tests/engine) on hosts with real engines: they were built with everything
else, and run here."""

import re

from grounds import lab, on_each_engine
from muster import binary
from world import check


def program():
    """The newest build of these tests beside the binary under test."""
    found = [file for file in (binary().parent / "deps").glob("engine-*") if re.fullmatch(r"engine-[0-9a-f]{16}", file.name)]
    check(found, "they are not built: cargo build --workspace --all-targets")
    return max(found, key=lambda file: file.stat().st_mtime)


@on_each_engine
def test_drivers_do_as_they_say_on_a_real_engine(world, engine):
    ground = lab(world, 1, engine)
    ground.load()
    host = ground.host(1)
    host.engine.call("POST", "/images/lab/busybox:1/tag", repo="bb", tag="1")
    inside = "/usr/local/bin/engine-tests"
    host.run("install", "-D", program(), inside)
    where = {"MUSTER_TEST_DOCKER": "/run/docker.sock", "RUST_BACKTRACE": "1"}
    code, said = host.run(inside, "--test-threads=2", check=False, seconds=300, env=where)
    check(code == 0, said[-4000:])
    passed = re.search(r"test result: ok\. (\d+) passed; 0 failed; 0 ignored", said)
    check(passed and int(passed[1]) >= 10, f"all of them were run: {said[-500:]}")
