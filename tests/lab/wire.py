"""The wire of a lab: one bridge in a namespace of its own, without a way out, and what can go wrong on it.

Host I has 198.18.0.I, which is of the range for benchmarks (RFC 2544) and routed nowhere; the bridge itself, where
clients and the control plane live, has 198.18.0.254 and is every host's gateway.
"""

import ctypes
import fcntl
import os
import pathlib
import subprocess
import threading

NET = "198.18.0"
CLIENT = f"{NET}.254"
# All of the lab, for the guard.
RANGE = "198.18.0.0/15"
NAMES = pathlib.Path("/run/netns")

RULES = """
table bridge lab {
  set gone { type ifname; }
  set mute { type ifname . ifname; }
  chain through {
    type filter hook forward priority 0; policy accept;
    iifname @gone drop
    oifname @gone drop
    iifname . oifname @mute drop
  }
  chain up { type filter hook input priority 0; policy accept; iifname @gone drop; }
  chain down { type filter hook output priority 0; policy accept; oifname @gone drop; }
}
"""


def run(*command, text=None, check=True):
    done = subprocess.run(command, input=text, text=True, capture_output=True)
    if check and done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr.strip() or done.returncode}")
    return done.stdout


def inside(namespace, function):
    """What `function` returns when a thread that has entered this network namespace runs it. A socket stays in the
    namespace that it was made in, so the caller can use one that is made here."""
    result = []

    def body():
        try:
            with open(namespace) as file:
                libc = ctypes.CDLL(None, use_errno=True)
                if libc.setns(file.fileno(), 0x40000000) != 0:  # CLONE_NEWNET
                    raise OSError(ctypes.get_errno(), f"cannot enter {namespace}")
            result.append((True, function()))
        except BaseException as problem:
            result.append((False, problem))

    thread = threading.Thread(target=body, daemon=True)
    thread.start()
    thread.join()
    good, value = result[0]
    if not good:
        raise value
    return value


class Guard:
    """Held while the routes of the machine itself are looked at: a program that forgets to enter the lab must get an
    error, and not send the lab's addresses out by the default route."""

    def __enter__(self):
        self.lock = open("/run/lock/muster-lab", "w")
        fcntl.flock(self.lock, fcntl.LOCK_EX)
        return self

    def __exit__(self, *_):
        self.lock.close()

    def raise_(self):
        run("ip", "route", "replace", "unreachable", RANGE)

    def lower(self):
        """Unless another lab is still there."""
        if not (NAMES.is_dir() and any(name.startswith("muster-") and name.endswith("-wire") for name in os.listdir(NAMES))):
            run("ip", "route", "del", "unreachable", RANGE, check=False)


class Wire:
    def __init__(self, lab):
        self.name = f"muster-{lab}-wire"
        self.path = NAMES / self.name

    def exists(self):
        return self.path.exists()

    def nft(self, text, check=True):
        return run("nsenter", f"--net={self.path}", "nft", "-f", "-", text=text, check=check)

    def ip(self, text, check=True):
        """`ip` commands, one a line."""
        return run("ip", "-netns", self.name, "-batch", "-", text=text, check=check)

    def make(self):
        with Guard() as guard:
            guard.raise_()
            if not self.exists():
                run("ip", "netns", "add", self.name)
        if "table bridge lab" in run("nsenter", f"--net={self.path}", "nft", "list", "tables"):
            return
        self.ip(f"""link set lo up
link add bridge type bridge forward_delay 0 mcast_snooping 0
addr add {CLIENT}/24 dev bridge
addr add fd50:50::fe/64 dev bridge nodad
link set bridge up
""")
        # What is not on the bridge does not exist, and rules of IP have no say on it.
        inside(self.path, lambda: self._settings({"ipv4/ip_forward": "0", "bridge/bridge-nf-call-iptables": "0"}))
        self.nft(RULES)

    @staticmethod
    def _settings(values):
        for name, value in values.items():
            path = pathlib.Path("/proc/sys/net", name)
            if path.exists():
                path.write_text(value)

    def remove(self):
        with Guard() as guard:
            if self.exists():
                run("ip", "netns", "del", self.name)
            guard.lower()

    # ---- cables and faults; a host is named by its number ----

    def plug_in(self, host, pid):
        self.ip(f"""link add v{host} type veth peer name eth0 address 02:50:50:00:00:{host:02x} netns {pid}
link set v{host} master bridge up
""")
        run("nsenter", "-t", str(pid), "-n", "ip", "-batch", "-", text=f"""addr add {NET}.{host}/24 dev eth0
addr add fd50:50::{host:x}/64 dev eth0 nodad
link set eth0 up
route add default via {CLIENT}
""")

    def unplug(self, host, for_good=False):
        self.ip(f"link del v{host}\n" if for_good else f"link set v{host} down\n", check=False)

    def plug(self, host):
        self.ip(f"link set v{host} up\n")

    def partition(self, host):
        """Drops all that this host sends or is sent. It is kept over a reboot of the host."""
        self.nft(f'add element bridge lab gone {{ "v{host}" }}')

    def cut(self, one, other, both=True):
        """What `one` sends to `other` is lost, and the other way round."""
        self.nft(f'add element bridge lab mute {{ "v{one}" . "v{other}" }}')
        if both:
            self.cut(other, one, both=False)

    def heal(self, host):
        """Ends every partition and cut of this host."""
        self.nft(f'delete element bridge lab gone {{ "v{host}" }}', check=False)
        listing = run("nsenter", f"--net={self.path}", "nft", "list", "set", "bridge", "lab", "mute")
        pairs = listing.partition("elements = {")[2].partition("}")[0].split(",")
        for pair in pairs:
            if f'"v{host}"' in pair:
                self.nft(f"delete element bridge lab mute {{ {pair} }}", check=False)
