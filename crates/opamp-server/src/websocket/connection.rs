//! The task of one WebSocket. It owns the connection and its agents and waits for three things: a frame, an errand
//! in its outbox, and its clock.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use futures_util::SinkExt;
use hyper::upgrade::OnUpgrade;
use opamp_proto::server::ServerSession;
use opamp_proto::{InstanceUid, Moment, frame, wire};
use tokio::sync::oneshot;
use tokio::time::Sleep;
use yawc::frame::{Frame, OpCode};
use yawc::{Result as WsResult, WebSocketError};

use super::liveness::{Liveness, Verdict, look_at};
use super::metered::{Complete, Metered, Socket};
use super::ws::{Accepted, Ws, close_frame};
use crate::agent::{CloseReason, Disconnect, Peer};
use crate::exchange::{Outcome, Via};
use crate::handler::{Handler, Overload};
use crate::outbox::{Errands, Outbox};
use crate::server::Shared;
use crate::traffic::Reason;

/// How long a peer may take to answer a close frame.
const GOODBYE: Duration = Duration::from_secs(3);

/// Takes the connection over from HTTP and serves it to its end.
pub(super) async fn run<H: Handler>(
    shared: Arc<Shared<H>>,
    principal: H::Principal,
    peer: Arc<Peer>,
    upgrade: OnUpgrade,
    accepted: Accepted,
) {
    let Ok(upgraded) = upgrade.await else { return };
    let (socket, ahead) = Socket::of(upgraded);
    let mut stream = Metered::new(socket, ahead, shared.budget.clone());
    let complete = stream.completion();
    let Ok(ws) = accepted.open(stream) else { return };
    let outbox = Arc::new(Outbox::new());
    shared.opened(&outbox);
    let via = Via::new(shared, principal, peer, Some(outbox.clone()));
    // A task of its own, so that nothing of the handshake is kept for as long as the connection lives.
    let mut connection = Box::new(Connection::new(ws, via, outbox, complete));
    tokio::spawn(async move { connection.serve().await });
}

/// What the connection waits for.
enum Event {
    Frame(WsResult<Frame>),
    Errands(Errands),
    Clock,
}

/// What a frame asks for.
enum Todo {
    Nothing,
    Send(Frame),
    /// Anything else. Its future is boxed: what it needs must not make every idle connection larger.
    Rare(Rare),
}

/// What happens seldom.
enum Rare {
    /// A message whose agent is not known here yet.
    Introduce(Bytes),
    /// A message that was not processed.
    Refuse(Outcome),
    /// A frame that ends the connection.
    End(End),
    /// The peer's close frame.
    Closed,
    /// A fault of the peer's, or the end of the stream.
    Fault(WebSocketError),
    Errands(Errands),
    Clock,
}

/// How the connection ends.
struct End {
    why: Disconnect,
    /// The close frame to send, if the peer can still read one.
    close: Option<CloseReason>,
}

impl End {
    const fn broken() -> Self {
        Self { why: Disconnect::Broken, close: None }
    }

    const fn closing(reason: CloseReason) -> Self {
        Self { why: Disconnect::Server(reason), close: Some(reason) }
    }
}

struct Connection<H: Handler> {
    ws: Ws,
    via: Via<H>,
    outbox: Arc<Outbox>,
    complete: Complete,
    liveness: Liveness,
    clock: Pin<Box<Sleep>>,
    probes: Vec<oneshot::Sender<()>>,
    listening: bool,
}

impl<H: Handler> Drop for Connection<H> {
    /// Whatever ends the task, its agents are told to be gone.
    fn drop(&mut self) {
        self.via.part_all(Disconnect::Broken);
        self.via.shared.closed(&self.outbox);
    }
}

impl<H: Handler> Connection<H> {
    fn new(ws: Ws, via: Via<H>, outbox: Arc<Outbox>, complete: Complete) -> Self {
        let shared = &via.shared;
        let now = shared.clock.now();
        // A tenth either way, so that a fleet that came at once is not pinged at once.
        let spread = 900 + (Arc::as_ptr(&outbox) as usize / 64 % 201) as u32;
        let interval = shared.settings.ping_after.saturating_mul(spread) / 1000;
        let liveness = Liveness::new(now, interval, shared.settings.missed_pings);
        let first = look_at(now + interval, shared.settings.ping_after);
        let clock = Box::pin(tokio::time::sleep_until(shared.clock.instant(first)));
        Self { ws, via, outbox, complete, liveness, clock, probes: Vec::new(), listening: false }
    }

    async fn serve(&mut self) {
        let end = loop {
            let todo = match poll_fn(|cx| self.poll_event(cx)).await {
                Event::Frame(Ok(frame)) => self.on_frame(frame),
                Event::Frame(Err(error)) => Todo::Rare(Rare::Fault(error)),
                Event::Errands(errands) => self.on_errands(errands),
                Event::Clock => Todo::Rare(Rare::Clock),
            };
            let step = match todo {
                Todo::Nothing => Ok(()),
                Todo::Send(frame) => self.send(frame).await,
                Todo::Rare(rare) => Box::pin(self.on_rare(rare)).await,
            };
            if let Err(end) = step {
                break end;
            }
        };
        self.via.part_all(end.why);
        if let Some(reason) = end.close {
            Box::pin(self.say_goodbye(reason)).await;
        }
    }

