"""A control group for each host, so that it can be frozen as a whole, its containers included, and so that its systemd and
its engine find a tree to themselves. Version 1 (one tree for each controller) or version 2, whichever is mounted.
"""

import os
import pathlib
import time

ROOT = pathlib.Path("/sys/fs/cgroup")
UNIFIED = (ROOT / "cgroup.controllers").exists()


def trees():
    if UNIFIED:
        return [ROOT]
    return [path for path in ROOT.iterdir() if (path / "cgroup.procs").exists() and not path.is_symlink()]


class Group:
    """The group `name`, such as `muster-lab/h1`; all of the host goes below it."""

    def __init__(self, name):
        self.name = name
        self.folders = [root / name for root in trees()]

    def members(self, booted):
        """The files that a process is written into to join, before and after the host's systemd has divided the group: in
        version 2 only a leaf may have members."""
        return [(folder / "guests" if UNIFIED and booted else folder) / "cgroup.procs" for folder in self.folders]

    def make(self):
        for folder in self.folders:
            folder.mkdir(parents=True, exist_ok=True)
            for level in (folder.parent, folder):
                self._inherit(level)
        for member in self.members(booted=True):
            member.parent.mkdir(exist_ok=True)

    @staticmethod
    def _inherit(level):
        """What a new group does not have by itself: processors and memory in version 1, controllers in version 2."""
        for name in ("cpuset.cpus", "cpuset.mems"):
            if not UNIFIED and (level / name).exists():
                (level / name).write_text((level.parent / name).read_text())
        if UNIFIED:
            for controller in (level.parent / "cgroup.controllers").read_text().split():
                try:
                    (level.parent / "cgroup.subtree_control").write_text(f"+{controller}")
                except OSError:
                    pass  # not to be had here

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
    for root in trees():
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
