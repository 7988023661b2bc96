"""Runs every function test_… of the files test_*.py, and says `N passed, N failed` at the end. Start it by ../run, or by
tests/lab/run for those of another folder.

Each takes a World, and its name is the sentence that it proves. Several run at once: they mostly wait for each other's
processes, and the machine of CI has two cores. A function with `variants` is run once for each of them.
"""

import argparse
import concurrent.futures
import importlib
import pathlib
import signal
import sys
import time
import traceback

import world
from world import HERE, World


def options():
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--from", dest="folder", type=pathlib.Path, default=HERE)
    parser.add_argument("--workers", type=int, default=6)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("words", nargs="*")
    return parser.parse_args()


def able(module):
    """A module can have a function `unready`, which says what its tests lack, or None."""
    reason = getattr(module, "unready", lambda: None)()
    if reason:
        print(f"left out {module.__name__}: {reason}", file=sys.stderr)
    return not reason


def load(folder):
    if folder != HERE:
        sys.path.insert(0, str(folder))
    modules = [module for path in sorted(folder.glob("test_*.py")) if able(module := importlib.import_module(path.stem))]
    found = [f for module in modules for name, f in vars(module).items() if name.startswith("test_")]
    tests = [variant for f in found for variant in getattr(f, "variants", [f])]
    return sorted(tests, key=lambda f: not getattr(f, "long", False))


def run(function):
    if world.stopping.is_set():
        return function.__name__, 0.0, "  not started"
    begun = time.monotonic()
    problem = None
    with World(function.__name__) as ground:
        try:
            function(ground)
        except world.Failed as failed:
            where = traceback.extract_tb(failed.__traceback__)
            lines = [f"{frame.filename.rpartition('/')[2]}:{frame.lineno}" for frame in where[1:]]
            problem = f"  {failed}\n  at {' < '.join(reversed(lines))}\n{ground.tails()}"
        except Exception:  # a fault of the test itself, or of the machine: all of it
            problem = traceback.format_exc() + ground.tails()
    return function.__name__, time.monotonic() - begun, problem


def main():
    asked = options()
    cases, words = load(asked.folder), asked.words
    chosen = [f for f in cases if not words or any(word in f.__name__ for word in words)]
    if asked.list:
        print("\n".join(f.__name__ for f in chosen))
        return 0
    if not chosen:
        print(f"no test holds {' or '.join(words)} in its name", file=sys.stderr)
        return 64
    for number in (signal.SIGTERM, signal.SIGINT):  # let each test end its own children
        signal.signal(number, lambda *_: world.stopping.set())
    failed = 0
    begun = time.monotonic()
    try:
        with concurrent.futures.ThreadPoolExecutor(asked.workers) as pool:
            for done in concurrent.futures.as_completed([pool.submit(run, f) for f in chosen]):
                name, seconds, problem = done.result()
                failed += problem is not None
                print(f"{'FAIL' if problem else 'ok  '} {seconds:6.1f} s  {name}", flush=True)
                if problem:
                    print(problem, flush=True)
    finally:
        world.end_shared()
    print(f"{(HERE.parent if asked.folder == HERE else asked.folder).name}: {time.monotonic() - begun:.0f} s")
    print(f"{len(chosen) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
