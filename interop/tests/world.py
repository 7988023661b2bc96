"""The test runner's ground: cases, waiting for states, and child processes that are gone when a test is over.

Every process is started in a group of its own and ended by its pid; what it started in turn is found by parentage, since
the upstream supervisor leaves its Collector behind when it dies. Knows nothing of OpAMP.
"""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
INTEROP = HERE.parent
ROOT = INTEROP.parent
CACHE = INTEROP / ".cache"
BIN = CACHE / "bin"

stopping = threading.Event()  # set when the run is being ended early: every wait gives up


def starts_first(function):
    """Marks a test that takes long, so that the others run beside it and not before it."""
    function.long = True
    return function


class Failed(AssertionError):
    """A state did not come, or a process died that should live."""


def check(condition, text):
    if not condition:
        raise Failed(text)


def equal(got, want, what):
    check(got == want, f"{what}: got {got!r}, want {want!r}")


def wait_for(what, probe, seconds=60.0, pause=0.05):
    """Calls `probe` until it returns something true, and returns that. A Failed within it only means: not yet."""
    deadline = time.monotonic() + seconds
    last = None
    while True:
        try:
            if value := probe():
                return value
        except Failed as not_yet:
            last = not_yet
        if stopping.is_set():
            raise Failed(f"ended while waiting for: {what}")
        if time.monotonic() > deadline:
            raise Failed(f"after {seconds:.0f} s still waiting for: {what}" + (f" ({last})" if last else ""))
        time.sleep(pause)


def stays(what, probe, seconds):
    """Fails unless `probe` holds the whole time: for what must not happen."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and not stopping.is_set():
        check(probe(), f"no longer: {what}")
        time.sleep(0.05)


def parents():
    """pid -> parent's pid of every process on the machine."""
    table = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                stat = pathlib.Path(f"/proc/{entry}/stat").read_text()
            except OSError:
                continue
            table[int(entry)] = int(stat.rpartition(")")[2].split()[1])
    return table


def identity(pid):
    """Start time of a process: with the pid it names one process for ever. None when it is gone or a zombie."""
    try:
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] == "Z" else fields[19]


def descendants(pid):
    table, found, level = parents(), [], {pid}
    while level:
        level = {child for child, parent in table.items() if parent in level}
        found.extend(level)
    return {child: identity(child) for child in found}


class Child:
    """A process whose lines are read as they come; a line that is a JSON object is an event too."""

    def __init__(self, name, command, cwd=None, env=None, stop=signal.SIGTERM):
        self.name, self.stop_signal = name, stop
        self.lines, self.events = [], []
        self.process = subprocess.Popen(
            [str(part) for part in command], cwd=cwd, env={**os.environ, **(env or {})}, start_new_session=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace",
        )
        self.kin = {}
        self.readers = [
            threading.Thread(target=self._read, args=(pipe,), daemon=True)
            for pipe in (self.process.stdout, self.process.stderr)
        ]
        for reader in self.readers:
            reader.start()

    def _read(self, pipe):
        for line in pipe:
            line = line.rstrip("\n")
            self.lines.append(line)
            if line.startswith("{"):
                try:
                    self.events.append(json.loads(line))
                except ValueError:
                    pass

    @property
    def pid(self):
        return self.process.pid

    def alive(self):
        return self.process.poll() is None

    def tell(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def of(self, event):
        return [e for e in list(self.events) if e.get("event") == event]

    def event(self, event, seconds=60.0, where=lambda e: True):
        """Waits for the first event of this name that fits."""
        def probe():
            for e in self.of(event):
                if where(e):
                    return e
            check(self.alive(), f"{self.name} ended with code {self.process.returncode}")
        return wait_for(f"event {event} of {self.name}", probe, seconds)

    def line(self, text, seconds=60.0):
        """Waits for the first line that holds this text."""
        return wait_for(f"{text!r} from {self.name}", lambda: next((x for x in list(self.lines) if text in x), None), seconds)

    def signal(self, number):
        if self.alive():
            self.process.send_signal(number)

    def stop(self, seconds=10.0):
        """Ends it in order; returns the exit code. What is left after `seconds` is killed."""
        self.kin.update(descendants(self.pid))
        self.signal(self.stop_signal)
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.kill()
        self._end_kin()
        return self.process.returncode

    def kill(self):
        self.kin.update(descendants(self.pid))
        self.signal(signal.SIGKILL)
        self.process.wait()
        self._end_kin()

    def _end_kin(self):
        for pid, born in self.kin.items():
            if born is not None and identity(pid) == born:
                os.kill(pid, signal.SIGKILL)
        for reader in self.readers:
            reader.join(2)
        self.process.stdin.close()

    def tail(self, count=25):
        return "\n".join(f"    {self.name}| {line[:400]}" for line in self.lines[-count:])


class World:
    """What one test (or all of them together) has started; leaving it ends everything."""

    def __init__(self, name):
        self.name = name
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="muster-interop-"))
        self.children, self.closers = [], []
        self.lock = threading.Lock()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def start(self, name, command, **options):
        child = Child(name, command, **options)
        with self.lock:
            self.children.append(child)
        return child

    def later(self, closer):
        self.closers.append(closer)

    def close(self):
        with self.lock:
            children, self.children = self.children, []
        for child in reversed(children):
            child.stop() if child.alive() else child._end_kin()
        for closer in reversed(self.closers):
            closer()
        shutil.rmtree(self.folder, ignore_errors=True)

    def tails(self):
        return "\n".join(child.tail() for child in self.children)


class Shared:
    """Something that several tests use: made by the first that asks, ended when all are through."""

    all = []

    def __init__(self, make):
        self.make, self.lock = make, threading.Lock()
        self.ground = self.value = self.problem = None
        Shared.all.append(self)

    def get(self):
        with self.lock:
            if self.problem:
                raise Failed(f"shared: {self.problem}")
            if self.value is None:
                self.ground = World("shared")
                try:
                    self.value = self.make(self.ground)
                except Exception as problem:
                    self.problem = f"{problem}\n{self.ground.tails()}"
                    raise Failed(self.problem) from problem
            return self.value


def end_shared():
    for shared in Shared.all:
        if shared.ground:
            shared.ground.close()
