//! Both directions of one connection in one place, so that no write waits for a read or the reverse.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use futures_util::Sink;
use host_proto::agent::{Failure, Input};
use host_proto::limits::MAX_MESSAGE;
use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use yawc::close::CloseCode;
use yawc::frame::OpCode;
use yawc::{Frame, WebSocket, WebSocketError};

use super::Order;
use crate::dial::Connection;

/// How long the last frames of a connection may take.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// What one turn came to.
pub(super) enum Step {
    Happened(Input),
    Ended(Failure),
}

/// What ends a connection, and what is still to be written.
enum End {
    /// It is gone.
    Gone(Failure),
    /// The library has its close frame ready.
    Refused(Failure),
    /// The peer's close frame came.
    PeerClosed(Failure),
}

enum Turn {
    Happened(Input),
    End(End),
}

pub(super) struct Pump {
    socket: WebSocket<TokioIo<Upgraded>>,
    outgoing: VecDeque<(Frame, bool)>,
    /// Texts in the socket's buffer that are to be reported once it is flushed.
    unflushed: u32,
    flushing: bool,
    /// Drives the bytes below; the connection lives as long as this.
    _connection: Connection,
}

impl Pump {
    pub(super) fn new(socket: WebSocket<TokioIo<Upgraded>>, connection: Connection) -> Self {
        Self { socket, outgoing: VecDeque::new(), unflushed: 0, flushing: false, _connection: connection }
    }

    pub(super) fn order(&mut self, order: Order) {
        self.outgoing.push_back(match order {
            Order::Text(text) => (Frame::text(text), true),
            Order::Ping => (Frame::ping(Bytes::new()), false),
            Order::Close(code, reason) => (Frame::close(CloseCode::from(code.number()), reason), false),
        });
    }

    /// The next thing that happens. Nothing is lost when it is dropped half way.
    pub(super) async fn step(&mut self) -> Step {
        match poll_fn(|cx| self.poll(cx)).await {
            Turn::Happened(input) => Step::Happened(input),
            Turn::End(End::Gone(failure)) => Step::Ended(failure),
            Turn::End(End::Refused(failure)) => {
                // Another poll after an error is what writes the library's own close frame.
                let flush = async {
                    let _ = poll_fn(|cx| Pin::new(&mut self.socket).poll_flush(cx)).await;
                    let _ = poll_fn(|cx| self.socket.poll_next_frame(cx)).await;
                };
                let _ = tokio::time::timeout(LAST_WORDS, flush).await;
                Step::Ended(failure)
            }
            Turn::End(End::PeerClosed(failure)) => {
                let close = poll_fn(|cx| Pin::new(&mut self.socket).poll_close(cx));
                let _ = tokio::time::timeout(LAST_WORDS, close).await;
                Step::Ended(failure)
            }
        }
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Turn> {
        match self.poll_write(cx) {
            Err(error) => return Poll::Ready(Turn::End(End::Gone(broken(&error)))),
            Ok(true) => return Poll::Ready(Turn::Happened(Input::Sent)),
            Ok(false) => {}
        }
        match self.socket.poll_next_frame(cx) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(Err(error)) => Poll::Ready(Turn::End(read_error(&error))),
            Poll::Ready(Ok(frame)) => Poll::Ready(take(frame)),
        }
    }

    /// Moves what is queued into the socket. `Ok(true)`: a text is on its way.
    fn poll_write(&mut self, cx: &mut Context<'_>) -> Result<bool, WebSocketError> {
        while !self.outgoing.is_empty() {
            match Pin::new(&mut self.socket).poll_ready(cx)? {
                Poll::Pending => return Ok(false),
                Poll::Ready(()) => {}
            }
            if let Some((frame, report)) = self.outgoing.pop_front() {
                Pin::new(&mut self.socket).start_send(frame)?;
                self.flushing = true;
                self.unflushed += u32::from(report);
            }
        }
        if self.flushing && Pin::new(&mut self.socket).poll_flush(cx)?.is_ready() {
            self.flushing = false;
        }
        let sent = !self.flushing && self.unflushed > 0;
        self.unflushed -= u32::from(sent);
        Ok(sent)
    }
}

fn take(frame: Frame) -> Turn {
    match frame.opcode() {
        // The library has checked it; lossy costs nothing then.
        OpCode::Text => Turn::Happened(Input::Text(String::from_utf8_lossy(frame.payload()).into_owned())),
        OpCode::Close => {
            let code = frame.close_code().map(u16::from);
            let reason = frame.close_reason().ok().flatten().unwrap_or_default();
            let reason = reason.chars().filter(|c| !c.is_control()).take(120).collect();
            Turn::End(End::PeerClosed(Failure::Closed { code, reason }))
        }
        // Binary frames belong to streams, which this version does not have: on unknown ones they are ignored.
        OpCode::Binary | OpCode::Ping | OpCode::Pong | OpCode::Continuation => Turn::Happened(Input::Heard),
    }
}

fn read_error(error: &WebSocketError) -> End {
    match error {
        WebSocketError::FrameTooLarge => {
            let text = format!("the server sent a message of more than {MAX_MESSAGE} bytes");
            End::Refused(Failure::Protocol(text))
        }
        WebSocketError::ConnectionClosed => End::Gone(Failure::Broken("the connection broke".to_owned())),
        WebSocketError::IoError(_) => End::Gone(broken(error)),
        _ => End::Refused(Failure::Protocol(format!("the server broke the WebSocket protocol: {error}"))),
    }
}

fn broken(error: &WebSocketError) -> Failure {
    Failure::Broken(format!("the connection broke: {error}"))
}
