"""Agents of other makers are configured by our server: APPLIED and FAILED are seen, a bad revision is rolled back, and no
configuration is offered while its answer may be on its way.

One server for all; each agent has a configuration and an assignment of its own, by its service.name.
"""

import json

import peers
from muster import Muster
from tape import Tape
from world import Shared, check, equal, wait_for

server = Shared(lambda ground: Muster(ground))

GOOD = {"name": "agent.json", "body": json.dumps({"level": "debug"})}
BETTER = {"name": "agent.json", "body": json.dumps({"level": "info", "sampling": 0.5})}
BAD = {"name": "agent.json", "body": json.dumps({"level": "fail"})}


class Configured:
    """One agent on the shared server, a tape between them, and a configuration that only it gets."""

    def __init__(self, world, start, scheme, name, good=GOOD):
        self.server = server.get()
        self.tape = Tape((self.server.opamp.hostname, self.server.opamp.port))
        world.later(self.tape.close)
        self.name = name
        self.child = start(world, self.server.url(scheme, self.tape.port), self.server.enrolment, name)
        self.server.until(name, "to be connected", lambda agent: agent["state"] == "connected", 120)
        self.server.api("POST", "/api/v1/configs", {"name": name, "message": "first", "files": [good]})
        made = self.server.api("POST", "/api/v1/assignments", {"config": name, "selector": f"service.name={name}"})
        self.assignment = f"/api/v1/assignments/{made['id']}"

    def until(self, state, revision, seconds=60):
        """Waits until the agent is in this state with this revision; then its detail."""
        def fits(agent):
            config = agent["config"]
            return (config["state"], config["revision"]) == (state, revision)
        agent = self.server.until(self.name, f"to be {state} with revision {revision}", fits, seconds)
        return self.server.detail(agent["instance_uid"])

    def assigned(self, state):
        def probe():
            seen = self.server.api("GET", self.assignment)
            return seen if seen["state"] == state else None
        return wait_for(f"{self.name}: the assignment to be {state}", probe, 30)

    def revise(self, file, number):
        """Adds a revision and rolls it out."""
        revisions = f"/api/v1/configs/{self.name}/revisions"
        made = self.server.api("POST", revisions, {"message": f"revision {number}", "files": [file]})
        equal(made["number"], number, "number of the revision")
        self.server.api("POST", f"{self.assignment}/revision", {"revision": number})

    def offers(self):
        """The hashes that were offered, in order."""
        return [m["remote_config"] for m in self.tape.received() if "remote_config" in m]

    def whole_story(self, reason):
        """Applied, then a bad revision that is paused with the agent's reason, then back."""
        self.until("in sync", 1)
        self.assigned("done")
        self.revise(BAD, 2)
        failed = self.until("failed", 2)
        check(reason in failed["config"]["reason"], f"the reason is the agent's: {failed['config']}")
        paused = self.assigned("paused")
        equal((paused["pause"]["kind"], paused["progress"]["failed"]), ("failed", 1), "the pause")
        self.server.api("POST", f"{self.assignment}/revision", {"revision": 1, "batch_percent": 100})
        self.until("in sync", 1)
        self.assigned("done")
        self.revise(BETTER, 3)
        self.until("in sync", 3)
        # Four offers, one for each change: none came again while its answer was on its way.
        begun = len(self.tape.sent())
        wait_for(f"3 more messages of {self.name}", lambda: len(self.tape.sent()) >= begun + 3 or self.quiet(), 30)
        equal(len(self.offers()), 4, "offers")

    def quiet(self):
        """The Java agent has no heartbeat on a WebSocket: there is nothing to wait for."""
        return self.name == "configured-java-ws"


def test_interop_go_agent_over_websocket_is_configured_and_rolled_back(world):
    Configured(world, peers.go_agent, "ws", "configured-go-ws").whole_story("told to fail")


