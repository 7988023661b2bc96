//! One simulated agent on one connection: WebSocket (RFC 6455, client side) or HTTP/1.1 with keep-alive, each as small as
//! a load generator needs. Not a client to build on: that is `opamp-client`.

use std::io::Read;

use anyhow::{Context, bail, ensure};

use super::{
    answer::{self, Wrong},
    message::{Kind, Repeated, Voice},
    stream::{Inbox, Stream},
    target::Target,
};

/// How an agent talks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Transport {
    WebSocket,
    /// `gzip`: the agent accepts compressed answers.
    Http {
        gzip: bool,
    },
}

/// An agent that has a connection.
#[derive(Debug)]
pub(super) struct Agent {
    stream: Stream,
    inbox: Inbox,
    voice: Voice,
    transport: Transport,
}

/// An answer larger than this is not one of a server under test.
const ANSWER_LIMIT: usize = 1 << 20;

impl Agent {
    /// Connects as a new agent; over WebSocket the upgrade is part of it.
    pub(super) async fn connect(
        target: &Target,
        transport: Transport,
        random: &mut fastrand::Rng,
    ) -> anyhow::Result<Self> {
        let stream = target.connect().await?;
        let mut agent = Self { stream, inbox: Inbox::default(), voice: Voice::new(random), transport };
        if transport == Transport::WebSocket {
            agent.upgrade(target).await?;
        }
        Ok(agent)
    }

    /// Sends the full first report and waits for its answer.
    pub(super) async fn report(&mut self, target: &Target) -> anyhow::Result<()> {
        let message = self.voice.report();
        let mut bytes = head(self.transport, target, message.len());
        bytes.extend_from_slice(&message);
        self.stream.send(&bytes).await?;
        self.answer().await
    }

    /// A message of this agent to be sent with [`Agent::say`].
    pub(super) fn repeated(&self, target: &Target, kind: Kind) -> Repeated {
        self.voice.repeated(kind, &|length| head(self.transport, target, length))
    }

    /// Sends the next message and waits for its answer.
    pub(super) async fn say(&mut self, repeated: &mut Repeated) -> anyhow::Result<()> {
        self.stream.send(self.voice.next(repeated)).await?;
        self.answer().await
    }

    /// Waits as an idle agent does: answers pings, and fails when the server ends the connection or says something
    /// that it has no reason to say. Cancel safe.
    pub(super) async fn idle(&mut self) -> anyhow::Error {
        loop {
            if let Err(error) = self.inbox.fill(&mut self.stream).await {
                return error.into();
            }
            match self.frame().await {
                Ok(None) => {}
                Ok(Some(_)) => return anyhow::anyhow!("the server sent a message that answers nothing"),
                Err(error) => return error,
            }
        }
    }

    /// Waits for the server's next message. If it offers a configuration, the agent says that it runs with it, and that
    /// is true.
    pub(super) async fn obey(&mut self, target: &Target) -> anyhow::Result<bool> {
        let payload = loop {
            if let Some(payload) = self.frame().await? {
                break payload;
            }
            self.inbox.fill(&mut self.stream).await?;
        };
        let message = match &self.inbox.unread()[payload.clone()] {
            [0, message @ ..] => message,
            _ => return Err(Wrong::Malformed.into()),
        };
        answer::check(message, &self.voice.uid)?;
        let hash = answer::offered(message)?.map(<[u8]>::to_vec);
        self.inbox.consume(payload.end);
        let Some(hash) = hash else { return Ok(false) };
        let message = self.voice.applied(&hash);
        let mut bytes = head(self.transport, target, message.len());
        bytes.extend_from_slice(&message);
        self.stream.send(&bytes).await?;
        Ok(true)
    }

    /// The same agent, which takes remote configurations.
    pub(super) fn configurable(self) -> Self {
        Self { voice: self.voice.configurable(), ..self }
    }

    /// Ends the connection in order: over WebSocket with a close frame, and then until the server hangs up.
    pub(super) async fn leave(mut self) -> anyhow::Result<()> {
        if self.transport == Transport::WebSocket {
            self.stream.send(&[0x88, 0x82, 0, 0, 0, 0, 0x03, 0xe8]).await?;
            while self.inbox.fill(&mut self.stream).await.is_ok() {
                self.inbox.consume(self.inbox.unread().len());
            }
        }
        Ok(())
    }

    async fn upgrade(&mut self, target: &Target) -> anyhow::Result<()> {
        let request = format!(
            "GET {} HTTP/1.1\r\n{}Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
             Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
            target.path, target.headers
        );
        self.stream.send(request.as_bytes()).await?;
        let answer = self.header().await?;
        ensure!(
            answer.starts_with("HTTP/1.1 101 "),
            "the server refused the upgrade: {}",
            first_line(&answer)
        );
        // RFC 6455 section 1.3 has this answer to the key above.
        ensure!(
            answer.contains("s3pPLMBiTxaQ9kYGzzhZRbK+xOo="),
            "the server answered the upgrade with a wrong key"
        );
        Ok(())
    }

