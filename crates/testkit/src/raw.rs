//! A client on a bare socket: HTTP requests and WebSocket frames written byte by byte. It answers nothing by
//! itself, checks nothing, and waits at most [`DEADLINE`](crate::DEADLINE).

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use opamp_proto::wire::{AgentToServer, Message, ServerToAgent};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::soon;

/// An HTTP response as it came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Response {
    /// The status code.
    pub status: u16,
    /// Header values by lower-case name.
    pub headers: BTreeMap<String, String>,
    /// The body, not decoded.
    pub body: Vec<u8>,
}

impl Response {
    /// A header's value, or the empty string.
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", String::as_str)
    }

    /// The body as a message.
    ///
    /// # Panics
    /// When it is none.
    pub fn message(&self) -> ServerToAgent {
        ServerToAgent::decode(&self.body[..]).expect("a ServerToAgent")
    }

    /// The body as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

/// A connection that speaks HTTP, or WebSocket after [`Connection::upgrade`].
pub struct Connection<S = TcpStream> {
    /// The bare stream.
    pub stream: S,
    ahead: Vec<u8>,
}

/// A WebSocket frame as it came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// 1 text, 2 binary, 8 close, 9 ping, 10 pong.
    pub opcode: u8,
    /// The payload.
    pub payload: Vec<u8>,
}

impl Frame {
    /// The code of a close frame.
    pub fn close_code(&self) -> Option<u16> {
        (self.opcode == 8 && self.payload.len() >= 2)
            .then(|| u16::from_be_bytes([self.payload[0], self.payload[1]]))
    }

    /// The message in a binary frame.
    ///
    /// # Panics
    /// When there is none.
    pub fn message(&self) -> ServerToAgent {
        assert_eq!(self.opcode, 2, "a binary frame: {self:?}");
        ServerToAgent::decode(opamp_proto::frame::data(&self.payload).expect("a header")).expect("a message")
    }
}

impl Connection {
    /// Connects.
    ///
    /// # Panics
    /// When that fails.
    pub async fn to(address: SocketAddr) -> Self {
        Self::over(TcpStream::connect(address).await.expect("connect"))
    }

