"""Labs: hosts that share one wire, from the first cable to the last trace."""

import os
import pathlib
import shutil
import signal

import engine
import images
from groups import remove
from machines import Broken, Host, born, is_init, mark_of, until
from wire import Wire, run


class Lab:
    """Hosts that share one wire. Several labs live side by side under different names."""

    def __init__(self, name="lab"):
        if not name.replace("-", "").isalnum() or len(name) > 30:
            raise Broken(f"{name!r} is no name for a lab")
        self.name = name
        self.folder = pathlib.Path(os.environ.get("LAB_ROOT", "/tmp"), f"muster-{name}")
        self.wire = Wire(name)
        self.known = {}

    def host(self, number):
        return self.known.setdefault(number, Host(self, number))

    def hosts(self):
        numbers = [int(p.name[1:]) for p in self.folder.glob("h*") if p.name[1:].isdigit()] if self.folder.is_dir() else []
        return [self.host(number) for number in sorted(numbers)]

    def up(self, count, version="20", owner=None):
        """Boots hosts 1 to `count`, all at once; those that run stay as they are. `owner` is a pid: when it is gone,
        `sweep` ends the lab."""
        if os.getuid() != 0:
            raise Broken("a lab needs root")
        if not 1 <= count <= 30:
            raise Broken("a lab has 1 to 30 hosts")
        if self.folder.exists() and not (self.folder / ".lab").exists():
            raise Broken(f"{self.folder} is not a lab's")
        engine.program(version)
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / ".lab").write_text(f"{owner} {born(owner)}" if owner else "")
        self.wire.make()
        new = [host for host in map(self.host, range(1, count + 1)) if not host.pid]
        for host in new:
            host.folder.mkdir(exist_ok=True)
            if not (host.folder / "engine").exists():
                host.use_engine(version)
            host.power_on()
        for host in new:
            host.cable()
        for host in map(self.host, range(1, count + 1)):
            host.wait()

    def load(self, archive=None, hosts=None):
        """Puts the test images (or those of this archive) into the engines."""
        data = archive or images.archive()
        for host in hosts or [host for host in self.hosts() if host.pid]:
            host.engine.load(data)

    def client(self, *argv):
        """The command line that runs `argv` on the wire but on no host."""
        return ["nsenter", f"--net={self.wire.path}", "--", *map(str, argv)]

    def down(self):
        """Ends everything and removes every trace, also of a lab whose folder or whose starter is gone."""
        for host in self.hosts():
            host.kill()
        for pid in filter(str.isdigit, os.listdir("/proc")):
            if (mark_of(pid) or "").startswith(self.name + "/") and is_init(pid):
                os.kill(int(pid), signal.SIGKILL)
                until(f"process {pid} to end", lambda: born(pid) is None)
        self.wire.remove()
        remove(f"muster-{self.name}")
        if (self.folder / ".lab").exists():
            for host in self.hosts():
                for part in ("disk", "data"):
                    run("umount", "--lazy", str(host.folder / part), check=False)
            shutil.rmtree(self.folder, ignore_errors=True)


def sweep():
    """Ends the labs whose owner is gone; returns their names."""
    gone = []
    for mark in pathlib.Path(os.environ.get("LAB_ROOT", "/tmp")).glob("muster-*/.lab"):
        owner, _, start = mark.read_text().partition(" ")
        if owner and born(owner) != start:
            gone.append(mark.parent.name.removeprefix("muster-"))
            Lab(gone[-1]).down()
    return gone
