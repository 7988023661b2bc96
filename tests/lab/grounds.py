"""What a test on hosts stands on: a lab of its own that is gone afterwards, the engines that it is run with, and a
control plane with a host that joined it."""

import functools
import itertools
import os
import subprocess

import projects
from labs import Lab
from plane import Plane, join
from witness import Foreign, Poller
from world import check, wait_for

ENGINES = ("20", "28")
numbers = itertools.count(1)


def lab(world, hosts, engine="20"):
    """A lab with this many hosts, which ends with the test."""
    made = Lab(f"t{os.getpid()}-{next(numbers)}")
    world.later(made.down)
    made.up(hosts, engine, owner=os.getpid())
    return made


def on_each_engine(function):
    """Runs the test with each engine: it is given `world` and `engine`."""
    def variant(engine):
        @functools.wraps(function)
        def run(world):
            function(world, engine)

        run.__name__ = f"{function.__name__} (engine {engine})"
        run.__dict__.pop("variants", None)
        return run

    function.variants = [variant(engine) for engine in ENGINES]
    return function


class OneHost:
    """A control plane and one host that joined it by the pasted command, with somebody else's things on it too. Without
    `joined` the machine is left as it is, for the test to make it a host."""

    def __init__(self, world, engine="20", hosts=1, joined=True):
        self.world = world
        self.lab = lab(world, hosts, engine)
        self.lab.load()
        self.hosts = self.lab.hosts()
        self.host = self.hosts[0]
        self.foreign = Foreign(self.host)
        self.plane = Plane(world, self.lab)
        self.said = join(self.plane, self.host) if joined else None

    # ---- what runs ----

    def ours(self, project, service=None, running=True, host=None):
        """The containers of a project, as the engine lists them."""
        labels = [f"muster.project={project}"] + ([f"muster.service_name={service}"] if service else [])
        found = (host or self.host).engine.containers(label=labels)
        return [c for c in found if c["Labels"].get("muster.kind") == "replica" and (not running or c["State"] == "running")]

    def one(self, project, service):
        """The only running container of a service, as `inspect` shows it."""
        found = self.ours(project, service)
        check(len(found) == 1, f"{len(found)} containers of {project}/{service} run")
        return self.host.engine.inspect(found[0]["Id"])

    def inside(self, project, service, *argv, check_code=True):
        """Runs a program in the container of a service: its output, or (code, output)."""
        name = self.one(project, service)["Id"]
        code, said = self.host.run("docker", "exec", name, *argv, check=False)
        if not check_code:
            return code, said
        check(code == 0, f"{' '.join(argv)} in {project}/{service} ended with {code}: {said}")
        return said

    def poll(self, port, path="/", **options):
        return Poller(self.world, self.lab.wire.path, self.host.ip, port, path, **options)

    def page(self, port, path="/", seconds=3):
        """What a client on the wire gets: text, or None."""
        done = self.host.lab.client("curl", "-s", "--max-time", seconds, f"http://{self.host.ip}:{port}{path}")
        ended = subprocess.run(done, capture_output=True, text=True)
        return ended.stdout.strip() if ended.returncode == 0 else None

    def shop(self, **options):
        """Deploys the shop and waits until all of it is well."""
        said = self.plane.deployed("shop", projects.shop(**options), projects.SHOP_FILES)
        wait_for("the shop's page", lambda: self.page(projects.WEB_PORT), 30)
        return said

    def starts(self, project):
        """{container: when it was started} of all that runs: equal twice when nothing was stopped in between."""
        return {c["Id"]: self.host.engine.inspect(c["Id"])["State"]["StartedAt"] for c in self.ours(project)}
