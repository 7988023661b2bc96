//! A byte stream that counts what was received of a message that is not complete, against the server's budget:
//! the codec keeps those bytes, and a thousand half-sent messages would otherwise be gigabytes.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Poll};

use bytes::{Buf, Bytes};
use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

use crate::budget::{Budget, FREE, Held};

/// How much of what a peer sends after our close frame is read and forgotten, in bytes.
const FORGET_UP_TO: usize = 64 * 1024 * 1024;

/// The header of a control frame from a client, in bytes.
const CONTROL_HEADER: usize = 6;

/// The stream below a WebSocket. A plain socket is used directly, anything else through hyper's wrapper.
pub(crate) enum Socket {
    Tcp(TcpStream),
    Other(Box<TokioIo<Upgraded>>),
}

impl Socket {
    /// Takes the socket out of an upgraded connection, with what was read beyond the handshake.
    pub(crate) fn of(upgraded: Upgraded) -> (Self, Bytes) {
        match upgraded.downcast::<TokioIo<TcpStream>>() {
            // A copy: even when it is empty, what hyper gives back keeps its read buffer of 8 KiB alive.
            Ok(parts) => (Self::Tcp(parts.io.into_inner()), Bytes::copy_from_slice(&parts.read_buf)),
            Err(upgraded) => (Self::Other(Box::new(TokioIo::new(upgraded))), Bytes::new()),
        }
    }
}

/// Tells the stream what became of the bytes that it counted.
#[derive(Debug, Clone)]
pub(crate) struct Complete(Arc<Told>);

#[derive(Debug, Default)]
struct Told {
    complete: AtomicBool,
    apart: AtomicUsize,
}

impl Complete {
    /// A message was complete.
    pub(crate) fn mark(&self) {
        self.0.complete.store(true, Ordering::Relaxed);
    }

    /// A control frame was: its bytes are gone, but a message around it may be half there.
    pub(crate) fn mark_control(&self, payload: usize) {
        self.0.apart.fetch_add(CONTROL_HEADER + payload, Ordering::Relaxed);
    }
}

/// A stream with a meter.
pub(crate) struct Metered {
    socket: Socket,
    ahead: Bytes,
    received: usize,
    complete: Option<Complete>,
    budget: Arc<Budget>,
    held: Option<Box<Held>>,
    shut: bool,
    forgotten: usize,
}

impl Metered {
    pub(crate) const fn new(socket: Socket, ahead: Bytes, budget: Arc<Budget>) -> Self {
        Self { socket, ahead, received: 0, complete: None, budget, held: None, shut: false, forgotten: 0 }
    }

    /// The means to tell when a message is complete.
    pub(crate) fn completion(&mut self) -> Complete {
        self.complete.get_or_insert_with(|| Complete(Arc::default())).clone()
    }

    fn count(&mut self, bytes: usize) -> io::Result<()> {
        if let Some(Complete(told)) = &self.complete {
            self.received = self.received.saturating_sub(told.apart.swap(0, Ordering::Relaxed));
            if told.complete.swap(false, Ordering::Relaxed) {
                self.received = 0;
                self.held = None;
            }
        }
        self.received += bytes;
        if self.received <= FREE {
            return Ok(());
        }
        let held = self.held.get_or_insert_with(|| Box::new(Held::nothing(self.budget.clone())));
        if held.grow_to(self.received) {
            return Ok(());
        }
        Err(io::Error::new(io::ErrorKind::OutOfMemory, "too many bytes are being received at once"))
    }
}

impl AsyncRead for Metered {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = buf.filled().len();
        if !this.ahead.is_empty() {
            let take = this.ahead.len().min(buf.remaining());
            buf.put_slice(&this.ahead[..take]);
            this.ahead.advance(take);
            return Poll::Ready(this.count(take));
        }
        let read = match &mut this.socket {
            Socket::Tcp(tcp) => Pin::new(tcp).poll_read(cx, buf),
            Socket::Other(other) => Pin::new(&mut **other).poll_read(cx, buf),
        };
        match read {
            Poll::Ready(Ok(())) => {
                let bytes = buf.filled().len() - before;
                Poll::Ready(this.count(bytes))
            }
            other => other,
        }
    }
}

impl AsyncWrite for Metered {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        match &mut self.get_mut().socket {
            Socket::Tcp(tcp) => Pin::new(tcp).poll_write(cx, buf),
            Socket::Other(other) => Pin::new(&mut **other).poll_write(cx, buf),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.get_mut().socket {
            Socket::Tcp(tcp) => Pin::new(tcp).poll_flush(cx),
            Socket::Other(other) => Pin::new(&mut **other).poll_flush(cx),
        }
    }

    /// Ends our direction, then reads and forgets what the peer still sends, up to a bound.
    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if !this.shut {
            let shut = match &mut this.socket {
                Socket::Tcp(tcp) => Pin::new(tcp).poll_shutdown(cx),
                Socket::Other(other) => Pin::new(&mut **other).poll_shutdown(cx),
            };
            match shut {
                Poll::Ready(Ok(())) => this.shut = true,
                other => return other,
            }
        }
        this.poll_forget(cx)
    }
}

impl Metered {
    fn poll_forget(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut scrap = [0u8; 4096];
        while self.forgotten < FORGET_UP_TO {
            let mut buf = ReadBuf::new(&mut scrap);
            let read = match &mut self.socket {
                Socket::Tcp(tcp) => Pin::new(tcp).poll_read(cx, &mut buf),
                Socket::Other(other) => Pin::new(&mut **other).poll_read(cx, &mut buf),
            };
            match read {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Ok(())) if !buf.filled().is_empty() => self.forgotten += buf.filled().len(),
                Poll::Ready(_) => break,
            }
        }
        Poll::Ready(Ok(()))
    }
}
