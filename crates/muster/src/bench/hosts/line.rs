//! A host's WebSocket (RFC 6455, client side) with texts in it, as small as a load generator needs.

use anyhow::{bail, ensure};

use crate::bench::{
    stream::{Inbox, Stream},
    target::Target,
};
use host_proto::join::SUBPROTOCOL;
use host_proto::limits::MAX_MESSAGE;

/// A connection that was upgraded.
pub(super) struct Line {
    stream: Stream,
    inbox: Inbox,
}

/// What came.
pub(super) enum Came {
    Text(String),
    /// A ping, answered already, or a pong.
    Other,
}

impl Line {
    /// Connects with what `target` says: path and credentials.
    pub(super) async fn open(target: &Target) -> anyhow::Result<Self> {
        let mut stream = target.connect().await?;
        let request = format!(
            "GET {} HTTP/1.1\r\n{}Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
             Sec-WebSocket-Protocol: {SUBPROTOCOL}\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
            target.path, target.headers
        );
        stream.send(request.as_bytes()).await?;
        let mut inbox = Inbox::default();
        let end = loop {
            if let Some(end) = inbox.unread().windows(4).position(|window| window == b"\r\n\r\n") {
                break end;
            }
            inbox.fill(&mut stream).await?;
        };
        let answer = String::from_utf8_lossy(&inbox.unread()[..end]).into_owned();
        inbox.consume(end + 4);
        ensure!(answer.starts_with("HTTP/1.1 101 "), "the server refused the upgrade: {answer}");
        Ok(Self { stream, inbox })
    }

    pub(super) async fn send(&mut self, text: &str) -> anyhow::Result<()> {
        self.frame(0x81, text.as_bytes()).await
    }

    pub(super) async fn ping(&mut self) -> anyhow::Result<()> {
        self.frame(0x89, &[]).await
    }

    /// Waits for the next frame. Cancel safe, but for answering a ping.
    pub(super) async fn next(&mut self) -> anyhow::Result<Came> {
        loop {
            if let Some((first, start, end)) = self.whole()? {
                let payload = self.inbox.unread()[start..end].to_vec();
                self.inbox.consume(end);
                return match first {
                    0x81 => Ok(Came::Text(String::from_utf8(payload)?)),
                    0x89 => {
                        self.frame(0x8a, &payload).await?;
                        Ok(Came::Other)
                    }
                    0x8a => Ok(Came::Other),
                    0x88 => bail!("the server closed the connection: {}", String::from_utf8_lossy(&payload)),
                    other => bail!("the server sent a frame of an unexpected kind: {other:#04x}"),
                };
            }
            self.inbox.fill(&mut self.stream).await?;
        }
    }

    /// First byte, and where the payload of the next frame lies, once all of it is here.
    fn whole(&self) -> anyhow::Result<Option<(u8, usize, usize)>> {
        let unread = self.inbox.unread();
        let [first, second, rest @ ..] = unread else { return Ok(None) };
        let (length, start) = match (second, rest) {
            (126, [a, b, ..]) => (u64::from(u16::from_be_bytes([*a, *b])), 4),
            (127, _) => match rest.first_chunk() {
                Some(eight) => (u64::from_be_bytes(*eight), 10),
                None => return Ok(None),
            },
            (126, _) => return Ok(None),
            (short, _) => (u64::from(*short), 2),
        };
        ensure!(length <= MAX_MESSAGE as u64, "the server sent a frame of {length} bytes");
        let end = start + length as usize;
        Ok((unread.len() >= end).then_some((*first, start, end)))
    }

    /// A frame with a mask of zeros.
    async fn frame(&mut self, first: u8, payload: &[u8]) -> anyhow::Result<()> {
        let mut bytes = vec![first];
        match payload.len() {
            short @ ..126 => bytes.push(0x80 | short as u8),
            middle @ ..=0xffff => {
                bytes.push(0x80 | 126);
                bytes.extend_from_slice(&(middle as u16).to_be_bytes());
            }
            long => {
                bytes.push(0x80 | 127);
                bytes.extend_from_slice(&(long as u64).to_be_bytes());
            }
        }
        bytes.extend_from_slice(&[0; 4]);
        bytes.extend_from_slice(payload);
        Ok(self.stream.send(&bytes).await?)
    }
}
