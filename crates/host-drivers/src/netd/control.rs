//! netd's socket: made anew at start, for root and the user that netd runs as. One netd at a time: a lock beside the
//! socket says whether another runs, as a socket file alone outlives its process.

use std::fs::{File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;
use std::time::Duration;

use nix::fcntl::{Flock, FlockArg};
use nix::unistd::geteuid;
use tokio::io::BufReader;
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

use super::wire::{self, Request, Response};

/// How long a peer may be silent within a request.
const SILENT: Duration = Duration::from_secs(30);

/// A request and where its answer goes.
pub(super) type Asked = (Request, oneshot::Sender<Response>);

/// The socket, held for as long as netd runs.
#[derive(Debug)]
pub(super) struct Control {
    listener: UnixListener,
    _lock: Flock<File>,
}

impl Control {
    /// Takes the socket's place.
    ///
    /// # Errors
    /// When another netd holds it, or the folder cannot be written.
    pub(super) fn bind(path: &Path) -> io::Result<Self> {
        let lock = path.with_extension("lock");
        let file = OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(lock)?;
        let lock = Flock::lock(file, FlockArg::LockExclusiveNonblock)
            .map_err(|_| io::Error::new(io::ErrorKind::AddrInUse, "another netd runs"))?;
        match std::fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let listener = UnixListener::bind(path)?;
        std::fs::set_permissions(path, Permissions::from_mode(0o600))?;
        Ok(Self { listener, _lock: lock })
    }

    /// Takes in requests and hands them over, until it is dropped.
    pub(super) async fn accept(&self, asked: &mpsc::Sender<Asked>) {
        loop {
            match self.listener.accept().await {
                Ok((stream, _)) if allowed(&stream) => {
                    let asked = asked.clone();
                    tokio::spawn(async move {
                        if let Err(error) = talk(stream, &asked).await {
                            tracing::debug!("a connection to netd's socket broke: {error}");
                        }
                    });
                }
                Ok(_) => tracing::warn!("a process of another user was turned away from netd's socket"),
                Err(error) => {
                    tracing::warn!("netd's socket: {error}");
                    tokio::time::sleep(Duration::from_millis(200)).await;
                }
            }
        }
    }
}

/// Root, and the user that we are.
fn allowed(stream: &UnixStream) -> bool {
    stream.peer_cred().is_ok_and(|peer| peer.uid() == 0 || peer.uid() == geteuid().as_raw())
}

async fn talk(stream: UnixStream, asked: &mpsc::Sender<Asked>) -> io::Result<()> {
    let (read, mut write) = stream.into_split();
    let mut read = BufReader::new(read);
    loop {
        let request = match timeout(SILENT, wire::read(&mut read)).await? {
            Ok(Some(request)) => request,
            Ok(None) => return Ok(()),
            Err(error) => {
                let _ = timeout(SILENT, wire::write(&mut write, &Response::Error(error.to_string()))).await;
                return Err(error);
            }
        };
        let (answer, answered) = oneshot::channel();
        let gone = || io::Error::other("netd ends");
        asked.send((request, answer)).await.map_err(|_| gone())?;
        let response = answered.await.map_err(|_| gone())?;
        timeout(SILENT, wire::write(&mut write, &response)).await??;
    }
}
