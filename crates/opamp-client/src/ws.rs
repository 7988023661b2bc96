//! The WebSocket transport: handshake, frames both ways at once, pings of our own. The only module that knows
//! the WebSocket library. No compression is offered (Ambiguity 61).

use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use futures_util::Sink;
use http::header::{self, HeaderValue};
use http::{Method, Request, StatusCode};
use http_body_util::Full;
use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use opamp_proto::agent::{Failure, Input};
use outbound::outbox::{self, Outbox};
use sha1::{Digest, Sha1};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::Instant;
use yawc::close::CloseCode;
use yawc::frame::OpCode;
use yawc::{Frame, Options, Role, WebSocket};

use crate::dial::Way;
use crate::http::{Connection, attempt_headers, hyper_error, redirect, status_failure, too_many_redirects};

/// What the owner of the connection asks for.
#[derive(Debug)]
pub(crate) enum Order {
    Send(Bytes),
    Close,
}

/// RFC 6455, section 1.3.
const ACCEPT_GUID: &[u8] = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

/// Read and write buffer: reports are a few kilobytes, heartbeats a few bytes.
const BUFFER: usize = 1024;

/// Opens a connection and carries frames until it ends. Says `Connected`, then `Sent` and `Received`, and at
/// the end the `Failed` that this returns.
pub(crate) async fn run(
    way: &Way,
    mut orders: mpsc::UnboundedReceiver<Order>,
    inputs: &super::runner::Inputs,
) -> Failure {
    let mut pump = match open(way).await {
        Ok(pump) => pump,
        Err(failure) => return failure,
    };
    inputs.send(Input::Connected).await;
    loop {
        let deadline = pump.deadline();
        let step = tokio::select! {
            step = poll_fn(|cx| pump.poll(cx)) => step,
            order = orders.recv() => {
                match order {
                    Some(Order::Send(payload)) => pump.outbox.push(Frame::binary(payload), true),
                    Some(Order::Close) | None => pump.outbox.push(Frame::close(CloseCode::Normal, ""), false),
                }
                continue;
            }
            () = tokio::time::sleep_until(deadline) => match pump.silence() {
                Some(failure) => return failure,
                None => continue,
            },
        };
        match step {
            Step::Sent => inputs.send(Input::Sent).await,
            Step::Received(payload) => inputs.send(Input::Received(payload)).await,
            Step::Ended(failure) => return failure,
            Step::Refuse(code, failure) => {
                pump.last_words(code, &failure).await;
                return failure;
            }
            Step::PeerClosed(failure) => {
                outbox::finish(&mut pump.socket).await;
                return failure;
            }
        }
    }
}

async fn open(way: &Way) -> Result<Pump, Failure> {
    let mut endpoint = way.endpoint.clone();
    for _ in 0..=way.max_redirects {
        let headers = attempt_headers(way, &endpoint).await?;
        let mut connection = Connection::open(way, &endpoint).await?;
        let key = new_key()?;
        let mut request = Request::builder().method(Method::GET).uri(endpoint.target());
        if let Some(all) = request.headers_mut() {
            all.extend(headers);
            all.insert(header::CONNECTION, HeaderValue::from_static("Upgrade"));
            all.insert(header::UPGRADE, HeaderValue::from_static("websocket"));
            all.insert(header::SEC_WEBSOCKET_VERSION, HeaderValue::from_static("13"));
            all.insert(header::SEC_WEBSOCKET_KEY, key.clone());
        }
        let request = request
            .body(Full::new(Bytes::new()))
            .map_err(|error| Failure::Broken(format!("the handshake cannot be made: {error}")))?;
        let mut response = connection
            .send(request)
            .await
            .map_err(|error| Failure::Broken(hyper_error(&endpoint, &error)))?;
        if let Some(next) = redirect(&endpoint, &response)? {
            tracing::debug!(to = %next, "the server redirects");
            endpoint = next;
            continue;
        }
        if response.status() != StatusCode::SWITCHING_PROTOCOLS {
            return Err(status_failure(&endpoint, response.status(), response.headers()));
        }
        if response.headers().get(header::SEC_WEBSOCKET_ACCEPT) != Some(&accept_of(&key)) {
            return Err(Failure::Protocol(format!("{endpoint} does not complete the WebSocket handshake")));
        }
        let driver = connection.release();
        let upgraded = hyper::upgrade::on(&mut response)
            .await
            .map_err(|error| Failure::Broken(hyper_error(&endpoint, &error)))?;
        return Pump::new(way, upgraded, driver);
    }
    Err(too_many_redirects(way))
}

fn new_key() -> Result<HeaderValue, Failure> {
    let mut nonce = [0u8; 16];
    getrandom::fill(&mut nonce).map_err(|error| Failure::Broken(format!("no random numbers: {error}")))?;
    HeaderValue::from_str(&BASE64_STANDARD.encode(nonce)).map_err(|error| Failure::Broken(error.to_string()))
}