    /// Connects and upgrades at the default path, with headers of the test's own.
    ///
    /// # Panics
    /// When the server does not upgrade.
    pub async fn websocket(address: SocketAddr, headers: &[(&str, &str)]) -> Self {
        let mut connection = Self::to(address).await;
        let response = connection.upgrade("/v1/opamp", headers).await;
        assert_eq!(response.status, 101, "{}", response.text());
        connection
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> Connection<S> {
    /// Takes a stream that is connected.
    pub const fn over(stream: S) -> Self {
        Self { stream, ahead: Vec::new() }
    }

    /// Writes bytes as they are.
    ///
    /// # Panics
    /// When the peer is gone.
    pub async fn write(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).await.expect("write");
    }

    /// One request and its response, on a connection that stays open.
    pub async fn request(&mut self, line: &str, headers: &[(&str, &str)], body: &[u8]) -> Response {
        let mut head = format!("{line} HTTP/1.1\r\nhost: test\r\n");
        for (name, value) in headers {
            head += &format!("{name}: {value}\r\n");
        }
        if !line.starts_with("GET") {
            head += &format!("content-length: {}\r\n", body.len());
        }
        self.write(&[head.as_bytes(), b"\r\n", body].concat()).await;
        self.response().await
    }

    /// A plain request at the default path, with headers beside the Content-Type.
    pub async fn post(&mut self, headers: &[(&str, &str)], body: &[u8]) -> Response {
        let all = [&[("content-type", "application/x-protobuf")], headers].concat();
        self.request("POST /v1/opamp", &all, body).await
    }

    /// A message over plain HTTP.
    pub async fn exchange(&mut self, headers: &[(&str, &str)], message: &AgentToServer) -> Response {
        self.post(headers, &message.encode_to_vec()).await
    }

    /// Asks for a WebSocket.
    pub async fn upgrade(&mut self, path: &str, headers: &[(&str, &str)]) -> Response {
        let all = [
            &[
                ("connection", "Upgrade"),
                ("upgrade", "websocket"),
                ("sec-websocket-version", "13"),
                ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="),
            ],
            headers,
        ]
        .concat();
        self.request(&format!("GET {path}"), &all, b"").await
    }

    /// Reads a response.
    ///
    /// # Panics
    /// When the peer closes first or speaks no HTTP.
    pub async fn response(&mut self) -> Response {
        let end = loop {
            if let Some(end) = self.ahead.windows(4).position(|four| four == b"\r\n\r\n") {
                break end + 4;
            }
            assert!(self.more().await, "the connection ended before a response: {:?}", self.ahead);
        };
        let head: Vec<u8> = self.ahead.drain(..end).collect();
        let head = String::from_utf8(head).expect("a head of text");
        let mut lines = head.trim_end().split("\r\n");
        let status = lines.next().and_then(|line| line.split(' ').nth(1)).and_then(|code| code.parse().ok());
        let headers: BTreeMap<_, _> = lines
            .filter_map(|line| line.split_once(':'))
            .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
            .collect();
        let length = headers.get("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
        while self.ahead.len() < length {
            assert!(self.more().await, "the connection ended within a body");
        }
        Response { status: status.expect("a status"), headers, body: self.ahead.drain(..length).collect() }
    }

    /// Reads some more bytes; false at the end of the stream.
    async fn more(&mut self) -> bool {
        let mut chunk = [0; 16 * 1024];
        let read = soon("bytes from the server", self.stream.read(&mut chunk)).await.unwrap_or(0);
        self.ahead.extend_from_slice(&chunk[..read]);
        read > 0
    }

    /// Writes a masked frame that is the whole message.
    pub async fn send(&mut self, opcode: u8, payload: &[u8]) {
        self.write(&frame(0x80 | opcode, payload)).await;
    }

    /// Writes a message.
    pub async fn send_message(&mut self, message: &AgentToServer) {
        self.send(2, &opamp_proto::frame::encode(message)).await;
    }

    /// Writes a message and reads the answer.
    pub async fn ask(&mut self, message: &AgentToServer) -> ServerToAgent {
        self.send_message(message).await;
        self.next().await.expect("an answer").message()
    }

    /// The next frame; `None` when the connection is closed or reset.
    pub async fn next(&mut self) -> Option<Frame> {
        loop {
            if let Some((frame, length)) = parse(&self.ahead) {
                self.ahead.drain(..length);
                return Some(frame);
            }
            if !self.more().await {
                return None;
            }
        }
    }

    /// The next frame, however long it takes; `None` when the connection is closed or reset.
    pub async fn wait(&mut self) -> Option<Frame> {
        loop {
            if let Some((frame, length)) = parse(&self.ahead) {
                self.ahead.drain(..length);
                return Some(frame);
            }
            let mut chunk = [0; 16 * 1024];
            match self.stream.read(&mut chunk).await {
                Ok(0) | Err(_) => return None,
                Ok(read) => self.ahead.extend_from_slice(&chunk[..read]),
            }
        }
    }

    /// Writes a masked frame; whether the peer takes it.
    pub async fn try_send(&mut self, opcode: u8, payload: &[u8]) -> bool {
        self.stream.write_all(&frame(0x80 | opcode, payload)).await.is_ok()
    }

    /// Asks for a WebSocket; whether there is one.
    pub async fn try_upgrade(&mut self, path: &str, headers: &[(&str, &str)]) -> bool {
        let mut head = format!(
            "GET {path} HTTP/1.1\r\nhost: test\r\nconnection: Upgrade\r\nupgrade: websocket\r\n\
             sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
        );
        for (name, value) in headers {
            head += &format!("{name}: {value}\r\n");
        }
        if self.stream.write_all(format!("{head}\r\n").as_bytes()).await.is_err() {
            return false;
        }
        loop {
            if let Some(end) = self.ahead.windows(4).position(|four| four == b"\r\n\r\n") {
                let head: Vec<u8> = self.ahead.drain(..end + 4).collect();
                return head.starts_with(b"HTTP/1.1 101");
            }
            let mut chunk = [0; 4096];
            match self.stream.read(&mut chunk).await {
                Ok(0) | Err(_) => return false,
                Ok(read) => self.ahead.extend_from_slice(&chunk[..read]),
            }
        }
    }

    /// Whether the peer sends nothing within a time. For tests that prove that nothing is sent.
    pub async fn is_quiet_for(&mut self, time: Duration) -> bool {
        if !self.ahead.is_empty() {
            return false;
        }
        let mut byte = [0];
        tokio::time::timeout(time, self.stream.read(&mut byte)).await.is_err()
    }
}

/// A masked frame. The mask is zero, which is allowed and easy to read in a trace.
pub fn frame(first: u8, payload: &[u8]) -> Vec<u8> {
    let mut out = vec![first];
    match payload.len() {
        short @ 0..126 => out.push(0x80 | short as u8),
        medium @ 126..=0xffff => {
            out.push(0x80 | 126);
            out.extend((medium as u16).to_be_bytes());
        }
        long => {
            out.push(0x80 | 127);
            out.extend((long as u64).to_be_bytes());
        }
    }
    out.extend([0; 4]);
    out.extend(payload);
    out
}

fn parse(bytes: &[u8]) -> Option<(Frame, usize)> {
    let (first, second) = (*bytes.first()?, *bytes.get(1)?);
    let (length, head) = match second & 0x7f {
        126 => (usize::from(u16::from_be_bytes(bytes.get(2..4)?.try_into().ok()?)), 4),
        127 => (usize::try_from(u64::from_be_bytes(bytes.get(2..10)?.try_into().ok()?)).ok()?, 10),
        short => (usize::from(short), 2),
    };
    let payload = bytes.get(head..head + length)?.to_vec();
    Some((Frame { opcode: first & 0x0f, payload }, head + length))
}
