"""The hosts of a lab (labs.py): each in namespaces of its own with its own engine.

A host keeps what it writes below /etc, /var/lib and /usr/local over a reboot, in a tmpfs; the rest of the file system is
the machine's, shared. What a host is, and what it is not, stands in README.md.
"""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import time
import uuid

import engine
from groups import Group, remove
from wire import NET, run

HERE = pathlib.Path(__file__).resolve().parent
NAMESPACES = ("-n", "-m", "-p", "-u", "-i")
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
        return pid if born(pid) and mark_of(pid) == self.mark else None

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
        """Where a file that the host wrote below /etc, /var/lib or /usr/local, or has in /run, lies for us."""
        for base in ("/etc", "/var/lib", "/usr/local"):
            if inner == "/var/lib/5050" or inner.startswith("/var/lib/5050/"):
                return self.folder / ("data" + inner[len("/var/lib/5050"):])
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
        """What `engine`, `boot` (boot.d), a service or `init` printed, all boots together."""
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
        for path in ("etc", "var/lib", "usr/local"):
            for part in ("upper", "work"):
                (self.folder / "disk" / path / part).mkdir(parents=True, exist_ok=True)
        for folder in (self.folder / "disk" / "docker", self.folder / "log", self.path("/etc/docker"), self.path("/etc/lab/boot.d"), self.path("/etc/lab/services.d")):
            folder.mkdir(parents=True, exist_ok=True)
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
        config = {"cgroup-parent": "/" + self.group.name, "exec-opts": ["native.cgroupdriver=cgroupfs"]}
        config.update({key.replace("_", "-"): value for key, value in settings.items()})
        self.path("/etc/docker/daemon.json").write_text(json.dumps(config, indent=1) + "\n")

    def use_engine(self, version):
        """Which engine it has from its next boot on: 20, 28 or none."""
        engine.program(version)
        (self.folder / "engine").write_text(version)

    def power_on(self):
        """Starts process 1. The caller goes on with `cable` and `wait`."""
        self.prepare()
        self._sweep()
        (self.folder / "run").mkdir(parents=True)
        self.group.make()
        join = "; ".join(f"echo $$ >{member}" for member in self.group.members)
        version = (self.folder / "engine").read_text()
        env = {
            "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8", "HOME": "/root",
            "LAB_HOST": self.mark, "HOST_DIR": str(self.folder), "HOST_NAME": self.name, "HOST_ENGINE": engine.program(version),
        }
        with open(self.folder / "log" / "init", "ab") as log:
            self.parent = subprocess.Popen(
                ["sh", "-c", f'{join}; exec "$@"', "sh", "unshare", *NAMESPACES, "--fork", "/bin/bash", str(HERE / "init")],
                cwd="/", env=env, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
            )

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
            return (self.folder / "engine").read_text() == "none" or self.engine.answers()

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
        join = "; ".join(f"echo $$ >{member}" for member in self.group.members)
        settings = [f"{key}={value}" for key, value in (env or {}).items()]
        return [
            "sh", "-c", f'{join}; exec "$@"', "sh", "nsenter", "-t", str(self.need()), *NAMESPACES, "--wd=/", "--",
            "setpriv", "--pdeathsig", "KILL", "env", f"LAB_HOST={self.mark}", f"HOST_DIR={self.folder}",
            "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", *settings, *map(str, argv),
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

    def service(self, name, script):
        """A program that is kept running, like a unit with Restart=always: from now on, and after each boot."""
        self.hook("services.d", name, script)
        if self.pid:
            self.run("/bin/bash", HERE / "init", "keep", f"/etc/lab/services.d/{name}")

    def hook(self, folder, name, script):
        """A script for /etc/lab/boot.d (runs at boot, before the engine) or services.d."""
        # Through the host when it is on: an overlay need not see what is put below it.
        if self.pid:
            self.run("sh", "-c", f"mkdir -p /etc/lab/{folder}; cat >/etc/lab/{folder}/{name}; chmod +x /etc/lab/{folder}/{name}", text=script)
        else:
            file = self.path(f"/etc/lab/{folder}/{name}")
            file.write_text(script)
            file.chmod(0o755)

    def service_pid(self, name):
        """Its number on the host, None while it does not run."""
        try:
            return int((self.folder / f"run/lab/{name}.pid").read_text())
        except (OSError, ValueError):
            return None

    def kill_service(self, name, number=signal.SIGKILL, hold=False):
        """Signals it; it is started again a second after its end, unless it is held."""
        if hold:
            (self.folder / f"run/lab/{name}.held").touch()
        if pid := self.service_pid(name):
            self.run("sh", "-c", f"kill -{int(number)} {pid}", check=False)

    def release_service(self, name):
        (self.folder / f"run/lab/{name}.held").unlink(missing_ok=True)

    # ---- faults ----

    def freeze(self):
        """The kernel still answers pings and accepts connections; no program does."""
        self.need()
        self.group.freeze()

    def thaw(self):
        self.group.freeze(False)

    def kill_engine(self):
        """kill -9 of dockerd, which takes its containerd along; containers go on."""
        self.run("sh", "-c", "kill -9 $(cat /run/docker.pid)")

    def start_engine(self):
        self.run("/bin/bash", HERE / "init", "engine", env={"HOST_ENGINE": engine.program((self.folder / "engine").read_text())})
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