def test_interop_go_agent_over_http_is_configured_and_rolled_back(world):
    Configured(world, peers.go_agent, "http", "configured-go-http").whole_story("told to fail")


def test_interop_node_agent_over_http_is_configured_and_rolled_back(world):
    Configured(world, peers.node_agent, "http", "configured-node").whole_story("told to fail")


def test_interop_python_agent_over_http_is_configured_and_rolled_back(world):
    Configured(world, peers.python_agent, "http", "configured-python").whole_story("told to fail")


def test_interop_java_agent_over_http_is_configured_and_rolled_back(world):
    Configured(world, peers.java_agent, "http", "configured-java-http").whole_story("told to fail")


def test_interop_java_agent_over_websocket_is_configured_and_rolled_back(world):
    Configured(world, peers.java_agent, "ws", "configured-java-ws").whole_story("told to fail")


def ours(world, url, token, name):
    return peers.our_agent(world, url, "--token", token, name=name)


def test_interop_our_agent_is_configured_and_rolled_back(world):
    Configured(world, ours, "ws", "configured-ours").whole_story('the word "fail"')


COLLECTOR = """\
receivers:
  nop: {}
exporters:
  nop: {}
processors:
  batch: {}
service:
  pipelines:
    metrics:
      receivers: [nop]
      processors: [PROCESSORS]
      exporters: [nop]
"""


def collector_file(processors):
    return {"name": "collector.yaml", "body": COLLECTOR.replace("PROCESSORS", processors)}


def test_interop_supervisor_runs_a_real_collector_on_what_is_assigned_and_says_why_it_cannot(world):
    empty = {"name": "collector.yaml", "body": COLLECTOR.replace("processors:\n  batch: {}\n", "").replace(
        "      processors: [PROCESSORS]\n", "")}
    run = Configured(world, peers.supervisor, "ws", "configured-supervisor", empty)
    detail = run.until("in sync", 1, 120)
    effective = "".join(file["body"] for file in detail["effective_config"]["files"])
    check("nop" in effective and "pipelines" in effective, f"the Collector runs on it: {effective}")
    equal(detail["drift"], [], "drift")
    run.assigned("done")
    # Sound YAML that no Collector with these components can run.
    bad = {"name": "collector.yaml", "body": empty["body"].replace("nop: {}", "unheardof: {}", 1).replace(
        "receivers: [nop]", "receivers: [unheardof]")}
    run.revise(bad, 2)
    failed = run.until("failed", 2, 120)
    check(failed["config"]["reason"], f"with a reason: {failed['config']}")
    equal(run.assigned("paused")["pause"]["kind"], "failed", "the pause")
    run.server.api("POST", f"{run.assignment}/revision", {"revision": 1, "batch_percent": 100})
    run.until("in sync", 1, 120)
    run.server.until(run.name, "to be healthy again", lambda agent: agent["healthy"] is True, 60)


def test_s30_a_collector_with_the_extension_alone_is_told_apart_as_not_configurable(world):
    run = Configured(world, peers.collector, "ws", "configured-extension",
                     {"name": "collector.yaml", "body": "receivers: {}\n"})
    agent = run.server.until(run.name, "to be not configurable",
                             lambda agent: agent["config"]["state"] == "not configurable")
    check(agent["config"]["reason"], "and why")
    equal(run.offers(), [], "offers")


def test_s23_many_pushes_beside_the_agents_own_messages_leave_every_frame_whole(world):
    run = Configured(world, peers.go_agent, "ws", "configured-busy")
    run.until("in sync", 1)
    for number in range(2, 202):
        body = json.dumps({"level": "debug", "number": number})
        run.server.api("POST", f"/api/v1/configs/{run.name}/revisions",
                       {"files": [{"name": "agent.json", "body": body}]})
        run.server.api("POST", f"{run.assignment}/revision", {"revision": number, "batch_percent": 100})
    run.until("in sync", 201)
    hashes = run.offers()
    equal(len(hashes), len(set(hashes)), "no hash is offered twice")
