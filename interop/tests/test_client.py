"""Our client library on servers of other makers: opamp-go's (both transports) and Elastic's mock server (plain HTTP).

The agent is crates/opamp-client/examples/agent.rs; what it did is read from what the server printed, not from the agent.
"""

import json

import peers
from tape import Tape
from world import check, equal, starts_first, stays, wait_for

TOKEN = "a-token"


def first_report_is_full(message):
    for field in ("agentDescription", "capabilities", "health", "effectiveConfig"):
        check(field in message, f"the first report has {field}: {sorted(message)}")


def numbers(messages):
    return [int(m.get("sequenceNum", 0)) for m in messages]


def continuous(messages):
    """SEQ-1: each number is the one before plus one."""
    got = numbers(messages)
    equal(got, list(range(got[0], got[0] + len(got))), "sequence numbers")


def statuses(messages):
    """The words of every remote config status in order, as opamp-go names them."""
    reports = [m["remoteConfigStatus"] for m in messages if m.get("remoteConfigStatus", {}).get("lastRemoteConfigHash")]
    return [(r.get("status", "RemoteConfigStatuses_UNSET").removeprefix("RemoteConfigStatuses_"), r.get("errorMessage", "")) for r in reports]


def on_go_server(world, scheme, *flags):
    server = peers.GoServer(world, "-token", TOKEN, *flags)
    agent = peers.our_agent(world, server.url(scheme), "--token", TOKEN)
    wait_for("the first report", lambda: server.messages() and server.messages()[0].get("agentDescription"))
    return server, agent


def reports_full_then_applies_and_fails_configs(server, messages):
    first_report_is_full(messages()[0])
    server.offer("level: debug\n")
    wait_for("APPLIED", lambda: statuses(messages())[-1:] == [("APPLIED", "")])
    wait_for("the new effective config", lambda: any("effectiveConfig" in m for m in messages()[1:]))
    server.offer("fail: on purpose\n")
    wait_for("FAILED", lambda: [s for s, _ in statuses(messages())][-1:] == ["FAILED"])
    check(statuses(messages())[-1][1], "FAILED comes with a message")
    server.offer("level: info\n")
    # C18: the old error's text is gone with the next success.
    wait_for("APPLIED again", lambda: statuses(messages())[-1:] == [("APPLIED", "")])
    continuous(messages())


def test_interop_our_client_over_websocket_on_opamp_go_reports_full_applies_and_fails_configs(world):
    server, agent = on_go_server(world, "ws")
    reports_full_then_applies_and_fails_configs(server, server.messages)
    agent.stop()
    server.child.event("closed")
    check("agentDisconnect" in server.messages()[-1], "CLOSE-1: the last message is the goodbye")
    continuous(server.messages())


def test_interop_our_client_over_http_on_opamp_go_reports_full_applies_and_fails_configs(world):
    server, agent = on_go_server(world, "http")
    reports_full_then_applies_and_fails_configs(server, server.messages)
    agent.stop()
    wait_for("the goodbye", lambda: "agentDisconnect" in server.messages()[-1], 5)


def test_http_18_our_client_compresses_a_long_report_and_opamp_go_understands_it(world):
    server = peers.GoServer(world, "-gzip")
    host, port = server.address.split(":")
    tape = Tape((host, int(port)))
    world.later(tape.close)
    peers.our_agent(world, f"http://127.0.0.1:{tape.port}/v1/opamp", "--gzip")
    wait_for("the first report", server.messages)
    server.offer("setting: value\n" * 500)  # comes back as the effective config
    wait_for("APPLIED", lambda: statuses(server.messages())[-1:] == [("APPLIED", "")])
    long = [m for m in tape.sent() if len(m.get("effective_config", b"")) > 5000]
    check(long and all(m["headers"].get("content-encoding") == "gzip" for m in long), "the long report was compressed")


