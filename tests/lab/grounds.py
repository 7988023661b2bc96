"""What a test on hosts stands on: a lab of its own that is gone afterwards, and the engines that it is run with."""

import functools
import itertools
import os

from machines import Lab

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
