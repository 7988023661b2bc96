//! Two connections as one: what one side sends the other gets, and when one has said all (FIN) the other hears it while
//! the way back stays open. A session that is silent holds no buffer.

use std::cell::RefCell;
use std::io;
use std::net::Shutdown;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use socket2::{SockRef, TcpKeepalive};
use tokio::net::TcpStream;
use tokio::time::Instant;

/// What one read takes at most.
const CHUNK: usize = 64 * 1024;
/// How long an open session may be silent. Databases keep connections for hours; peers that are dead are found by
/// keepalive long before.
const SILENT: Duration = Duration::from_secs(24 * 3600);
/// How long a session of which one side has said all may be silent.
const HALF_SILENT: Duration = Duration::from_secs(600);

thread_local! {
    /// One buffer for all sessions of a thread: it is never held over a wait.
    static BUFFER: RefCell<Vec<u8>> = RefCell::new(vec![0; CHUNK]);
}

/// Bytes carried, and when last.
pub(super) struct Flow<'a> {
    begun: Instant,
    last_ms: AtomicU64,
    /// Sides that have said all.
    ended: AtomicU64,
    bytes_in: &'a AtomicU64,
    bytes_out: &'a AtomicU64,
}

enum Step {
    Moved(usize),
    /// The other side takes no more now: what is left of a chunk.
    Full(usize, Vec<u8>),
    Nothing,
    End,
}

impl<'a> Flow<'a> {
    pub(super) fn new(bytes_in: &'a AtomicU64, bytes_out: &'a AtomicU64) -> Self {
        let (last_ms, ended) = (AtomicU64::new(0), AtomicU64::new(0));
        Self { begun: Instant::now(), last_ms, ended, bytes_in, bytes_out }
    }

    fn moved(&self, counter: &AtomicU64, bytes: usize) {
        counter.fetch_add(bytes as u64, Ordering::Relaxed);
        let elapsed = u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.last_ms.store(elapsed, Ordering::Relaxed);
    }

    /// Waits until nothing was said for too long.
    async fn silent(&self) {
        loop {
            let limit = if self.ended.load(Ordering::Relaxed) > 0 { HALF_SILENT } else { SILENT };
            let due = self.begun + Duration::from_millis(self.last_ms.load(Ordering::Relaxed)) + limit;
            if due <= Instant::now() {
                return;
            }
            // Looks again at least as often as the shorter limit: one side may say its last word meanwhile.
            tokio::time::sleep_until(due.min(Instant::now() + HALF_SILENT)).await;
        }
    }
}

/// Prepares a connection: small messages go at once, and a peer that vanished is found within two minutes.
pub(super) fn prepare(stream: &TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let keepalive = TcpKeepalive::new()
        .with_time(Duration::from_secs(60))
        .with_interval(Duration::from_secs(15))
        .with_retries(4);
    SockRef::from(stream).set_tcp_keepalive(&keepalive)
}

/// Ends a connection with a reset when it is dropped, so that the peer does not take what it got for all there was.
pub(super) fn reset(stream: &TcpStream) {
    let _ = SockRef::from(stream).set_linger(Some(Duration::ZERO));
}

/// Carries until both sides have said all.
///
/// # Errors
/// When one side breaks or nothing is said for too long; both should be reset then.
pub(super) async fn carry(client: &TcpStream, upstream: &TcpStream, flow: &Flow<'_>) -> io::Result<()> {
    let both = async {
        tokio::try_join!(
            one_way(client, upstream, flow, flow.bytes_in),
            one_way(upstream, client, flow, flow.bytes_out)
        )
    };
    tokio::select! {
        ended = both => ended.map(|_| ()),
        () = flow.silent() => Err(io::ErrorKind::TimedOut.into()),
    }
}

async fn one_way(from: &TcpStream, to: &TcpStream, flow: &Flow<'_>, counter: &AtomicU64) -> io::Result<()> {
    loop {
        from.readable().await?;
        match step(from, to)? {
            Step::Nothing => {}
            Step::Moved(bytes) => flow.moved(counter, bytes),
            Step::Full(bytes, rest) => {
                flow.moved(counter, bytes);
                write_all(to, &rest).await?;
                flow.moved(counter, rest.len());
            }
            Step::End => {
                flow.ended.fetch_add(1, Ordering::Relaxed);
                return SockRef::from(to).shutdown(Shutdown::Write);
            }
        }
        // A fast pair of peers must not keep the thread from the others.
        tokio::task::coop::consume_budget().await;
    }
}

fn step(from: &TcpStream, to: &TcpStream) -> io::Result<Step> {
    BUFFER.with_borrow_mut(|buffer| {
        let length = match from.try_read(buffer) {
            Ok(0) => return Ok(Step::End),
            Ok(length) => length,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(Step::Nothing),
            Err(error) => return Err(error),
        };
        let written = match to.try_write(&buffer[..length]) {
            Ok(written) => written,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => 0,
            Err(error) => return Err(error),
        };
        if written == length {
            return Ok(Step::Moved(length));
        }
        Ok(Step::Full(written, buffer[written..length].to_vec()))
    })
}

async fn write_all(to: &TcpStream, mut rest: &[u8]) -> io::Result<()> {
    while !rest.is_empty() {
        to.writable().await?;
        match to.try_write(rest) {
            Ok(written) => rest = &rest[written..],
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