    fn poll_event(&mut self, cx: &mut Context<'_>) -> Poll<Event> {
        // A task has one waker for all its life, so it is left with the outbox once and again after each use.
        if !std::mem::replace(&mut self.listening, true) {
            self.outbox.register(cx.waker());
        }
        if let Some(errands) = self.outbox.take() {
            self.listening = false;
            return Poll::Ready(Event::Errands(errands));
        }
        if let Poll::Ready(frame) = self.ws.poll_next_frame(cx) {
            return Poll::Ready(Event::Frame(frame));
        }
        self.clock.as_mut().poll(cx).map(|()| Event::Clock)
    }

    fn on_frame(&mut self, frame: Frame) -> Todo {
        let now = self.via.shared.clock.now();
        match frame.opcode() {
            OpCode::Ping | OpCode::Pong => self.complete.mark_control(frame.payload().len()),
            _ => self.complete.mark(),
        }
        self.liveness.heard(now);
        for probe in self.probes.drain(..) {
            let _ = probe.send(());
        }
        match frame.opcode() {
            OpCode::Binary => self.on_message(now, frame.into_payload()),
            OpCode::Text => Todo::Rare(Rare::End(End::closing(CloseReason::NotBinary))),
            OpCode::Close => Todo::Rare(Rare::Closed),
            // The codec answers pings by itself.
            OpCode::Ping | OpCode::Pong | OpCode::Continuation => Todo::Nothing,
        }
    }

    fn on_message(&mut self, now: Moment, payload: Bytes) -> Todo {
        self.via.flow().received(payload.len());
        let outcome = match frame::data(&payload) {
            Ok(data) => self.via.try_handle(now, data, None),
            Err(error) => Some(self.via.malformed(error, None)),
        };
        match outcome {
            Some(Outcome::Answer { bytes, wake }) => {
                self.wake_at(wake);
                Todo::Send(Frame::binary(bytes))
            }
            Some(other) => Todo::Rare(Rare::Refuse(other)),
            None => Todo::Rare(Rare::Introduce(payload)),
        }
    }

    /// Nearly always there is one agent to be told something.
    fn on_errands(&mut self, mut errands: Errands) -> Todo {
        match errands.take_only_push() {
            Some(uid) => self.due(uid).map_or(Todo::Nothing, Todo::Send),
            None => Todo::Rare(Rare::Errands(errands)),
        }
    }

    async fn on_rare(&mut self, rare: Rare) -> Result<(), End> {
        match rare {
            Rare::Introduce(payload) => {
                let outcome = match frame::data(&payload) {
                    Ok(data) => self.via.introduce(data).await,
                    Err(error) => self.via.malformed(error, None),
                };
                drop(payload);
                self.settle(outcome).await
            }
            Rare::Refuse(outcome) => self.settle(outcome).await,
            Rare::End(end) => Err(end),
            Rare::Closed => {
                // The codec has queued the answer (RFC 6455 5.5.1); it leaves with the next poll.
                let _ = tokio::time::timeout(GOODBYE, self.ws.next_frame()).await;
                Err(End { why: Disconnect::Closed, close: None })
            }
            Rare::Fault(error) => Err(self.on_fault(&error).await),
            Rare::Errands(errands) => self.run_errands(errands).await,
            Rare::Clock => self.on_clock().await,
        }
    }

    async fn settle(&mut self, outcome: Outcome) -> Result<(), End> {
        match outcome {
            Outcome::Answer { bytes, wake } => {
                self.wake_at(wake);
                self.send(Frame::binary(bytes)).await
            }
            Outcome::BadRequest(answer) => {
                self.refused(Reason::BadRequest);
                self.send_message(&answer).await
            }
            Outcome::Unauthorized(why) => {
                self.refused(Reason::Unauthorized);
                tracing::info!(reason = %why, "an agent's credential is not good for its instance_uid");
                Err(End::closing(CloseReason::Policy))
            }
            Outcome::Busy(uid, overload) => {
                self.refused(Reason::Busy);
                self.turn_away(uid, overload).await
            }
        }
    }

    fn refused(&self, reason: Reason) {
        self.via.shared.traffic.refused(reason).add(1);
    }

    /// UNAVAILABLE; the client disconnects by itself (THROTTLE-2).
    async fn turn_away(&mut self, uid: Bytes, overload: Overload) -> Result<(), End> {
        let nanos = overload.retry_after.map_or(0, |wait| u64::try_from(wait.as_nanos()).unwrap_or(u64::MAX));
        self.send_message(&wire::ServerToAgent::unavailable(uid, "too much to do at the moment", nanos)).await
    }

    async fn send_message(&mut self, message: &wire::ServerToAgent) -> Result<(), End> {
        self.send(Frame::binary(frame::encode(message))).await
    }