    async fn answer(&mut self) -> anyhow::Result<()> {
        match self.transport {
            Transport::WebSocket => loop {
                if let Some(payload) = self.frame().await? {
                    let uid = self.voice.uid;
                    let checked = match &self.inbox.unread()[payload.clone()] {
                        [0, message @ ..] => answer::check(message, &uid),
                        _ => Err(Wrong::Malformed),
                    };
                    self.inbox.consume(payload.end);
                    return Ok(checked?);
                }
                self.inbox.fill(&mut self.stream).await?;
            },
            Transport::Http { .. } => self.http_answer().await,
        }
    }

    /// Where the payload of the next data frame lies among the unread bytes; `None`: not all of it has come yet.
    async fn frame(&mut self) -> anyhow::Result<Option<std::ops::Range<usize>>> {
        loop {
            let unread = self.inbox.unread();
            let [first, second, ..] = *unread else { return Ok(None) };
            ensure!(second & 0x80 == 0, "the server sent a masked frame");
            let (length, start) = match (second, unread) {
                (126, [_, _, a, b, ..]) => (usize::from(u16::from_be_bytes([*a, *b])), 4),
                (126, _) => return Ok(None),
                (127, _) => bail!("the server sent an answer of more than 64 KiB"),
                (short, _) => (usize::from(short), 2),
            };
            let Some(payload) = unread.get(start..start + length) else { return Ok(None) };
            match first {
                0x82 => return Ok(Some(start..start + length)),
                0x89 => {
                    let mut pong = vec![0x8a, 0x80 | second, 0, 0, 0, 0];
                    pong.extend_from_slice(payload);
                    self.inbox.consume(start + length);
                    self.stream.send(&pong).await?;
                }
                0x8a => self.inbox.consume(start + length),
                0x88 => bail!("the server closed the connection: {}", close_reason(payload)),
                other => bail!("the server sent a frame of an unexpected kind: {other:#04x}"),
            }
        }
    }

    /// Reads up to the empty line that ends a HTTP header.
    async fn header(&mut self) -> anyhow::Result<String> {
        loop {
            let unread = self.inbox.unread();
            if let Some(end) = unread.windows(4).position(|window| window == b"\r\n\r\n") {
                let text = String::from_utf8_lossy(&unread[..end]).into_owned();
                self.inbox.consume(end + 4);
                return Ok(text);
            }
            ensure!(unread.len() < ANSWER_LIMIT, "the server's header does not end");
            self.inbox.fill(&mut self.stream).await?;
        }
    }

    async fn http_answer(&mut self) -> anyhow::Result<()> {
        let header = self.header().await?;
        let status: u16 = header.get(9..12).and_then(|text| text.parse().ok()).context("no HTTP status")?;
        let value = |wanted: &str| {
            header.lines().find_map(|line| {
                let (name, value) = line.split_once(':')?;
                name.eq_ignore_ascii_case(wanted).then(|| value.trim())
            })
        };
        let length: usize = value("content-length").context("the answer has no Content-Length")?.parse()?;
        ensure!(length <= ANSWER_LIMIT, "the server sent an answer of {length} bytes");
        let packed = value("content-encoding") == Some("gzip");
        while self.inbox.unread().len() < length {
            self.inbox.fill(&mut self.stream).await?;
        }
        let body = &self.inbox.unread()[..length];
        let checked = match (status, packed) {
            (200, false) => answer::check(body, &self.voice.uid),
            (200, true) => {
                let mut plain = Vec::new();
                flate2::read::GzDecoder::new(body).take(ANSWER_LIMIT as u64).read_to_end(&mut plain)?;
                answer::check(&plain, &self.voice.uid)
            }
            (other, _) => Err(Wrong::Status(other)),
        };
        self.inbox.consume(length);
        Ok(checked?)
    }
}

/// What goes before a message of `length` bytes: a frame's first bytes with a mask of zeros and OpAMP's own header of
/// one byte, or a request's header.
fn head(transport: Transport, target: &Target, length: usize) -> Vec<u8> {
    match transport {
        Transport::WebSocket => {
            let payload = length + 1;
            let mut head = vec![0x82];
            if payload < 126 {
                head.push(0x80 | payload as u8);
            } else {
                head.push(0x80 | 126);
                head.extend_from_slice(&(payload as u16).to_be_bytes());
            }
            head.extend_from_slice(&[0; 5]);
            head
        }
        Transport::Http { gzip } => format!(
            "POST {} HTTP/1.1\r\n{}Content-Type: application/x-protobuf\r\n{}Content-Length: {length}\r\n\r\n",
            target.path,
            target.headers,
            if gzip { "Accept-Encoding: gzip\r\n" } else { "" },
        )
        .into_bytes(),
    }
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

fn close_reason(payload: &[u8]) -> String {
    match payload {
        [a, b, reason @ ..] => {
            format!("{} {}", u16::from_be_bytes([*a, *b]), String::from_utf8_lossy(reason))
        }
        _ => "no reason given".into(),
    }
}
