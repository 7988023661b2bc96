//! Frames on their way into a WebSocket, and how one ends. A frame is queued at once and written as the peer takes it, so
//! that reading never waits for writing.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::Sink;
use tokio::io::{AsyncRead, AsyncWrite};
use yawc::{Frame, WebSocket, WebSocketError};

/// How long the last frames of a connection may take.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// What is queued for one connection.
#[derive(Default)]
pub struct Outbox {
    /// Frames, and whether it is reported when they are sent.
    waiting: VecDeque<(Frame, bool)>,
    /// Reported ones in the socket's buffer, not flushed yet.
    unflushed: u32,
    flushing: bool,
}

impl Outbox {
    /// Queues a frame. `report`: [`poll`](Self::poll) says when it is sent.
    pub fn push(&mut self, frame: Frame, report: bool) {
        self.waiting.push_back((frame, report));
    }

    /// Moves what is queued into the socket; the task is woken when more of it can be. `Ok(true)`: a frame that is
    /// reported is on its way, once for each of them; call again then.
    ///
    /// # Errors
    /// When the connection broke.
    pub fn poll<S: AsyncRead + AsyncWrite + Unpin>(
        &mut self,
        socket: &mut WebSocket<S>,
        cx: &mut Context<'_>,
    ) -> Result<bool, WebSocketError> {
        let mut socket = Pin::new(socket);
        while !self.waiting.is_empty() {
            match socket.as_mut().poll_ready(cx)? {
                Poll::Pending => return Ok(false),
                Poll::Ready(()) => {}
            }
            if let Some((frame, report)) = self.waiting.pop_front() {
                socket.as_mut().start_send(frame)?;
                self.flushing = true;
                self.unflushed += u32::from(report);
            }
        }
        if self.flushing && socket.poll_flush(cx)?.is_ready() {
            self.flushing = false;
        }
        let sent = !self.flushing && self.unflushed > 0;
        self.unflushed -= u32::from(sent);
        Ok(sent)
    }
}

/// Writes what is left of a connection on which the peer broke a rule, the library's own Close frame too.
pub async fn last_words<S: AsyncRead + AsyncWrite + Unpin>(socket: &mut WebSocket<S>) {
    let flush = async {
        let _ = poll_fn(|cx| Pin::new(&mut *socket).poll_flush(cx)).await;
        // Another poll after an error is what writes the library's own Close frame.
        let _ = poll_fn(|cx| socket.poll_next_frame(cx)).await;
    };
    let _ = tokio::time::timeout(LAST_WORDS, flush).await;
}

/// Completes the closing procedure after the peer's Close frame.
pub async fn finish<S: AsyncRead + AsyncWrite + Unpin>(socket: &mut WebSocket<S>) {
    let close = poll_fn(|cx| Pin::new(&mut *socket).poll_close(cx));
    let _ = tokio::time::timeout(LAST_WORDS, close).await;
}
