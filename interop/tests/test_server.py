"""Our server in the settings that the shared one of test_agents.py lacks: TLS, a reverse proxy, a wrong token, a crash."""

import peers
from muster import Muster
from tape import Tape
from world import Shared, check, equal, starts_first, wait_for

secure = Shared(lambda ground: Muster(ground, label="muster-tls", tls=True))


def over_tls(world, start, scheme, name, **summary):
    server = secure.get()
    child = start(world, server.url(scheme), server.enrolment, name, ca=server.ca)
    agent = server.until(name, "to be connected", lambda a: a["state"] == "connected", 120)
    for key, value in summary.items():
        agent = server.until(name, f"{key} {value}", lambda a: a[key] == value)
    return server, child


def test_interop_tls_go_agent_over_websocket_trusts_our_own_ca(world):
    server, child = over_tls(world, peers.go_agent, "ws", "go-wss", healthy=True)
    child.stop()
    server.until("go-wss", "to be disconnected", lambda a: a["state"] == "disconnected", 5)


def test_interop_tls_go_agent_over_http_trusts_our_own_ca(world):
    over_tls(world, peers.go_agent, "http", "go-https", healthy=True)


def test_interop_tls_go_agent_that_does_not_know_our_ca_is_never_seen(world):
    server = secure.get()
    child = peers.go_agent(world, server.url("ws"), server.enrolment, "go-stranger")
    failure = child.event("connect_failed")
    check("certificate" in failure["error"], f"the agent names the certificate: {failure}")
    equal(server.named("go-stranger"), None, "what the server shows")


def test_interop_tls_collector_extension_over_websocket_trusts_our_own_ca(world):
    over_tls(world, peers.collector, "ws", "collector-wss", healthy=True)


def test_interop_tls_collector_extension_over_http_trusts_our_own_ca(world):
    over_tls(world, peers.collector, "http", "collector-https", healthy=True)


def test_interop_tls_node_agent_trusts_our_own_ca(world):
    over_tls(world, peers.node_agent, "http", "node-https")


def test_interop_tls_python_agent_trusts_our_own_ca(world):
    over_tls(world, peers.python_agent, "http", "python-https")


def test_interop_tls_java_agent_over_websocket_trusts_our_own_ca(world):
    over_tls(world, peers.java_agent, "ws", "java-wss")


def test_auth_3_a_wrong_token_is_answered_with_401_on_both_transports(world):
    server = Muster(world)
    for scheme in ("ws", "http"):
        # opamp-go hides the status from the application, so it is read from the recording.
        tape = Tape((server.opamp.hostname, server.opamp.port))
        world.later(tape.close)
        child = peers.go_agent(world, server.url(scheme, tape.port), "not-a-token", f"wrong-{scheme}")
        answer = wait_for("an answer", lambda: next(iter(tape.received()), None))
        check(answer["http"].startswith("HTTP/1.1 401"), f"refused: {answer}")
        child.stop()
        equal(server.named(f"wrong-{scheme}"), None, "what the server shows")


def test_interop_nginx_with_tls_passes_a_websocket_and_the_agents_own_address_is_shown(world):
    server = Muster(world, flags=["--trusted-proxy", "127.0.0.1/32"])
    port, ca = peers.nginx(world, server.opamp.netloc)
    # The agent comes from another loopback address than nginx does, so that the two can be told apart.
    relay = Tape(("127.0.0.1", port), source="127.0.0.7")
    world.later(relay.close)
    for scheme, name in (("wss", "go-nginx-ws"), ("https", "go-nginx-http")):
        child = peers.go_agent(world, f"{scheme}://127.0.0.1:{relay.port}/v1/opamp", server.enrolment, name, ca=ca)
        agent = server.until(name, "to be connected and healthy", lambda a: a["state"] == "connected" and a["healthy"])
        check(agent["peer_address"].startswith("127.0.0.7"), f"the address is the agent's: {agent['peer_address']}")
        child.stop()
    server.until("go-nginx-ws", "to be disconnected", lambda a: a["state"] == "disconnected")


@starts_first
def test_interop_kill_9_of_the_server_needs_no_action_and_costs_each_agent_one_full_report_at_most(world):
    server = Muster(world)
    tapes = {}
    for start, scheme, name in (
        (peers.go_agent, "ws", "back-go-ws"), (peers.go_agent, "http", "back-go-http"), (peers.python_agent, "http", "back-python"),
    ):
        tapes[name] = Tape((server.opamp.hostname, server.opamp.port))
        world.later(tapes[name].close)
        start(world, server.url(scheme, tapes[name].port), server.enrolment, name)
    for name in tapes:
        server.until(name, "to be connected", lambda a: a["state"] == "connected", 120)
    before = {name: server.named(name)["instance_uid"] for name in tapes}
    asked_before = {name: tape.full_state_asked() for name, tape in tapes.items()}
    server.child.kill()
    server.start()
    # opamp-go and the Python library wait up to 30 s before they try HTTP again.
    for name, tape in tapes.items():
        again = server.until(name, "to be back", lambda a: a["state"] == "connected", 150)
        equal(again["instance_uid"], before[name], "instance_uid")
        asked = tape.full_state_asked() - asked_before[name]
        check(asked <= 1, f"{name} was asked for its full state {asked} times")


def test_s33_a_stopping_server_closes_websockets_with_1001_and_ends_with_code_0(world):
    server = Muster(world)
    tape = Tape((server.opamp.hostname, server.opamp.port))
    world.later(tape.close)
    peers.go_agent(world, server.url("ws", tape.port), server.enrolment, "going-away")
    server.until("going-away", "to be connected", lambda a: a["state"] == "connected")
    equal(server.child.stop(), 0, "exit code")
    codes = wait_for("a close frame", lambda: [m["close"] for m in tape.received() if "close" in m], 5)
    equal(codes, [1001], "close codes")
