//! Network namespaces as host, containers and neighbour. Sockets are made on threads that stand in the namespace; a
//! socket stays where it was made.

use std::fs::File;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

use nix::sched::{CloneFlags, setns};
use socket2::{Domain, Protocol, Socket, Type};

static WORLDS: AtomicU32 = AtomicU32::new(0);

/// How a connection went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It was accepted.
    Open,
    /// It was refused at once, by a rule.
    Refused,
    /// Nothing was heard.
    Silence,
}

/// A TCP segment without content.
pub(crate) struct Segment {
    pub(crate) from: SocketAddr,
    pub(crate) to: SocketAddr,
    pub(crate) flags: u8,
}

impl Segment {
    pub(crate) const FIN: u8 = 0x01;
    pub(crate) const SYN: u8 = 0x02;
    pub(crate) const PUSH: u8 = 0x08;
    pub(crate) const ACK: u8 = 0x10;

    fn bytes(&self) -> Vec<u8> {
        let mut header = Vec::from(self.from.port().to_be_bytes());
        header.extend(self.to.port().to_be_bytes());
        header.extend([0, 0, 0, 1, 0, 0, 0, 1, 5 << 4, self.flags, 0xFF, 0xFF, 0, 0, 0, 0]);
        let (IpAddr::V4(from), IpAddr::V4(to)) = (self.from.ip(), self.to.ip()) else {
            panic!("{} and {} are not both IPv4", self.from, self.to);
        };
        // The checksum counts addresses, protocol and length with the header.
        let counted = [&from.octets()[..], &to.octets(), &[0, 6, 0, 20], &header].concat();
        let sum: u32 = counted.chunks(2).map(|two| u32::from(u16::from_be_bytes([two[0], two[1]]))).sum();
        let folded = (sum & 0xFFFF) + (sum >> 16);
        let folded = u16::try_from((folded & 0xFFFF) + (folded >> 16)).unwrap();
        header[16..18].copy_from_slice(&(!folded).to_be_bytes());
        header
    }
}

/// One host with its surroundings; all of it goes when it is dropped.
pub(crate) struct World {
    prefix: String,
    /// What listens: kept open.
    _listeners: Vec<TcpListener>,
}

const PLACES: [&str; 6] = ["host", "c1", "c2", "d1", "x1", "world"];

/// Container, its bridge, its address.
const CONTAINERS: [(&str, u8, u8); 4] = [("c1", 1, 2), ("c2", 1, 3), ("d1", 2, 2), ("x1", 9, 2)];

impl World {
    /// A new world; none when the user is not root.
    pub(crate) fn new() -> Option<Self> {
        if !nix::unistd::geteuid().is_root() {
            eprintln!("skipped: network namespaces need root");
            return None;
        }
        let number = WORLDS.fetch_add(1, Ordering::Relaxed);
        let prefix = format!("mt{}-{number}", std::process::id());
        let mut world = Self { prefix, _listeners: Vec::new() };
        for place in PLACES {
            world.ip(&format!("netns add {}", world.name(place)));
            world.ip(&format!("-n {} link set lo up", world.name(place)));
        }
        world.wire_containers();
        world.wire_neighbour();
        world.sysctl("net.ipv4.ip_forward=1");
        world._listeners = world.listeners();
        Some(world)
    }

    fn name(&self, place: &str) -> String {
        format!("{}-{place}", self.prefix)
    }

    fn wire_containers(&self) {
        let host = self.name("host");
        for n in [1, 2, 9] {
            let bridge = format!("mst000000000{n}");
            self.ip(&format!("-n {host} link add {bridge} type bridge"));
            self.ip(&format!("-n {host} addr add 10.208.{n}.1/24 dev {bridge}"));
            self.ip(&format!("-n {host} link set {bridge} up"));
        }
        for (place, n, last) in CONTAINERS {
            let inner = self.name(place);
            self.ip(&format!("-n {host} link add v{place} type veth peer name eth0 netns {inner}"));
            self.ip(&format!("-n {host} link set v{place} master mst000000000{n} up"));
            self.ip(&format!("-n {inner} addr add 10.208.{n}.{last}/24 dev eth0"));
            self.ip(&format!("-n {inner} link set eth0 up"));
            self.ip(&format!("-n {inner} route add default via 10.208.{n}.1"));
        }
    }

