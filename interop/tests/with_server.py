"""Runs a command beside a fresh server with one connected, healthy agent: see ../with-server, which starts this."""

import os
import signal
import subprocess
import sys

import peers
from muster import Muster
from world import Failed, World


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    with World("with-server") as ground:
        try:
            server = Muster(ground)
            peers.go_agent(ground, server.url("ws"), server.enrolment, "checkout")
            server.until("checkout", "to be connected and healthy", lambda a: a["state"] == "connected" and a["healthy"])
        except Failed as failed:
            print(failed, ground.tails(), sep="\n", file=sys.stderr)
            return 1
        login = {"MUSTER_URL": server.ready["console"], "MUSTER_USER": "admin", "MUSTER_PASSWORD": server.first["admin_password"]}
        return subprocess.run(sys.argv[1:], env={**os.environ, **login}).returncode


if __name__ == "__main__":
    sys.exit(main())
