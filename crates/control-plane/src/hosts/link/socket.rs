//! The WebSocket of a host, and the one place here that names its codec.

use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderValue, Request, Response, header};
use bytes::Bytes;
use futures_util::{SinkExt, StreamExt};
use host_proto::join::SUBPROTOCOL;
use host_proto::limits::{COMPRESS_FROM, MAX_MESSAGE};
use hyper::upgrade::{OnUpgrade, Upgraded};
use hyper_util::rt::TokioIo;
use tokio::sync::oneshot;
use yawc::close::CloseCode;
use yawc::frame::{Frame, OpCode};
use yawc::{DeflatePool, Options, Role, WebSocket, WebSocketError};

/// Read and write buffer of an idle connection, in bytes.
const BUFFER: usize = 4096;
/// How many idle compressors all connections share.
const COMPRESSORS: usize = 8;
/// A message that is longer by less than this is read to its end, so that its sender can be told in words (REQ-11). Of one
/// that is longer still the codec reads no more, and says so with the close frame alone.
const WORDS: usize = 1024 * 1024;
/// How long a peer may take to take a message off our hands.
const SEND: Duration = Duration::from_secs(60);
/// How long a peer may take to answer a close frame.
const GOODBYE: Duration = Duration::from_secs(3);

/// A connection.
pub(crate) struct Socket {
    ws: WebSocket<TokioIo<Upgraded>>,
    pub(super) probes: Vec<oneshot::Sender<bool>>,
}

/// What came.
pub(crate) enum Answer {
    /// A text.
    Text(String),
    /// A ping or pong.
    Other,
    /// Nothing more will.
    End,
}

/// The peer is gone, or does not read.
pub(super) struct Broken;

fn options() -> Options {
    static POOL: std::sync::OnceLock<DeflatePool> = std::sync::OnceLock::new();
    let pool = POOL.get_or_init(|| DeflatePool::new(COMPRESSORS)).clone();
    // The preset replaces the whole block, so it comes first. The codec's limits are exclusive.
    Options::default()
        .with_balanced_compression()
        .with_compression_threshold(COMPRESS_FROM)
        .with_deflate_pool(pool)
        .with_server_max_window_bits(15)
        .with_client_max_window_bits(15)
        .server_no_context_takeover()
        .client_no_context_takeover()
        .with_limits(MAX_MESSAGE + WORDS, MAX_MESSAGE + WORDS)
        .with_read_buffer_capacity(BUFFER)
        .with_write_buffer_capacity(BUFFER)
}

/// What follows the answer to an upgrade.
pub(crate) struct Accepted {
    extensions: Option<String>,
    upgrade: OnUpgrade,
}

/// Checks a request for an upgrade and composes the answer; `None`: it is none.
pub(crate) fn accept(request: &mut Request<Body>) -> Option<(Response<Body>, Accepted)> {
    // The codec takes the request's upgrade along, which must stay: it gets a copy of the headers.
    let mut headers = Request::new(());
    *headers.headers_mut() = request.headers().clone();
    let offered = request.headers().get(header::SEC_WEBSOCKET_PROTOCOL).cloned();
    let (answer, _) = WebSocket::upgrade_with_options(&mut headers, options()).ok()?;
    let upgrade = request.extensions_mut().remove::<OnUpgrade>()?;
    let (mut head, _) = answer.into_parts();
    let extensions = head.headers.get(header::SEC_WEBSOCKET_EXTENSIONS);
    let extensions = extensions.and_then(|value| value.to_str().ok()).map(str::to_owned);
    let speaks = offered.is_some_and(|value| {
        value.to_str().is_ok_and(|text| text.split(',').any(|it| it.trim() == SUBPROTOCOL))
    });
    if speaks {
        head.headers.insert(header::SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static(SUBPROTOCOL));
    }
    Some((Response::from_parts(head, Body::empty()), Accepted { extensions, upgrade }))
}

impl Accepted {
    /// The connection, once the stream has changed hands.
    pub(crate) async fn open(self) -> Option<Socket> {
        let stream = TokioIo::new(self.upgrade.await.ok()?);
        let extensions = self.extensions.as_deref();
        let ws = WebSocket::from_stream_with_extensions(stream, Role::Server, extensions, options()).ok()?;
        Some(Socket { ws, probes: Vec::new() })
    }
}

impl Socket {
    /// What comes next.
    pub(super) async fn next(&mut self) -> Answer {
        match self.ws.next_frame().await {
            Ok(frame) => match frame.opcode() {
                OpCode::Text => match std::str::from_utf8(frame.payload()) {
                    Ok(text) => Answer::Text(text.to_owned()),
                    Err(_) => Answer::End,
                },
                OpCode::Close => Answer::End,
                // Frames of streams have no receiver yet.
                OpCode::Binary | OpCode::Ping | OpCode::Pong | OpCode::Continuation => Answer::Other,
            },
            Err(WebSocketError::ConnectionClosed | WebSocketError::IoError(_)) => Answer::End,
            Err(error) => {
                tracing::debug!(%error, "the WebSocket of a host ended");
                Box::pin(self.linger()).await;
                Answer::End
            }
        }
    }

    /// Lets the codec write the close frame that it has queued: it says which fault it found.
    async fn linger(&mut self) {
        let parting = async {
            let _ = self.ws.next_frame().await;
            let _ = self.ws.close().await;
        };
        let _ = tokio::time::timeout(GOODBYE, parting).await;
    }

    pub(super) async fn send(&mut self, text: String) -> Result<(), Broken> {
        self.put(Frame::text(text)).await
    }

    pub(super) async fn ping(&mut self) -> Result<(), Broken> {
        self.put(Frame::ping(Bytes::new())).await
    }

    async fn put(&mut self, frame: Frame) -> Result<(), Broken> {
        let sent: Result<Result<(), WebSocketError>, _> =
            tokio::time::timeout(SEND, self.ws.send(frame)).await;
        sent.map_err(|_| Broken)?.map_err(|_| Broken)
    }

    /// Says goodbye and waits for the answer a little.
    pub(super) async fn close(&mut self, code: u16, reason: &str) {
        if self.put(Frame::close(CloseCode::from(code), reason)).await.is_err() {
            return;
        }
        let _ = tokio::time::timeout(GOODBYE, async { while self.ws.next().await.is_some() {} }).await;
        let _ = tokio::time::timeout(GOODBYE, self.ws.close()).await;
    }
}
