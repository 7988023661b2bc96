//! A plain or TLS connection with a receive buffer. Knows neither WebSocket nor HTTP.

use std::io;

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};
use tokio_rustls::client::TlsStream;

/// One connection to the server.
#[derive(Debug)]
pub(super) enum Stream {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

impl Stream {
    pub(super) async fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Self::Plain(io) => io.write_all(bytes).await,
            Self::Tls(io) => {
                io.write_all(bytes).await?;
                io.flush().await
            }
        }
    }

    async fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(io) => io.read(into).await,
            Self::Tls(io) => io.read(into).await,
        }
    }
}

/// Bytes received and not yet consumed.
#[derive(Debug, Default)]
pub(super) struct Inbox {
    bytes: Vec<u8>,
    start: usize,
    end: usize,
}

impl Inbox {
    /// What is there now.
    pub(super) fn unread(&self) -> &[u8] {
        &self.bytes[self.start..self.end]
    }

    /// Forgets the first `count` unread bytes.
    pub(super) fn consume(&mut self, count: usize) {
        self.start += count;
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        }
    }

    /// Waits for more. The end of the stream is an error: nobody here expects it. Cancel safe.
    pub(super) async fn fill(&mut self, stream: &mut Stream) -> io::Result<()> {
        const ROOM: usize = 512;
        if self.bytes.len() - self.end < ROOM / 2 {
            self.bytes.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
            self.bytes.resize(self.end + ROOM, 0);
        }
        match stream.read(&mut self.bytes[self.end..]).await? {
            0 => Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the server closed the connection")),
            count => {
                self.end += count;
                Ok(())
            }
        }
    }
}
