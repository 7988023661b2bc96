//! Both directions of one connection in one place, so that no write waits for a read or the reverse.

use std::future::poll_fn;
use std::task::{Context, Poll};

use bytes::Bytes;
use host_proto::agent::{Failure, Input};
use host_proto::limits::MAX_MESSAGE;
use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use outbound::outbox::{self, Outbox};
use yawc::close::CloseCode;
use yawc::frame::OpCode;
use yawc::{Frame, WebSocket, WebSocketError};

use super::Order;
use crate::dial::Connection;

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
    outbox: Outbox,
    /// Drives the bytes below; the connection lives as long as this.
    _connection: Connection,
}

impl Pump {
    pub(super) fn new(socket: WebSocket<TokioIo<Upgraded>>, connection: Connection) -> Self {
        Self { socket, outbox: Outbox::default(), _connection: connection }
    }

    pub(super) fn order(&mut self, order: Order) {
        match order {
            Order::Text(text) => self.outbox.push(Frame::text(text), true),
            Order::Ping => self.outbox.push(Frame::ping(Bytes::new()), false),
            Order::Close(code, reason) => {
                self.outbox.push(Frame::close(CloseCode::from(code.number()), reason), false);
            }
        }
    }

    /// The next thing that happens. Nothing is lost when it is dropped half way.
    pub(super) async fn step(&mut self) -> Step {
        match poll_fn(|cx| self.poll(cx)).await {
            Turn::Happened(input) => Step::Happened(input),
            Turn::End(End::Gone(failure)) => Step::Ended(failure),
            Turn::End(End::Refused(failure)) => {
                outbox::last_words(&mut self.socket).await;
                Step::Ended(failure)
            }
            Turn::End(End::PeerClosed(failure)) => {
                outbox::finish(&mut self.socket).await;
                Step::Ended(failure)
            }
        }
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Turn> {
        match self.outbox.poll(&mut self.socket, cx) {
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
