//! Opens the sockets. The OpAMP port has one socket for each thread that serves it (SO_REUSEPORT), so that the
//! kernel spreads agents over the threads and no thread takes work from another.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};

use socket2::{Domain, Protocol, Socket, Type};

use crate::config::Config;
use crate::doctor::is_locked;

/// Connections that may wait to be accepted: a fleet that comes back after an outage does so at once.
const BACKLOG: i32 = 4096;

/// The open sockets.
#[derive(Debug)]
pub struct Listeners {
    /// For agents: all on the same address.
    pub opamp: Vec<TcpListener>,
    /// For console and API.
    pub console: TcpListener,
}

/// A socket that could not be opened.
#[derive(Debug, thiserror::Error)]
#[error("{flag}: cannot listen on {address}{}", hint(source, running.as_deref()))]
pub struct ListenError {
    /// The flag that names the address.
    pub flag: &'static str,
    /// The address.
    pub address: SocketAddr,
    /// What the system says.
    pub source: io::Error,
    /// The data directory, when a server runs on it.
    pub running: Option<PathBuf>,
}

fn hint(error: &io::Error, running: Option<&Path>) -> String {
    let hint = match (error.kind(), running) {
        (io::ErrorKind::AddrInUse, Some(dir)) => {
            return format!(": another muster server is running on {}, and has the port", dir.display());
        }
        (io::ErrorKind::AddrInUse, None) => ": another program has the port; stop it or choose another port",
        (io::ErrorKind::PermissionDenied, _) => ": ports below 1024 need more rights; choose a higher port",
        (io::ErrorKind::AddrNotAvailable, _) => ": this machine does not have the address",
        _ => "",
    };
    hint.to_owned()
}

impl Listeners {
    /// Opens the sockets, `threads` of them for agents.
    pub fn open(config: &Config, threads: usize) -> Result<Self, ListenError> {
        let running = || is_locked(&config.database()).then(|| config.data_dir.clone());
        let failed = |flag, address| move |source| ListenError { flag, address, source, running: running() };
        let flag = "--opamp-listen";
        let opamp = shared(config.opamp_listen, threads.max(1)).map_err(failed(flag, config.opamp_listen))?;
        let console = single(config.listen).map_err(failed("--listen", config.listen))?;
        Ok(Self { opamp, console })
    }

    /// Where agents connect, with the port that the kernel chose.
    pub fn opamp_address(&self) -> io::Result<SocketAddr> {
        self.opamp.first().ok_or_else(|| io::Error::other("no socket"))?.local_addr()
    }
}

fn socket(address: SocketAddr, share: bool) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    socket.set_reuse_address(true)?;
    socket.set_reuse_port(share)?;
    if address.is_ipv6() {
        // [::] serves both families, whatever the system's default.
        socket.set_only_v6(false)?;
    }
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    Ok(socket)
}

fn single(address: SocketAddr) -> io::Result<TcpListener> {
    socket(address, false).map(TcpListener::from)
}

/// Sharing a port is possible also with another server of the same user, which would then get half of the agents.
/// So the port is first opened alone.
fn shared(address: SocketAddr, count: usize) -> io::Result<Vec<TcpListener>> {
    let address = {
        let alone = single(address)?;
        let port = alone.local_addr()?.port();
        SocketAddr::new(address.ip(), port)
    };
    (0..count).map(|_| socket(address, true).map(TcpListener::from)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_threads_share_one_port_and_another_server_does_not_get_it() {
        let first = shared("127.0.0.1:0".parse().unwrap(), 3).unwrap();
        let address = first[0].local_addr().unwrap();
        assert!(first.iter().all(|socket| socket.local_addr().unwrap() == address));
        let second = shared(address, 3).unwrap_err();
        assert_eq!(second.kind(), io::ErrorKind::AddrInUse);
        drop(first);
        shared(address, 3).unwrap();
    }
}
