"""The hosts of a lab (labs.py): each in namespaces of its own with its own systemd and its own engine.

A host keeps what it writes below /etc, /var and /usr/local over a reboot, in a tmpfs; the rest of the file system is the
machine's, shared. What a host is, and what it is not, stands in README.md.
"""

import json
import os
import pathlib
import shutil
import signal
import stat
import subprocess
import time
import uuid

import engine
from groups import Group, remove
from wire import NET, run

HERE = pathlib.Path(__file__).resolve().parent
NAMESPACES = ("-n", "-m", "-p", "-u", "-i", "-C")
OWN = ("/etc", "/var", "/usr/local")
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

# Docker's own unit, without the socket. It is not started again by itself, so that tests say how long it is gone.
ENGINE = """[Unit]
Description=Docker
After=network-online.target
Wants=network-online.target

[Service]
Type=notify
ExecStart={program} --userland-proxy-path {proxy}
KillMode=process
Delegate=yes
StandardOutput=append:{log}
StandardError=append:{log}

[Install]
WantedBy=multi-user.target
"""
BOOTED = """[Unit]
After=docker.service

[Service]
Type=oneshot
ExecStart=/usr/bin/touch /run/lab/booted

[Install]
WantedBy=multi-user.target
"""

# What all of a host's disk can hold, and the part at /var/lib/5050.
DISK, DATA = "2g", "64m"


class Broken(Exception):
    """The lab did not do what it was asked for."""


def until(what, probe, seconds=20.0):
    deadline = time.monotonic() + seconds
    while not (value := probe()):
        if time.monotonic() > deadline:
            raise Broken(f"after {seconds:.0f} s still waiting for: {what}")
        time.sleep(0.005)
    return value


def born(pid):
    """With the pid it names one process for ever; None when there is none, or a zombie."""
    try:
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] in "ZX" else fields[19]


def mark_of(pid):
    """The LAB_HOST of a process's environment."""
    try:
        values = pathlib.Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return None
    return next((v[9:].decode() for v in values if v.startswith(b"LAB_HOST=")), None)


def is_init(pid):
    """Whether it is process 1 of a pid namespace below ours."""
    try:
        lines = pathlib.Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return False
    numbers = next((line.split()[1:] for line in lines if line.startswith("NSpid:")), [])
    return len(numbers) > 1 and numbers[-1] == "1"