fn accept_of(key: &HeaderValue) -> HeaderValue {
    let digest = Sha1::new().chain_update(key.as_bytes()).chain_update(ACCEPT_GUID).finalize();
    HeaderValue::from_str(&BASE64_STANDARD.encode(digest)).unwrap_or(HeaderValue::from_static(""))
}

/// What one turn of the pump came to.
enum Step {
    Received(Bytes),
    Sent,
    /// The connection is gone.
    Ended(Failure),
    /// The peer broke a rule: tell it with this code and go.
    Refuse(CloseCode, Failure),
    /// The peer's Close frame came.
    PeerClosed(Failure),
}

/// Both directions of one connection, in one place, so that no write waits for a read or the reverse (`C30`).
struct Pump {
    socket: WebSocket<TokioIo<Upgraded>>,
    outbox: Outbox,
    keep_alive: Duration,
    heard: Instant,
    pinged: bool,
    max_message: usize,
    driver: JoinHandle<()>,
}

impl Drop for Pump {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

impl Pump {
    fn new(way: &Way, upgraded: Upgraded, driver: JoinHandle<()>) -> Result<Self, Failure> {
        // The library's limits are exclusive.
        let limit = way.max_message + 1;
        let options = Options::default()
            .without_compression()
            .with_limits(limit, limit)
            .with_read_buffer_capacity(BUFFER)
            .with_write_buffer_capacity(BUFFER);
        let socket = WebSocket::from_stream(TokioIo::new(upgraded), Role::Client, options)
            .map_err(|error| Failure::Broken(format!("the WebSocket cannot be set up: {error}")))?;
        Ok(Self {
            socket,
            outbox: Outbox::default(),
            keep_alive: way.keep_alive,
            heard: Instant::now(),
            pinged: false,
            max_message: way.max_message,
            driver,
        })
    }

    fn deadline(&self) -> Instant {
        self.heard + if self.pinged { self.keep_alive * 2 } else { self.keep_alive }
    }

    /// Nothing came for a while: a ping first, and the end after as much time again.
    fn silence(&mut self) -> Option<Failure> {
        if self.pinged {
            return Some(Failure::Broken(format!("the server was silent for {:?}", self.keep_alive * 2)));
        }
        self.pinged = true;
        self.outbox.push(Frame::ping(Bytes::new()), false);
        None
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Step> {
        match self.outbox.poll(&mut self.socket, cx) {
            Err(error) => return Poll::Ready(Step::Ended(broken(&error))),
            Ok(true) => return Poll::Ready(Step::Sent),
            Ok(false) => {}
        }
        loop {
            match self.socket.poll_next_frame(cx) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Err(error)) => return Poll::Ready(self.read_error(&error)),
                Poll::Ready(Ok(frame)) => {
                    self.heard = Instant::now();
                    self.pinged = false;
                    if let Some(step) = take(frame) {
                        return Poll::Ready(step);
                    }
                }
            }
        }
    }

    fn read_error(&self, error: &yawc::WebSocketError) -> Step {
        use yawc::WebSocketError as E;
        match error {
            E::FrameTooLarge => {
                let text = format!("the server sent a message of more than {} bytes", self.max_message);
                Step::Refuse(CloseCode::Size, Failure::Protocol(text))
            }
            E::ConnectionClosed => Step::Ended(Failure::Broken("the connection broke".to_owned())),
            E::IoError(_) => Step::Ended(broken(error)),
            _ => Step::Refuse(
                CloseCode::Protocol,
                Failure::Protocol(format!("the server broke the WebSocket protocol: {error}")),
            ),
        }
    }

    /// Our Close frame, unless the library has put one into its queue for an error that it found itself.
    async fn last_words(&mut self, code: CloseCode, failure: &Failure) {
        let text = failure.to_string();
        if code == CloseCode::Unsupported {
            let _ = Pin::new(&mut self.socket).start_send(Frame::close(code, text));
        }
        outbox::last_words(&mut self.socket).await;
    }
}

fn take(frame: Frame) -> Option<Step> {
    match frame.opcode() {
        OpCode::Binary => Some(Step::Received(frame.into_payload())),
        // Ambiguity 18, `C13`.
        OpCode::Text => {
            let failure =
                Failure::Protocol("the server sent a text message, OpAMP has only binary ones".to_owned());
            Some(Step::Refuse(CloseCode::Unsupported, failure))
        }
        OpCode::Close => {
            let code = frame.close_code().map(u16::from);
            let reason = frame.close_reason().ok().flatten().unwrap_or_default();
            let reason = reason.chars().filter(|c| !c.is_control()).take(120).collect();
            Some(Step::PeerClosed(Failure::Closed { code, reason }))
        }
        // Pings are answered by the library; whatever comes shows that the peer is there.
        OpCode::Ping | OpCode::Pong | OpCode::Continuation => None,
    }
}

fn broken(error: &yawc::WebSocketError) -> Failure {
    Failure::Broken(format!("the connection broke: {error}"))
}