def test_flag_2_our_client_sends_everything_again_when_opamp_go_asks_for_full_state(world):
    server, _ = on_go_server(world, "ws")
    server.child.tell("fullstate")
    server.offer("level: debug\n")  # something to answer, so that the flag goes out

    def asked_and_answered():
        again = [m for m in server.messages()[1:] if "agentDescription" in m]
        return again and all(field in again[0] for field in ("health", "effectiveConfig", "remoteConfigStatus"))

    wait_for("a second full report", asked_and_answered)


def test_uid_15_our_client_goes_on_under_the_instance_uid_that_opamp_go_gives_it(world):
    server, _ = on_go_server(world, "ws")
    server.child.tell("newuid")
    server.offer("level: debug\n")
    given = server.child.event("new_uid_given")
    server.child.event("message", where=lambda e: e["uid"] == given["new"])


def test_estab_7_our_client_over_websocket_comes_back_after_opamp_go_was_killed(world):
    server, _ = on_go_server(world, "ws")
    server.child.kill()
    server.start()
    # This server has forgotten everything and asks; a client that reports in full at once is as good.
    wait_for("a description", lambda: any("agentDescription" in m for m in server.messages()), 120)


@starts_first
def test_estab_5_our_client_over_http_comes_back_after_opamp_go_was_killed(world):
    server, _ = on_go_server(world, "http")
    server.child.kill()
    server.start()
    wait_for("a description", lambda: any("agentDescription" in m for m in server.messages()), 75)


def test_auth_3_our_client_with_a_wrong_token_says_401_and_tries_again(world):
    server = peers.GoServer(world, "-token", TOKEN)
    agent = peers.our_agent(world, server.url("ws"), "--token", "wrong")
    server.child.event("refused")
    agent.line("401")
    equal(server.messages(), [], "what the server heard")


def test_interop_tls_our_client_trusts_a_given_ca_on_both_transports_and_nobody_else(world):
    ca, cert, key = peers.certificate(world)
    server = peers.GoServer(world, "-cert", cert, "-key", key)
    stranger = peers.our_agent(world, server.url("wss"), name="stranger")
    wait_for("the stranger to complain about the certificate",
             lambda: any("certificate" in line.lower() or "unknownissuer" in line.lower() for line in stranger.lines))
    equal(server.messages(), [], "what the server heard of an agent that does not know the CA")
    for scheme in ("wss", "https"):
        heard = len(server.messages())
        agent = peers.our_agent(world, server.url(scheme), "--ca", ca, name=scheme)
        wait_for(f"a report over {scheme}", lambda: len(server.messages()) > heard)
        agent.stop()


def test_interop_our_client_on_elastics_mock_server_reports_full_applies_and_fails_configs(world):
    server = peers.MockServer(world)
    agent = peers.our_agent(world, server.url)
    wait_for("the first report", server.messages)
    # The mock prints every message field, set or not, so "has it" means "is not null".
    first = server.messages()[0]
    check(first.get("agentDescription") and first.get("health") and first.get("effectiveConfig"), f"full: {sorted(first)}")
    equal({m["status"] for m in server.child.of("message")}, {200}, "status codes")

    def status():
        reports = [m["remoteConfigStatus"] for m in server.messages() if (m.get("remoteConfigStatus") or {}).get("lastRemoteConfigHash")]
        return (reports[-1]["status"], reports[-1].get("errorMessage", "")) if reports else None

    for text, want in (("level: debug\n", 1), ("fail: on purpose\n", 3), ("level: info\n", 1)):
        server.child.tell(json.dumps({"config": text}))
        wait_for(f"status {want} for {text!r}", lambda: status() and status()[0] == want, 60)
    agent.stop()
    wait_for("the goodbye", lambda: server.messages()[-1].get("agentDisconnect") is not None, 5)


def test_throttle_3_our_client_waits_when_the_mock_server_is_unavailable(world):
    server = peers.MockServer(world, "--bad", "server_error_response_unavailable")
    agent = peers.our_agent(world, server.url)
    wait_for("the first report", server.messages)
    agent.event("disconnected", where=lambda e: "unavailable" in e["reason"])
    # It was told to wait 42 s. Without that, a poll each second and a back-off of about as much would show by now.
    stays("one request only", lambda: len(server.messages()) == 1, 4)
