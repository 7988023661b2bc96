//! WebSocket by hand, on the server's side: the handshake's answer and single frames, right or wrong.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use opamp_proto::frame;
use opamp_proto::wire::{AgentToServer, Message, ServerToAgent};
use sha1::{Digest, Sha1};

use crate::{Peer, Request, soon};

/// The numbers of the kinds of frames (RFC 6455, section 5.2).
pub mod opcode {
    /// A continuation.
    pub const CONTINUATION: u8 = 0;
    /// Text.
    pub const TEXT: u8 = 1;
    /// Binary.
    pub const BINARY: u8 = 2;
    /// Close.
    pub const CLOSE: u8 = 8;
    /// Ping.
    pub const PING: u8 = 9;
    /// Pong.
    pub const PONG: u8 = 10;
}

/// A frame from the client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// Its kind.
    pub opcode: u8,
    /// Whether it is the last of its message.
    pub last: bool,
    /// Whether it was masked, as every frame of a client has to be.
    pub masked: bool,
    /// The unmasked payload.
    pub payload: Vec<u8>,
}

impl Frame {
    /// The code of a Close frame.
    pub fn close_code(&self) -> Option<u16> {
        let code: [u8; 2] = self.payload.get(..2)?.try_into().ok()?;
        Some(u16::from_be_bytes(code))
    }
}

impl Peer {
    /// Reads a WebSocket handshake and agrees to it.
    pub async fn upgrade(&mut self) -> Request {
        let request = self.request().await;
        let key = request.header("sec-websocket-key").expect("a WebSocket handshake");
        let guid = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
        let accept = BASE64_STANDARD.encode(Sha1::digest(format!("{key}{guid}")));
        let head = format!(
            "HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: upgrade\r\nsec-websocket-accept: {accept}\r\n\r\n"
        );
        self.write(head.as_bytes()).await;
        request
    }

    /// The next frame.
    pub async fn frame(&mut self) -> Frame {
        soon("a frame", self.try_frame()).await.expect("a frame before the end of the connection")
    }

    /// The next frame, or why there is none.
    pub async fn try_frame(&mut self) -> std::io::Result<Frame> {
        self.fill(2).await?;
        let head = self.take(2);
        let masked = head[1] & 0x80 != 0;
        let length = match head[1] & 0x7f {
            126 => {
                self.fill(2).await?;
                usize::from(u16::from_be_bytes(self.take(2).try_into().unwrap()))
            }
            127 => {
                self.fill(8).await?;
                usize::try_from(u64::from_be_bytes(self.take(8).try_into().unwrap())).unwrap()
            }
            short => usize::from(short),
        };
        let mask = if masked {
            self.fill(4).await?;
            self.take(4)
        } else {
            vec![0; 4]
        };
        self.fill(length).await?;
        let mut payload = self.take(length);
        payload.iter_mut().zip(mask.iter().cycle()).for_each(|(byte, mask)| *byte ^= mask);
        Ok(Frame { opcode: head[0] & 0x0f, last: head[0] & 0x80 != 0, masked, payload })
    }

    /// The next message from the agent. Pings that come before it are answered.
    pub async fn message(&mut self) -> AgentToServer {
        loop {
            let frame = self.frame().await;
            match frame.opcode {
                opcode::BINARY => {
                    return AgentToServer::decode(frame::data(&frame.payload).unwrap()).unwrap();
                }
                opcode::PING => self.send_frame(opcode::PONG, &frame.payload).await,
                opcode::PONG => {}
                other => panic!("a frame of kind {other} instead of a message: {frame:?}"),
            }
        }
    }

    /// Sends a message to the agent.
    pub async fn push(&mut self, message: &ServerToAgent) {
        self.send_frame(opcode::BINARY, &frame::encode(message)).await;
    }

    /// Sends one frame that is a whole message.
    pub async fn send_frame(&mut self, opcode: u8, payload: &[u8]) {
        self.write(&frame_bytes(opcode, payload)).await;
    }

    /// Sends a Close frame.
    pub async fn send_close(&mut self, code: u16, reason: &str) {
        let mut payload = code.to_be_bytes().to_vec();
        payload.extend_from_slice(reason.as_bytes());
        self.send_frame(opcode::CLOSE, &payload).await;
    }
}

/// An unmasked frame that is a whole message.
pub fn frame_bytes(opcode: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0x80 | opcode];
    match payload.len() {
        short @ 0..126 => bytes.push(u8::try_from(short).unwrap()),
        medium @ 126..=0xffff => {
            bytes.push(126);
            bytes.extend(u16::try_from(medium).unwrap().to_be_bytes());
        }
        long => {
            bytes.push(127);
            bytes.extend((long as u64).to_be_bytes());
        }
    }
    bytes.extend_from_slice(payload);
    bytes
}
