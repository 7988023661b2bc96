"""A control group for each host, so that it can be frozen as a whole, its containers included. Version 1 (one tree for
each controller) or version 2, whichever is mounted."""

import os
import pathlib
import time

ROOT = pathlib.Path("/sys/fs/cgroup")
UNIFIED = (ROOT / "cgroup.controllers").exists()
# What a host's own processes join in version 1. Its engine makes the group of its containers in every tree.
TREES = ("freezer", "memory", "pids")


class Group:
    """The group `name`, such as `muster-lab/h1`; containers go below it."""

    def __init__(self, name):
        self.name = name
        roots = [ROOT] if UNIFIED else [ROOT / tree for tree in TREES if (ROOT / tree).is_dir()]
        self.folders = [root / name for root in roots]

    @property
    def members(self):
        """The files that a process is written into to join. In version 2 only a leaf may have members."""
        return [(folder / "system" if UNIFIED else folder) / "cgroup.procs" for folder in self.folders]

    def make(self):
        for member in self.members:
            member.parent.mkdir(parents=True, exist_ok=True)

    def join(self, pid):
        for member in self.members:
            member.write_text(str(pid))

    def _state(self):
        if UNIFIED:
            return self.folders[0] / "cgroup.freeze", "1", "0"
        return ROOT / "freezer" / self.name / "freezer.state", "FROZEN", "THAWED"

    def frozen(self):
        file, _, thawed = self._state()
        return file.exists() and file.read_text().strip() != thawed

    def freeze(self, yes=True):
        file, frozen, thawed = self._state()
        if not file.exists():
            return
        want = frozen if yes else thawed
        file.write_text(want)
        deadline = time.monotonic() + 5
        while file.read_text().strip() != want:
            if time.monotonic() > deadline:
                raise RuntimeError(f"{self.name} does not become {want}")
            time.sleep(0.005)


def remove(name):
    """Removes the group and all below it, in every tree, once the last process in it is gone."""
    for root in [ROOT] if UNIFIED else [path for path in ROOT.iterdir() if path.is_dir()]:
        deadline = time.monotonic() + 2
        while (root / name).is_dir():
            for folder, _, _ in os.walk(root / name, topdown=False):
                try:
                    os.rmdir(folder)
                except OSError:
                    pass
            if time.monotonic() > deadline:
                break
            if (root / name).is_dir():
                time.sleep(0.02)