    /// A neighbour that also has an address of the range, as another host's container would.
    fn wire_neighbour(&self) {
        let (host, inner) = (self.name("host"), self.name("world"));
        self.ip(&format!("-n {host} link add up0 type veth peer name eth0 netns {inner}"));
        self.ip(&format!("-n {host} addr add 192.0.2.1/24 dev up0"));
        self.ip(&format!("-n {host} link set up0 up"));
        self.ip(&format!("-n {inner} addr add 192.0.2.2/24 dev eth0"));
        self.ip(&format!("-n {inner} addr add 10.223.0.1/32 dev lo"));
        self.ip(&format!("-n {inner} link set eth0 up"));
        self.ip(&format!("-n {inner} route add 10.208.0.0/16 via 192.0.2.1"));
        self.ip(&format!("-n {host} route add 10.223.0.1/32 via 192.0.2.2"));
    }

    fn listeners(&self) -> Vec<TcpListener> {
        let places = [
            ("host", &[22, 53][..]),
            ("c1", &[80]),
            ("c2", &[80]),
            ("d1", &[80]),
            ("x1", &[80]),
            ("world", &[80]),
        ];
        let mut all = Vec::new();
        for (place, ports) in places {
            for port in ports {
                let address = SocketAddr::from((Ipv4Addr::UNSPECIFIED, *port));
                all.push(self.within(place, move || TcpListener::bind(address).unwrap()));
            }
        }
        all
    }

    fn ip(&self, words: &str) {
        let output = Command::new("ip").args(words.split(' ')).output().expect("iproute2 is installed");
        assert!(output.status.success(), "ip {words}: {}", String::from_utf8_lossy(&output.stderr));
    }

    fn sysctl(&self, setting: &str) {
        let (name, value) = setting.split_once('=').unwrap();
        let (path, value) = (format!("/proc/sys/{}", name.replace('.', "/")), value.to_owned());
        self.within("host", move || {
            // /proc/sys/net is that of the thread that opens it.
            std::fs::write(path, value).unwrap();
        });
    }

    /// Does something on a thread of its own in a place's namespace.
    pub(crate) fn within<T: Send + 'static>(
        &self,
        place: &str,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> T {
        let namespace = File::open(format!("/run/netns/{}", self.name(place))).unwrap();
        let there = thread::spawn(move || {
            setns(namespace, CloneFlags::CLONE_NEWNET).unwrap();
            work()
        });
        there.join().unwrap()
    }

    /// Tries to connect. The kernel answers refusals to one peer once a second after the first six, so a second and a
    /// third try (after 1 and 3 s) belong to it.
    pub(crate) fn connect(&self, from: &str, to: SocketAddr) -> Outcome {
        self.connect_by(from, 0, to)
    }

    /// The same from this port of one's own; 0 is any.
    pub(crate) fn connect_by(&self, from: &str, port: u16, to: SocketAddr) -> Outcome {
        self.within(from, move || {
            let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
            socket.bind(&SocketAddr::from((Ipv4Addr::UNSPECIFIED, port)).into()).unwrap();
            match socket.connect_timeout(&to.into(), Duration::from_millis(3_500)) {
                Ok(()) => Outcome::Open,
                Err(error) if error.kind() == io::ErrorKind::TimedOut => Outcome::Silence,
                // EHOSTUNREACH, what "administratively prohibited" becomes.
                Err(error) if error.raw_os_error() == Some(113) => Outcome::Refused,
                Err(error) => panic!("{to}: {error}"),
            }
        })
    }

    /// Sends one segment that belongs to no connection.
    pub(crate) fn send(&self, from: &str, segment: &Segment) {
        let (bytes, to) = (segment.bytes(), segment.to);
        self.within(from, move || {
            let socket = Socket::new(Domain::IPV4, Type::RAW, Some(Protocol::TCP)).unwrap();
            socket.send_to(&bytes, &to.into()).unwrap();
        });
    }

    /// Whether an echo request is answered.
    pub(crate) fn pings(&self, from: &str, to: [u8; 4]) -> bool {
        self.within(from, move || {
            let socket = Socket::new(Domain::IPV4, Type::RAW, Some(Protocol::ICMPV4)).unwrap();
            socket.set_read_timeout(Some(Duration::from_secs(1))).unwrap();
            let request = [8, 0, 0xF7, 0xFF, 0, 0, 0, 0];
            socket.send_to(&request, &SocketAddr::from((to, 0)).into()).unwrap();
            let mut answer = [0; 64];
            let length = io::Read::read(&mut &socket, &mut answer).unwrap_or(0);
            length >= 21 && answer[20] == 0
        })
    }
}

impl Drop for World {
    fn drop(&mut self) {
        for place in PLACES {
            let _ = Command::new("ip").args(["netns", "del", &self.name(place)]).output();
        }
    }
}