class Host:
    """One host; `number` counts from 1. Its files are there before it is booted and after it was killed."""

    def __init__(self, lab, number):
        self.lab, self.number = lab, number
        self.name = f"h{number}"
        self.ip = f"{NET}.{number}"
        self.folder = lab.folder / self.name
        self.mark = f"{lab.name}/{number}"
        self.group = Group(f"muster-{lab.name}/{self.name}")
        self.parent = None

    # ---- what it is ----

    @property
    def pid(self):
        """Process 1, as the machine numbers it; None when the host is off."""
        try:
            pid = int((self.folder / "pid").read_text())
        except (OSError, ValueError):
            return None
        for _ in range(20):  # there is no environment to read while a process becomes another program
            mark = mark_of(pid)
            if mark or not born(pid):
                break
            time.sleep(0.01)
        return pid if mark == self.mark else None

    @property
    def netns(self):
        return f"/proc/{self.need()}/ns/net"

    @property
    def socket(self):
        return self.folder / "run" / "docker.sock"

    @property
    def engine(self):
        return engine.Engine(self.socket)

    def path(self, inner):
        """Where a file that the host wrote below /etc, /var or /usr/local, or has in /run, lies for us."""
        if inner == "/var/lib/5050" or inner.startswith("/var/lib/5050/"):
            return self.folder / ("data" + inner[len("/var/lib/5050"):])
        for base in OWN:
            if inner.startswith(base + "/"):
                return self.folder / ("disk" + base) / ("upper" + inner[len(base):])
        if inner.startswith("/run/"):
            return self.folder / inner[1:]
        raise ValueError(f"{inner} is not of the host alone")

    def need(self):
        return self.pid or self._off()

    def _off(self):
        raise Broken(f"host {self.name} is off")

    def log(self, name):
        """What `init` or `engine` printed, all boots together, or a unit since this boot."""
        if name not in ("init", "engine"):
            return self.run("journalctl", "--unit", name, "--output", "cat", "--no-pager")[1]
        file = self.folder / "log" / name
        return file.read_text(errors="replace") if file.exists() else ""

    # ---- boot and power ----

    def prepare(self):
        """Disk and files of a machine that was never booted; nothing for one that was."""
        for part, size in (("disk", DISK), ("data", DATA)):
            folder = self.folder / part
            folder.mkdir(parents=True, exist_ok=True)
            if not os.path.ismount(folder):
                run("mount", "-t", "tmpfs", "-o", f"size={size},mode=755", f"muster-{part}", str(folder))
        for path in OWN:
            for part in ("upper", "work"):
                (self.folder / f"disk{path}" / part).mkdir(parents=True, exist_ok=True)
        for folder in (self.folder / "disk" / "docker", self.folder / "log"):
            folder.mkdir(exist_ok=True)
        if not self.path("/etc/docker").exists():
            # Nothing of the machine's own engine, its key among it, or of what is enabled there.
            for folder in ("/etc/docker", "/etc/systemd/system"):
                self.path(folder).mkdir(parents=True)
                os.setxattr(self.path(folder), "trusted.overlay.opaque", b"y")
            # A machine that is a host itself: its identity and its agent are taken away.
            for path in filter(os.path.exists, ("/etc/5050", "/usr/local/bin/muster")):
                self.path(path).parent.mkdir(parents=True, exist_ok=True)
                os.mknod(self.path(path), stat.S_IFCHR, os.makedev(0, 0))
            self.write_unit("booted", BOOTED)
        if not self.path("/etc/machine-id").exists():
            neighbours = "".join(f"{NET}.{n} h{n}\n" for n in range(1, 31))
            self.path("/etc/machine-id").write_text(uuid.uuid4().hex + "\n")
            self.path("/etc/hostname").write_text(self.name + "\n")
            self.path("/etc/hosts").write_text(f"127.0.0.1 localhost {self.name}\n::1 localhost\n{NET}.254 control-plane\n{neighbours}")
            # Nothing listens there unless a test puts a resolver there; the answer is a refusal at once.
            self.path("/etc/resolv.conf").write_text(f"nameserver {NET}.254\n")
            self.configure_engine(live_restore=True)

    def configure_engine(self, **settings):
        """Writes daemon.json; in force after the engine's next start."""
        config = {"exec-opts": ["native.cgroupdriver=cgroupfs"]}
        config.update({key.replace("_", "-"): value for key, value in settings.items()})
        self.path("/etc/docker/daemon.json").write_text(json.dumps(config, indent=1) + "\n")

    def use_engine(self, version):
        """Which engine it has from its next boot or start on: 20, 28 or none."""
        program = engine.program(version)
        (self.folder / "engine").write_text(version)
        if self.pid:
            self.write_unit("docker", self._docker(program) if program else None)
            self.run("systemctl", "daemon-reload")

    def _docker(self, program):
        return ENGINE.format(program=program, proxy=pathlib.Path(program).with_name("docker-proxy"), log=self.folder / "log/engine")

    @property
    def version(self):
        return (self.folder / "engine").read_text()

    def power_on(self):
        """Starts process 1. The caller goes on with `cable` and `wait`."""
        self.prepare()
        self._sweep()
        program = engine.program(self.version)
        self.write_unit("docker", self._docker(program) if program else None)
        (self.folder / "run").mkdir(parents=True)
        self.group.make()
        env = {"PATH": PATH, "LAB_HOST": self.mark, "HOST_DIR": str(self.folder), "HOST_NAME": self.name}
        with open(self.folder / "log" / "init", "ab") as log:
            self.parent = subprocess.Popen(
                ["sh", "-c", self._joining(booted=False), "sh", "unshare", *NAMESPACES, "--fork", "/bin/bash", str(HERE / "init")],
                cwd="/", env=env, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
            )

    def _joining(self, booted):
        """A script that joins the group and becomes its arguments."""
        return "; ".join(f"echo $$ >{member}" for member in self.group.members(booted)) + '; exec "$@"'

    def cable(self):
        def failed():
            if self.parent.poll() is not None:
                raise Broken(f"{self.name} did not boot: {self.log('init')[-500:]}")

        until(f"the mounts of {self.name}", lambda: failed() or (self.folder / "run/lab/mounted").exists())
        children = pathlib.Path(f"/proc/{self.parent.pid}/task/{self.parent.pid}/children").read_text().split()
        (self.folder / "pid").write_text(children[0])
        self.lab.wire.plug_in(self.number, self.need())
        (self.folder / "run/lab/cabled").touch()

    def wait(self, seconds=30.0):
        """Until it has booted and its engine answers."""
        def ready():
            self.need()
            if not (self.folder / "run/lab/booted").exists():
                return False
            return self.version == "none" or self.engine.answers()

        try:
            until(f"{self.name} to be up", ready, seconds)
        except Broken as late:
            raise Broken(f"{late}\n{self.log('init')[-500:]}{self.log('engine')[-1500:]}") from None

    def boot(self):
        if not self.pid:
            self.power_on()
            self.cable()
        self.wait()

    def kill(self):
        """A power cut: silence on the wire first, since dying processes would still say goodbye; then the kernel ends
        all that is in the pid namespace."""
        pid = self.pid
        if self.lab.wire.exists():
            self.lab.wire.unplug(self.number)
        if pid:
            os.kill(pid, signal.SIGKILL)
            self.group.freeze(False)  # after the signal, so that a frozen host wakes up dead
            until(f"{self.name} to be off", lambda: born(pid) is None)
        if self.parent:
            self.parent.wait()
            self.parent = None
        self._sweep()

    def reboot(self):
        self.kill()
        self.boot()

    def _sweep(self):
        """What a power cycle leaves behind outside of the host."""
        if self.lab.wire.exists():
            self.lab.wire.unplug(self.number, for_good=True)
        remove(self.group.name)
        shutil.rmtree(self.folder / "run", ignore_errors=True)
        (self.folder / "pid").unlink(missing_ok=True)

    # ---- programs on it ----

    def command(self, *argv, env=None):
        """The command line that runs `argv` on this host, from outside. When it is killed, so is what it runs."""
        if self.group.frozen():  # whoever joins would freeze too, deaf to every signal
            raise Broken(f"{self.name} is frozen")
        settings = [f"{key}={value}" for key, value in (env or {}).items()]
        return [
            "sh", "-c", self._joining(booted=True), "sh", "nsenter", "-t", str(self.need()), *NAMESPACES, "--wd=/", "--",
            "setpriv", "--pdeathsig", "KILL", "env", f"LAB_HOST={self.mark}", f"PATH={PATH}", *settings, *map(str, argv),
        ]

    def run(self, *argv, text=None, check=True, seconds=60, env=None):
        """Runs it to its end: (exit code, output of both kinds)."""
        done = subprocess.run(
            self.command(*argv, env=env), input=text, text=True, errors="replace", timeout=seconds,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **({} if text is not None else {"stdin": subprocess.DEVNULL}),
        )
        if check and done.returncode != 0:
            raise Broken(f"{self.name}: {' '.join(map(str, argv))} ended with {done.returncode}: {done.stdout.strip()[-1500:]}")
        return done.returncode, done.stdout

    # ---- units ----

    def write_unit(self, name, text):
        """A unit of a host that is off, enabled for multi-user.target; None removes it."""
        file = self.path(f"/etc/systemd/system/{name}.service")
        link = file.parent / "multi-user.target.wants" / file.name
        if text is None:
            link.unlink(missing_ok=True)
            file.unlink(missing_ok=True)
            return
        file.write_text(text)
        link.parent.mkdir(exist_ok=True)
        if not link.is_symlink():
            link.symlink_to(f"../{file.name}")

    def unit(self, name, text):
        """Writes a unit, and enables and starts it."""
        self.run("sh", "-c", f"cat >/etc/systemd/system/{name}.service && systemctl daemon-reload && systemctl enable --quiet --now {name}", text=text)

    def unit_pid(self, name):
        """The number of its main process on the host; None while there is none."""
        code, said = self.run("systemctl", "show", "--property", "MainPID", "--value", name, check=False)
        return int(said) if code == 0 and said.strip() not in ("", "0") else None

    def kill_unit(self, name, stay=False):
        """kill -9 of its main process; systemd starts it again if it is told so, unless it shall stay dead. When this is
        over systemd knows: a start before that would find it running, and do nothing."""
        pid = self.unit_pid(name)
        self.run("systemctl", "kill", "--kill-whom=main", "--signal=KILL", name, check=False)
        if pid:
            until(f"{name} to be gone", lambda: self.unit_pid(name) != pid)
        if stay:
            self.run("systemctl", "stop", name)

    def start_unit(self, name):
        self.run("systemctl", "start", name)

    # ---- faults ----

    def freeze(self):
        """The kernel still answers pings and accepts connections; no program does."""
        self.need()
        self.group.freeze()

    def thaw(self):
        self.group.freeze(False)

    def kill_engine(self):
        """kill -9 of dockerd, which takes its containerd along; containers go on."""
        self.kill_unit("docker")

    def start_engine(self):
        self.run("systemctl", "reset-failed", "docker", check=False)
        self.start_unit("docker")
        self.wait()

    def hide_engine(self):
        """The socket is gone; connections that are open stay."""
        self.socket.rename(self.socket.with_name("docker.sock.hidden"))

    def show_engine(self):
        self.socket.with_name("docker.sock.hidden").rename(self.socket)

    def fill(self, part="data"):
        """No more room on `data` (/var/lib/5050) or `disk` (all else that it keeps, the engine's files too)."""
        folder = self.folder / part
        room = os.statvfs(folder)
        if room.f_bfree == room.f_blocks:  # the least size is a page
            (folder / "lost+found").write_bytes(b"x")
            room = os.statvfs(folder)
        run("mount", "-o", f"remount,size={(room.f_blocks - room.f_bfree) * room.f_frsize}", str(folder))

    def empty(self, part="data"):
        run("mount", "-o", f"remount,size={DATA if part == 'data' else DISK}", str(self.folder / part))
