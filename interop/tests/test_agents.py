"""Agents of other makers on our server: seen, healthy, gone; asked for their full state exactly where it is needed.

One server without TLS serves them all, as in life; each agent has a name of its own. TLS, the reverse proxy and a killed
server are in test_server.py, our client on other servers in test_client.py.
"""

import peers
from muster import Muster
from tape import REPORT_FULL_STATE, Tape
from world import Shared, check, equal, starts_first, wait_for

# Capability bits and the part of the first report that each promises.
PROMISES = {0x04: "effective_config", 0x800: "health"}

plain = Shared(lambda ground: Muster(ground))


class Run:
    """One agent on the shared server, with a tape between them."""

    def __init__(self, world, start, scheme, name, *more):
        self.server = plain.get()
        self.tape = Tape((self.server.opamp.hostname, self.server.opamp.port))
        world.later(self.tape.close)
        self.name, self.transport = name, "websocket" if scheme == "ws" else "http"
        self.child = start(world, self.server.url(scheme, self.tape.port), self.server.enrolment, name, *more)

    def seen(self, **summary):
        """Waits until the server shows the agent connected, with these values; then its detail."""
        def fits(agent):
            return agent["state"] == "connected" and all(agent[key] == value for key, value in summary.items())
        agent = self.server.until(self.name, f"to be connected with {summary}", fits, 120)
        equal(agent["transport"], self.transport, "transport")
        return self.server.detail(agent["instance_uid"])

    def beats(self, count=3):
        """Waits for that many messages of the agent after the moment, so that what would go wrong has had its chance."""
        begun = len(self.tape.sent())
        wait_for(f"{count} more messages of {self.name}", lambda: len(self.tape.sent()) >= begun + count, 30)

    def asked(self, times):
        equal(self.tape.full_state_asked(), times, "how often ReportFullState was set")

    def asked_where_needed(self):
        """Once if the first report lacks what the agent's own capabilities promise, and not at all otherwise."""
        first = self.tape.sent()[0]
        promised = ["agent_description"] + [part for bit, part in PROMISES.items() if first["capabilities"] & bit]
        self.asked(0 if all(part in first for part in promised) else 1)

    def quiet(self):
        """No answer is an error and each names the agent's own uid (STAT-9, UID-12)."""
        uids = {m["instance_uid"] for m in self.tape.sent()}
        for answer in self.tape.received():
            if "close" in answer:
                continue
            check("error_response" not in answer, f"the server answered with an error: {answer}")
            check(answer.get("instance_uid") in uids, f"an answer for another agent: {answer}")

    def gone(self, seconds=5.0):
        """Ends the agent and waits until the server shows it disconnected."""
        self.child.stop()
        self.server.until(self.name, "to be disconnected", lambda a: a["state"] == "disconnected", seconds)


def texts(detail):
    """key -> value of every attribute, identifying or not."""
    both = detail["description"]["identifying"] + detail["description"]["non_identifying"]
    return {a["key"]: a["value"] for a in both}


def described(run, detail):
    attributes = texts(detail)
    equal(attributes.get("service.name"), run.name, "service.name")
    equal(attributes.get("service.version"), "1.0.0", "service.version")
    equal(attributes.get("os.type"), "linux", "os.type")


def typed_pid(run, detail):
    """S5: a number stays a number."""
    pid = [a for a in detail["description"]["non_identifying"] if a["key"] == "process.pid"][0]
    equal((pid["type"], str(pid["value"])), ("int", str(run.child.pid)), "process.pid")


def test_interop_go_agent_over_websocket_is_seen_healthy_never_asked_again_and_gone_at_once(world):
    run = Run(world, peers.go_agent, "ws", "go-ws")
    detail = run.seen(healthy=True, health_status="StatusOK")
    described(run, detail)
    typed_pid(run, detail)
    check(detail["health"]["components"]["worker"]["healthy"], "the health tree has the component")
    equal([f["body"] for f in detail["effective_config"]["files"]], ["level: info\n"], "effective config")
    run.beats()
    run.asked(0)
    run.quiet()
    run.gone()


def test_interop_go_agent_over_http_is_seen_healthy_and_never_asked_again(world):
    run = Run(world, peers.go_agent, "http", "go-http")
    detail = run.seen(healthy=True)
    described(run, detail)
    typed_pid(run, detail)
    run.beats()
    run.asked(0)
    run.quiet()


@starts_first
def test_close_8_go_and_node_agents_over_http_that_stop_without_a_word_are_shown_silent(world):
    # Neither library says goodbye over HTTP (CLOSE-6), so only the polls that stay away tell.
    runs = [Run(world, peers.go_agent, "http", "go-silent"), Run(world, peers.node_agent, "http", "node-silent")]
    for run in runs:
        run.seen()
        run.child.stop()
    for run in runs:
        check(not any("agent_disconnect" in m for m in run.tape.sent()), f"{run.name} said nothing")
        run.server.until(run.name, "to be silent", lambda a: a["state"] == "silent", 130)