    async fn run_errands(&mut self, mut errands: Errands) -> Result<(), End> {
        if let Some(reason) = errands.close {
            return Err(End::closing(reason));
        }
        let pushes = errands.take_pushes();
        if !errands.probes.is_empty() {
            self.probes.extend(errands.probes);
            self.send(Frame::ping(Bytes::new())).await?;
        }
        for uid in pushes {
            self.push(uid).await?;
        }
        Ok(())
    }

    /// Sends what is due to one agent.
    async fn push(&mut self, uid: InstanceUid) -> Result<(), End> {
        match self.due(uid) {
            Some(frame) => self.send(frame).await,
            None => Ok(()),
        }
    }

    /// What is due to one agent, which is forgotten if its session was ended.
    fn due(&mut self, uid: InstanceUid) -> Option<Frame> {
        let agent = self.via.agent(uid)?.clone();
        let now = self.via.shared.clock.now();
        let (answer, wake) = {
            let mut live = agent.lock();
            if live.ended {
                drop(live);
                self.via.part(&agent, Disconnect::Closed);
                return None;
            }
            let session = &mut live.session;
            (session.poll_answer(now, &self.via.shared.settings.session), session.poll_timeout())
        };
        self.wake_at(wake);
        answer.map(|answer| Frame::binary(self.via.leaving(&agent, &answer)))
    }

    async fn on_clock(&mut self) -> Result<(), End> {
        let now = self.via.shared.clock.now();
        let silence = loop {
            match self.liveness.poll(now) {
                Verdict::Gone => {
                    return Err(End { why: Disconnect::Silent, close: Some(CloseReason::GoingAway) });
                }
                Verdict::Ping => self.send(Frame::ping(Bytes::new())).await?,
                Verdict::Wait(until) => break until,
            }
        };
        let due: Vec<InstanceUid> = self
            .via
            .agents()
            .filter(|agent| agent.read(ServerSession::poll_timeout).is_some_and(|at| at <= now))
            .map(|agent| agent.instance_uid())
            .collect();
        for uid in due {
            self.push(uid).await?;
        }
        let silence = look_at(silence, self.via.shared.settings.ping_after);
        let next = self.next_session_timeout().map_or(silence, |at| at.min(silence));
        self.clock.as_mut().reset(self.via.shared.clock.instant(next));
        Ok(())
    }

    fn next_session_timeout(&self) -> Option<Moment> {
        self.via.agents().filter_map(|agent| agent.read(ServerSession::poll_timeout)).min()
    }

    /// Sets the clock forward if a session wants to be woken before it rings; it is never set back, so that a
    /// heartbeat costs no timer.
    fn wake_at(&mut self, moment: Option<Moment>) {
        let Some(moment) = moment else { return };
        let at = self.via.shared.clock.instant(moment);
        if at < self.clock.deadline() {
            self.clock.as_mut().reset(at);
        }
    }

    async fn send(&mut self, frame: Frame) -> Result<(), End> {
        if frame.opcode() == OpCode::Binary {
            self.via.flow().sent(frame.payload().len());
        }
        let timeout = self.via.shared.settings.write_timeout;
        let mut sending = pin!(self.ws.send(frame));
        // Nearly every frame is written at once; a timer is made only for one that is not.
        let first = poll_fn(|cx| Poll::Ready(sending.as_mut().poll(cx))).await;
        let result = match first {
            Poll::Ready(result) => result,
            Poll::Pending => match Box::pin(tokio::time::timeout(timeout, sending)).await {
                Ok(result) => result,
                Err(_) => {
                    tracing::debug!("a peer does not read what is written; its connection is dropped");
                    return Err(End::broken());
                }
            },
        };
        result.map_err(|_| End::broken())
    }

    /// The codec found a fault. It has queued a close frame that says which; it leaves with the next poll.
    async fn on_fault(&mut self, error: &WebSocketError) -> End {
        tracing::debug!(%error, "a WebSocket ended");
        let why = match error {
            WebSocketError::ConnectionClosed => Disconnect::Closed,
            WebSocketError::FrameTooLarge => {
                self.refused(Reason::TooLarge);
                Disconnect::Server(CloseReason::TooBig)
            }
            _ => Disconnect::Broken,
        };
        if !matches!(error, WebSocketError::ConnectionClosed | WebSocketError::IoError(_)) {
            self.linger().await;
        }
        End { why, close: None }
    }

    /// Lets the codec write the close frame that it has queued, then reads what is still on its way: a socket that
    /// is closed with unread bytes resets the connection, and the peer would never see the frame.
    async fn linger(&mut self) {
        let parting = async {
            let _ = self.ws.next_frame().await;
            let _ = self.ws.close().await;
        };
        let _ = tokio::time::timeout(GOODBYE, parting).await;
    }

    /// Sends a close frame and waits for the peer's (CLOSE-4).
    async fn say_goodbye(&mut self, reason: CloseReason) {
        let closing = async {
            if self.ws.send(close_frame(reason)).await.is_ok() {
                while let Ok(frame) = self.ws.next_frame().await {
                    if frame.opcode() == OpCode::Close {
                        break;
                    }
                }
            }
        };
        let _ = tokio::time::timeout(GOODBYE, closing).await;
    }
}
