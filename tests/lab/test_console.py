"""The console with a real machine: Chromium on the wire, driven by console/browser/cases-lab.mjs. What a person does in it
is written there; here is what happens on the machine, and what others see of it meanwhile."""

import json

import plane as planes
import projects
from grounds import OneHost
from muster import binary
from test_one_host import NEEDS
from test_one_host_deploys import SOON
from world import ROOT, Failed, check, equal, starts_first, wait_for

PORT = projects.ADMIN_PORT
# For each errand, and for each state that the browser waits for: it starts and draws on a machine that is busy with others.
SECONDS = 60


def unready():
    lacking = planes.lacks(*NEEDS)
    return lacking and f"this muster has no command `{lacking}`"


class Machine:
    """What the browser asks for, each errand a method."""

    def __init__(self, ground):
        self.ground, self.host, self.poller, self.heard = ground, ground.host, None, 0

    def known(self):
        return {"name": self.host.name, "address": self.host.ip, "engine": self.host.engine.call("GET", "/version")["Version"]}

    def engine(self, runs):
        self.host.start_engine() if runs else self.host.run("systemctl", "stop", "docker")

    def paste(self, command):
        planes.join_with(self.host, command)

    def file(self, version):
        return projects.page(version, replicas=2, extra=SOON)

    def visit(self, path):
        """Until each of the replicas was asked; they take turns."""
        for _ in range(4):
            check(self.ground.page(PORT, path) is not None, f"{path} is not served")

    def serves(self, version):
        """That the page says so, to one who asks all the time from the first such errand on."""
        self.poller = self.poller or self.ground.poll(PORT)
        wait_for(f"the page to say {version}", lambda: self.poller.texts()[-1:] == [version], 20)
        self.heard = len(self.poller.answers)

    def kept(self, version):
        """That nobody was told anything else since the last `serves`."""
        wait_for("requests enough to tell", lambda: len(self.poller.answers) >= self.heard + 20, 30)
        equal(set(self.poller.texts()[self.heard:]), {version}, "what was served")
        check(not self.poller.failures, f"requests failed: {self.poller.failures[:3]}")

    def leave(self, _):
        """Nobody asks for the page any more, and of all who did none was turned away."""
        self.poller.unbroken(least=50)

    def gone(self, _):
        wait_for("nothing of the project", lambda: not self.ground.ours("page", running=False), 30)
        check(self.ground.page(PORT) is None, "the page is still served")


def browse(world, ground):
    """Runs the cases and does their errands, until they are over."""
    machine, plane = Machine(ground), ground.plane
    browser = world.start(
        "browser", ground.lab.client("node", "browser/run.mjs", "--lab"), cwd=ROOT / "console",
        env={
            "MUSTER_URL": plane.console.geturl(), "MUSTER_PASSWORD": plane.first["admin_password"], "MUSTER_FINGERPRINT": plane.pin(),
            "LAB_MACHINE": json.dumps(machine.known()), "BROWSER_TIMEOUT_MS": str(SECONDS * 1000),
        },
    )
    asked = 0
    while wait_for("the browser to ask or to end", lambda: len(browser.of("ask")) > asked or not browser.alive(), 2 * SECONDS):
        if len(browser.of("ask")) == asked:
            break
        errand = browser.of("ask")[asked]
        browser.tell(json.dumps({"answer": getattr(machine, errand["what"])(errand["with"])}))
        asked += 1
    code = browser.process.wait()
    if code != 0:
        raise Failed(f"the browser's cases ended with {code}")


@starts_first
def test_console_a_machine_becomes_a_host_and_runs_what_a_person_deploys(world):
    ground = OneHost(world, joined=False)
    check(not ground.host.path("/usr/local/bin/muster").exists(), "the machine has no binary yet")
    browse(world, ground)
    ground.foreign.untouched()