def test_http_19_go_agent_that_compresses_over_http_is_understood(world):
    run = Run(world, peers.go_agent, "http", "go-gzip", "-gzip")
    described(run, run.seen(healthy=True))
    sent = [m for m in run.tape.sent() if m["headers"].get("content-encoding") == "gzip"]
    check(sent, "the agent compressed its requests")
    run.quiet()


def test_interop_node_agent_over_http_is_seen_and_never_asked_again(world):
    run = Run(world, peers.node_agent, "http", "node-http")
    detail = run.seen(healthy=None)
    described(run, detail)
    run.beats()
    run.asked(0)
    run.quiet()


def test_interop_python_agent_over_http_is_seen_asked_once_for_the_config_it_promises_and_gone_with_its_disconnect(world):
    run = Run(world, peers.python_agent, "http", "python-http")
    described(run, run.seen(healthy=None))
    run.beats()
    # It says that it reports its effective config, and its first report has none. It has none yet, so that is that.
    run.asked(1)
    run.gone()
    goodbyes = [m for m in run.tape.sent() if "agent_disconnect" in m]
    check(goodbyes, "the agent said goodbye")
    # It says goodbye twice; the second is answered and changes nothing.
    run.server.until(run.name, "to stay disconnected", lambda a: a["state"] == "disconnected")


def test_interop_java_agent_over_http_is_seen_and_gone_with_its_disconnect(world):
    run = Run(world, peers.java_agent, "http", "java-http")
    described(run, run.seen(healthy=None))
    run.beats()
    run.asked(0)
    run.quiet()
    run.gone()


def test_flag_1_java_agent_over_websocket_that_loses_its_first_message_is_asked_for_full_state_once(world):
    run = Run(world, peers.java_agent, "ws", "java-ws")
    described(run, run.seen(healthy=None))
    sent = run.tape.sent()
    check("agent_description" not in sent[0], f"the first message that arrives has no description: {sorted(sent[0])}")
    equal(run.tape.received()[0].get("flags"), REPORT_FULL_STATE, "flags of the first answer")
    check("agent_description" in sent[1], f"its next message is its full state: {sorted(sent[1])}")
    run.asked(1)
    run.quiet()
    # It sends no heartbeat, so silence is no sign of death: the connection is.
    run.gone()


def test_interop_collector_extension_over_websocket_is_seen_healthy_and_gone_at_once(world):
    run = Run(world, peers.collector, "ws", "collector-ws")
    detail = run.seen(healthy=True)
    equal(texts(detail).get("deployment.environment"), "interop", "deployment.environment")
    check("nop" in detail["effective_config"]["files"][0]["body"], "the effective config is the Collector's own")
    # The extension says "healthy" without a tree as soon as the Collector is ready, and sends the tree next.
    wait_for("the health tree to have its pipelines",
             lambda: run.server.detail(detail["instance_uid"])["health"]["components"], 20)
    run.asked_where_needed()
    run.quiet()
    run.gone()


def test_interop_collector_extension_does_not_show_the_bearer_token_that_its_config_holds(world):
    run = Run(world, peers.collector, "ws", "collector-secret")
    body = run.seen(healthy=True)["effective_config"]["files"][0]["body"]
    check("headers" in body and run.server.enrolment not in body, "the token is not in the effective config")


def test_s18_a_secret_in_a_list_of_names_and_values_is_masked(world):
    text = "headers:\n  - name: Authorization\n    value: Bearer abc-123\nendpoint: collector:4317\n"
    run = Run(world, peers.go_agent, "ws", "go-secret", "-effective", text)
    file = run.seen(healthy=True)["effective_config"]["files"][0]
    check("abc-123" not in file["body"] and "collector:4317" in file["body"], f"only the secret is masked: {file}")
    check(file["redacted"], "the answer says that it masked something")


def test_interop_collector_extension_over_http_is_seen_healthy(world):
    run = Run(world, peers.collector, "http", "collector-http")
    detail = run.seen(healthy=True)
    equal(texts(detail).get("deployment.environment"), "interop", "deployment.environment")
    run.beats()
    run.asked_where_needed()
    run.quiet()


def test_interop_supervisor_with_collector_over_websocket_is_seen_healthy_and_gone_at_once(world):
    run = Run(world, peers.supervisor, "ws", "supervisor-ws")
    detail = run.seen(healthy=True)
    equal(texts(detail).get("deployment.environment"), "interop", "deployment.environment")
    check("AcceptsRemoteConfig" in detail["capabilities"], f"it accepts remote config: {detail['capabilities']}")
    run.asked_where_needed()
    run.quiet()
    run.gone()


def test_interop_supervisor_with_collector_over_http_is_seen_healthy(world):
    run = Run(world, peers.supervisor, "http", "supervisor-http")
    detail = run.seen(healthy=True)
    equal(texts(detail).get("deployment.environment"), "interop", "deployment.environment")
    run.asked_where_needed()
    run.quiet()
