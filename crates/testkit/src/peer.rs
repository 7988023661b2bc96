//! One connection of a fake server: raw bytes, and HTTP/1.1 read and written by hand.

use std::io;
use std::time::Duration;

use flate2::read::GzDecoder;
use opamp_proto::wire::{AgentToServer, Message, ServerToAgent};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use crate::{DEADLINE, soon};

/// Any byte stream.
pub trait Io: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Io for T {}

/// The other end of a client's connection.
pub struct Peer {
    io: Box<dyn Io>,
    pub(crate) buffer: Vec<u8>,
}

/// An HTTP request as it came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// The request line.
    pub line: String,
    /// Names in lower case, in the order in which they came.
    pub headers: Vec<(String, String)>,
    /// As it travelled, compressed or not.
    pub body: Vec<u8>,
}

impl Request {
    /// A header's value.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(header, _)| header == name).map(|(_, value)| value.as_str())
    }

    /// The message in the body, inflated if it has to be.
    pub fn message(&self) -> AgentToServer {
        let mut inflated = Vec::new();
        let body = match self.header("content-encoding") {
            Some("gzip") => {
                io::Read::read_to_end(&mut GzDecoder::new(&self.body[..]), &mut inflated).unwrap();
                &inflated
            }
            _ => &self.body,
        };
        AgentToServer::decode(&body[..]).unwrap()
    }
}

impl Peer {
    /// Takes over a stream.
    pub fn new(io: Box<dyn Io>) -> Self {
        Self { io, buffer: Vec::new() }
    }

    /// Writes bytes as they are. That the client is gone is no error here: the script goes on.
    pub async fn write(&mut self, bytes: &[u8]) {
        let _ = soon("the client reads", self.io.write_all(bytes)).await;
        let _ = self.io.flush().await;
    }

    /// Writes bytes and says whether the client was still there.
    pub async fn try_write(&mut self, bytes: &[u8]) -> bool {
        let written = soon("the client reads", self.io.write_all(bytes)).await;
        written.is_ok() && self.io.flush().await.is_ok()
    }

    /// At least `count` bytes, unless the client is gone before.
    pub(crate) async fn fill(&mut self, count: usize) -> io::Result<()> {
        while self.buffer.len() < count {
            let mut chunk = [0u8; 16 * 1024];
            match self.io.read(&mut chunk).await? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                read => self.buffer.extend_from_slice(&chunk[..read]),
            }
        }
        Ok(())
    }

    pub(crate) fn take(&mut self, count: usize) -> Vec<u8> {
        let rest = self.buffer.split_off(count);
        std::mem::replace(&mut self.buffer, rest)
    }

    /// The next request.
    pub async fn request(&mut self) -> Request {
        soon("a request", self.try_request()).await.expect("a request before the end of the connection")
    }

    /// The next request, or why there is none.
    pub async fn try_request(&mut self) -> io::Result<Request> {
        let end = loop {
            if let Some(at) = self.buffer.windows(4).position(|window| window == b"\r\n\r\n") {
                break at + 4;
            }
            self.fill(self.buffer.len() + 1).await?;
        };
        let head = String::from_utf8(self.take(end)).unwrap();
        let mut lines = head.trim_end().split("\r\n");
        let line = lines.next().unwrap_or_default().to_owned();
        let header = |line: &str| {
            let (name, value) = line.split_once(':').unwrap();
            (name.to_ascii_lowercase(), value.trim().to_owned())
        };
        let mut request = Request { line, headers: lines.map(header).collect(), body: Vec::new() };
        let length = request.header("content-length").map_or(0, |length| length.parse().unwrap());
        self.fill(length).await?;
        request.body = self.take(length);
        Ok(request)
    }

    /// An HTTP response with a Content-Length.
    pub async fn respond(&mut self, status: u16, headers: &[(&str, &str)], body: &[u8]) {
        let mut head = format!("HTTP/1.1 {status} Whatever\r\ncontent-length: {}\r\n", body.len());
        for (name, value) in headers {
            head += &format!("{name}: {value}\r\n");
        }
        let mut bytes = (head + "\r\n").into_bytes();
        bytes.extend_from_slice(body);
        self.write(&bytes).await;
    }

    /// A message as the answer to an HTTP request.
    pub async fn answer(&mut self, message: &ServerToAgent) {
        self.respond(200, &[("content-type", "application/x-protobuf")], &message.encode_to_vec()).await;
    }

    /// Waits until the client has closed; `false` when it sends something first.
    pub async fn ends(&mut self) -> bool {
        soon("the end of the connection", self.fill(self.buffer.len() + 1)).await.is_err()
    }

    /// Whether nothing at all comes for a time.
    pub async fn is_quiet(&mut self, time: Duration) -> bool {
        debug_assert!(time < DEADLINE);
        tokio::time::timeout(time, self.fill(self.buffer.len() + 1)).await.is_err()
    }
}
