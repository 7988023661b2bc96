"""A small agent on opentelemetry-opamp-client (plain HTTP only): remote config, its status and the effective config.

How it talks to the tests: ../README.md, "How the programs talk". No health and no restart: the library has neither.
"""

import argparse
import json
import os
import signal
import socket
import threading

from opentelemetry._opamp.agent import OpAMPAgent
from opentelemetry._opamp.callbacks import OpAMPCallbacks
from opentelemetry._opamp.client import OpAMPClient
from opentelemetry._opamp.proto import opamp_pb2 as pb


def say(event, **more):
    print(json.dumps({"event": event, **more}), flush=True)


class Callbacks(OpAMPCallbacks):
    """Applies any config, but reports FAILED for one that holds the word "fail"."""

    def __init__(self):
        self.connected = False

    def on_connect(self, agent, client):
        if not self.connected:  # the library calls this for every answered request
            say("connected")
        self.connected = True

    def on_connect_failed(self, agent, client, error):
        self.connected = False
        say("connect_failed", error=str(error))

    def on_error(self, agent, client, error_response):
        say("server_error", type=pb.ServerErrorResponseType.Name(error_response.type), message=error_response.error_message)

    def on_message(self, agent, client, message):
        offer = message.remote_config
        if offer is None:
            return
        files = {name: file.body for name, file in offer.config.config_map.items()}
        failed = any(b"fail" in body for body in files.values())
        status = pb.RemoteConfigStatuses_FAILED if failed else pb.RemoteConfigStatuses_APPLIED
        changed = client.update_remote_config_status(offer.config_hash, status, "told to fail" if failed else "")
        if not failed:
            client.update_effective_config(files, "text/yaml")
        if changed is not None:
            # Only a full state message carries the effective config, and the application must queue it.
            agent.send(client.build_full_state_message())
        say("remote_config", hash=offer.config_hash.hex(), status="failed" if failed else "applied")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--url", required=True)
    parser.add_argument("--token")
    parser.add_argument("--ca")
    parser.add_argument("--interval", type=float, default=30)
    parser.add_argument("--name", default="pyagent")
    options = parser.parse_args()
    client = OpAMPClient(
        endpoint=options.url,
        headers={"Authorization": f"Bearer {options.token}"} if options.token else {},
        tls_certificate=options.ca or True,
        # The library's default of one second is little on a machine that is also compiling.
        timeout_millis=10_000,
        agent_identifying_attributes={
            "service.name": options.name,
            "service.version": "1.0.0",
            "service.instance.id": f"{options.name}-{os.getpid()}",
        },
        agent_non_identifying_attributes={"os.type": "linux", "host.name": socket.gethostname(), "process.pid": os.getpid()},
    )
    agent = OpAMPAgent(interval=options.interval, callbacks=Callbacks(), client=client)
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    agent.start()
    stop.wait()
    agent.stop()
    say("stopped")


if __name__ == "__main__":
    main()
