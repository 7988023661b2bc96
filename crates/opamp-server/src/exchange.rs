//! One message: found its agent, processed by the session, told to the application, answered. The same for both
//! transports; what differs is in `http` and `websocket`.

use std::collections::HashMap;
use std::sync::{Arc, MutexGuard};

use bytes::Bytes;
use opamp_proto::server::{Answer, Received, ServerSession, Transport};
use opamp_proto::uid::InvalidUid;
use opamp_proto::{InstanceUid, Moment, RawAgentToServer, ServerCapabilities, wire};

use crate::agent::{Agent, CloseReason, Disconnect, Live, NewAgent, Peer};
use crate::handler::{Direction, Handler, Overload, Rejection, StatusReport};
use crate::outbox::Outbox;
use crate::server::Shared;
use crate::traffic::Flow;

/// What carries messages: a WebSocket, or one plain request.
pub(crate) struct Via<H: Handler> {
    pub(crate) shared: Arc<Shared<H>>,
    pub(crate) principal: H::Principal,
    pub(crate) peer: Arc<Peer>,
    /// `None` for a plain request.
    pub(crate) outbox: Option<Arc<Outbox>>,
    /// The agent that was heard first: nearly always the only one.
    first: Option<Arc<Agent<H>>>,
    others: HashMap<InstanceUid, Arc<Agent<H>>>,
    /// What the holder of an instance_uid that is another agent's was told to take instead.
    renames: Vec<(InstanceUid, InstanceUid)>,
}

/// What became of a message.
pub(crate) enum Outcome {
    /// Processed.
    Answer {
        /// The encoded answer.
        bytes: Bytes,
        /// When the agent's session wants to be looked at again.
        wake: Option<Moment>,
    },
    /// Not processed: BAD_REQUEST.
    BadRequest(Box<wire::ServerToAgent>),
    /// The credential is not good for this agent: 401, or a connection with nobody on it that closes.
    Unauthorized(String),
    /// Not processed: too much to do. With the instance_uid to answer to.
    Busy(Bytes, Overload),
}

impl<H: Handler> Via<H> {
    pub(crate) fn new(
        shared: Arc<Shared<H>>,
        principal: H::Principal,
        peer: Arc<Peer>,
        outbox: Option<Arc<Outbox>>,
    ) -> Self {
        Self { shared, principal, peer, outbox, first: None, others: HashMap::new(), renames: Vec::new() }
    }

    fn transport(&self) -> Transport {
        if self.outbox.is_some() { Transport::WebSocket } else { Transport::Http }
    }

    /// What is counted of this transport.
    pub(crate) fn flow(&self) -> &Flow {
        self.shared.traffic.over(self.transport())
    }

    /// An agent on this connection.
    pub(crate) fn agent(&self, uid: InstanceUid) -> Option<&Arc<Agent<H>>> {
        self.first.as_ref().filter(|agent| agent.instance_uid() == uid).or_else(|| self.others.get(&uid))
    }

    /// How many agents are on this connection.
    fn count(&self) -> usize {
        usize::from(self.first.is_some()) + self.others.len()
    }

    /// The agents on this connection.
    pub(crate) fn agents(&self) -> impl Iterator<Item = &Arc<Agent<H>>> {
        self.first.iter().chain(self.others.values())
    }

    /// The instance_uid to answer to when a message does not tell its own (UID-12).
    fn only_uid(&self) -> Bytes {
        match &self.first {
            Some(agent) if self.others.is_empty() => agent.instance_uid().to_bytes(),
            _ => Bytes::new(),
        }
    }

    /// BAD_REQUEST for something that cannot be matched to an agent by its content.
    pub(crate) fn malformed(&self, why: impl std::fmt::Display, hint: Option<InstanceUid>) -> Outcome {
        let uid = hint.map_or_else(|| self.only_uid(), InstanceUid::to_bytes);
        bad_request(uid, why.to_string())
    }

    /// Processes one encoded AgentToServer. `hint` is the instance_uid that the transport names.
    pub(crate) async fn handle(&mut self, data: &[u8], hint: Option<InstanceUid>) -> Outcome {
        match self.try_handle(self.shared.clock.now(), data, hint) {
            Some(outcome) => outcome,
            None => self.introduce(data).await,
        }
    }

    /// The same without waiting, which is all that nearly every message needs. `None`: the agent has no live session
    /// here and must be introduced.
    pub(crate) fn try_handle(
        &mut self,
        now: Moment,
        data: &[u8],
        hint: Option<InstanceUid>,
    ) -> Option<Outcome> {
        let message = match RawAgentToServer::decode(data) {
            Ok(message) => message,
            Err(error) => return Some(self.malformed(error, hint)),
        };
        let raw_uid = message.instance_uid;
        if let Some(overload) = self.shared.handler.overload() {
            return Some(Outcome::Busy(Bytes::copy_from_slice(raw_uid), overload));
        }
        let uid = match InstanceUid::try_from_slice(raw_uid) {
            Ok(uid) => uid,
            Err(InvalidUid::Zero) if wants_uid(&message) => return Some(self.name_the_nameless(raw_uid)),
            Err(error) => return Some(bad_request(Bytes::copy_from_slice(raw_uid), error.to_string())),
        };
        let agent = self.find(uid)?;
        self.shared.handler.passed(&agent, Direction::FromAgent, data);
        self.deliver(now, &agent, &message)
    }

    /// Lets in the agent of a message that [`Self::try_handle`] left.
    pub(crate) async fn introduce(&mut self, data: &[u8]) -> Outcome {
        match RawAgentToServer::decode(data) {
            Ok(message) => match InstanceUid::try_from_slice(message.instance_uid) {
                Ok(uid) => self.meet(uid, &message, data).await,
                Err(error) => self.malformed(error, None),
            },
            Err(error) => self.malformed(error, None),
        }
    }

    /// The live agent of an instance_uid, if it is this connection that carries it.
    fn find(&self, uid: InstanceUid) -> Option<Arc<Agent<H>>> {
        if self.outbox.is_some() {
            return self.agent(uid).cloned();
        }
        let agent = self.shared.agents.get(uid)?;
        (agent.is_poller() && *agent.principal() == self.principal).then_some(agent)
    }

    /// A message of a known agent. `None`: its session ended meanwhile.
    fn deliver(
        &mut self,
        now: Moment,
        agent: &Arc<Agent<H>>,
        message: &RawAgentToServer<'_>,
    ) -> Option<Outcome> {
        agent.hear(now);
        let mut live = agent.lock();
        if live.ended {
            return None;
        }
        let received = match live.session.receive(message) {
            Ok(received) => received,
            Err(refused) => {
                drop(live);
                return Some(self.refuse(agent, refused.to_string()));
            }
        };
        self.flow().processed(received.is_news());
        if received.is_news() {
            drop(live);
            self.shared.handler.reported(agent, &StatusReport { message, received, first: false });
            live = agent.lock();
        }
        Some(self.answer(now, agent, live, received))
    }

    /// BAD_REQUEST for an agent that has a session.
    fn refuse(&self, agent: &Arc<Agent<H>>, why: String) -> Outcome {
        use wire::Message as _;
        let kind = wire::ServerErrorResponseType::BadRequest;
        let answer = wire::ServerToAgent::refuse(agent.instance_uid().to_bytes(), kind, why);
        self.shared.handler.passed(agent, Direction::ToAgent, &answer.encode_to_vec());
        Outcome::BadRequest(Box::new(answer))
    }

    /// Composes the answer, after the application had its say.
    fn answer(
        &mut self,
        now: Moment,
        agent: &Arc<Agent<H>>,
        mut live: MutexGuard<'_, Live>,
        received: Received,
    ) -> Outcome {
        let uid = agent.instance_uid();
        if received.wants_uid {
            live.session.rename(self.shared.agents.promise(uid, || self.shared.fresh_uid()));
        }
        let answer = live.session.poll_answer(now, &self.shared.settings.session);
        let wake = live.session.poll_timeout();
        if received.interleaved {
            live.session.settle();
        }
        drop(live);
        let mut answer = answer.unwrap_or_else(|| acknowledge(uid));
        if received.interleaved {
            // DUP-7: whoever sent this takes another instance_uid, the other one keeps it.
            answer.renamed_to = Some(self.shared.fresh_uid());
        }
        if received.disconnected {
            self.part(agent, Disconnect::Goodbye);
        }
        Outcome::Answer { bytes: self.leaving(agent, &answer), wake }
    }

    /// Encodes what leaves for an agent, and lets the application look on.
    pub(crate) fn leaving(&self, agent: &Arc<Agent<H>>, answer: &Answer) -> Bytes {
        let framed = self.outbox.is_some();
        let bytes = answer.encode(framed);
        let message = if framed { opamp_proto::frame::data(&bytes).unwrap_or_default() } else { &bytes[..] };
        self.shared.handler.passed(agent, Direction::ToAgent, message);
        bytes
    }

    /// A message of an instance_uid that has no live session here.
    async fn meet(&mut self, uid: InstanceUid, message: &RawAgentToServer<'_>, data: &[u8]) -> Outcome {
        if let Some((_, new)) = self.renames.iter().find(|(old, _)| *old == uid) {
            return self.rename_answer(uid, *new);
        }
        if message.agent_disconnect {
            // S14.
            return bad_request(
                uid.to_bytes(),
                "this agent is not connected, so it cannot disconnect".into(),
            );
        }
        if wants_uid(message) {
            let new = self.shared.agents.promise(uid, || self.shared.fresh_uid());
            return self.rename_answer(uid, new);
        }
        if self.count() >= self.shared.settings.max_agents_per_connection {
            let limit = self.shared.settings.max_agents_per_connection;
            return bad_request(uid.to_bytes(), format!("a connection carries at most {limit} agents"));
        }
        if self.is_anothers(uid).await {
            let new = self.shared.fresh_uid();
            self.renames.push((uid, new));
            return self.rename_answer(uid, new);
        }
        self.welcome(uid, message, data).await
    }

    /// Whether another connection carries this instance_uid and is alive: then this is a second agent with the
    /// same one and not the first agent reconnecting (DUP-4).
    async fn is_anothers(&self, uid: InstanceUid) -> bool {
        let Some(other) = self.shared.agents.get(uid) else { return false };
        let Some(outbox) = other.lock().outbox.clone() else { return false };
        let probe = outbox.probe();
        match tokio::time::timeout(self.shared.settings.probe_timeout, probe).await {
            Ok(Ok(())) => true,
            Ok(Err(_)) => false,
            Err(_) => {
                outbox.close(CloseReason::Replaced);
                false
            }
        }
    }

    /// A new session.
    async fn welcome(&mut self, uid: InstanceUid, message: &RawAgentToServer<'_>, data: &[u8]) -> Outcome {
        let agent = Arc::new(Agent::new(NewAgent {
            uid,
            transport: self.transport(),
            principal: self.principal.clone(),
            peer: self.peer.clone(),
            outbox: self.outbox.clone(),
            clock: self.shared.clock,
        }));
        self.remember_offer(&agent);
        let received = match agent.lock().session.receive(message) {
            Ok(received) => received,
            Err(refused) => return bad_request(uid.to_bytes(), refused.to_string()),
        };
        let report = StatusReport { message, received, first: true };
        if let Err(rejection) = self.shared.handler.admit(&agent, &report).await {
            return self.reject(uid, rejection);
        }
        if let Some(before) = self.shared.agents.insert(agent.clone()) {
            self.shared.end(&before, Disconnect::Moved);
        }
        if let Some(old) = self.shared.agents.fulfil(uid).and_then(|old| self.shared.agents.get(old)) {
            self.part(&old, Disconnect::Renamed(uid));
        }
        if self.outbox.is_some() {
            self.carry(&agent);
        }
        self.flow().processed(true);
        self.shared.handler.passed(&agent, Direction::FromAgent, data);
        self.shared.handler.reported(&agent, &report);
        self.answer(self.shared.clock.now(), &agent, agent.lock(), received)
    }

    /// How often the last session of this agent made its offer.
    fn remember_offer(&self, agent: &Arc<Agent<H>>) {
        let uid = agent.instance_uid();
        let before = self.shared.agents.get(uid);
        let offer = before.and_then(|before| before.read(ServerSession::carry_out));
        if let Some(offer) = offer.or_else(|| self.shared.carried.get(uid)) {
            agent.lock().session.carry_in(self.shared.clock.now(), offer);
        }
    }

    /// An agent that is not let in takes nobody with it: a connection that carries others stays.
    fn reject(&self, uid: InstanceUid, rejection: Rejection) -> Outcome {
        match rejection {
            Rejection::BadRequest(why) => bad_request(uid.to_bytes(), why),
            Rejection::Unauthorized(why) if self.count() > 0 => bad_request(uid.to_bytes(), why),
            Rejection::Unauthorized(why) => Outcome::Unauthorized(why),
            Rejection::Unavailable(overload) => Outcome::Busy(uid.to_bytes(), overload),
        }
    }

    /// An agent joins this connection. One of the same instance_uid that is still here has ended.
    fn carry(&mut self, agent: &Arc<Agent<H>>) {
        let uid = agent.instance_uid();
        match &self.first {
            Some(first) if first.instance_uid() != uid => drop(self.others.insert(uid, agent.clone())),
            _ => self.first = Some(agent.clone()),
        }
    }

    /// An agent leaves this connection.
    pub(crate) fn part(&mut self, agent: &Arc<Agent<H>>, why: Disconnect) {
        self.shared.end(agent, why);
        self.others.remove(&agent.instance_uid());
        if self.first.as_ref().is_some_and(|first| Arc::ptr_eq(first, agent)) {
            let next = self.others.keys().next().copied();
            self.first = next.and_then(|uid| self.others.remove(&uid));
        }
    }

    /// Every agent leaves.
    pub(crate) fn part_all(&mut self, why: Disconnect) {
        for agent in self.first.take().into_iter().chain(self.others.drain().map(|(_, agent)| agent)) {
            self.shared.end(&agent, why);
        }
    }

    /// An agent that has no instance_uid of its own (UID-9, UID-10) and sends zeros.
    fn name_the_nameless(&mut self, raw: &[u8]) -> Outcome {
        let zero = Bytes::copy_from_slice(raw);
        let new = self.shared.fresh_uid();
        let identification = wire::AgentIdentification { new_instance_uid: new.to_bytes() };
        let answer = wire::ServerToAgent {
            instance_uid: zero,
            agent_identification: Some(identification),
            capabilities: self.shared.settings.session.announced().bits(),
            ..Default::default()
        };
        Outcome::Answer { bytes: self.encode(&answer), wake: None }
    }

    fn rename_answer(&self, uid: InstanceUid, new: InstanceUid) -> Outcome {
        let answer = Answer {
            capabilities: self.shared.settings.session.announced(),
            renamed_to: Some(new),
            ..acknowledge(uid)
        };
        Outcome::Answer { bytes: answer.encode(self.outbox.is_some()), wake: None }
    }

    /// Encodes a message as this transport carries it.
    pub(crate) fn encode(&self, message: &wire::ServerToAgent) -> Bytes {
        use wire::Message as _;
        match self.outbox {
            Some(_) => opamp_proto::frame::encode(message),
            None => message.encode_to_vec().into(),
        }
    }
}

const fn wants_uid(message: &RawAgentToServer<'_>) -> bool {
    message.flags & wire::AgentToServerFlags::RequestInstanceUid as u64 != 0
}

fn acknowledge(uid: InstanceUid) -> Answer {
    Answer {
        uid,
        full_state: false,
        capabilities: ServerCapabilities::default(),
        renamed_to: None,
        config: None,
    }
}

fn bad_request(uid: Bytes, why: String) -> Outcome {
    let kind = wire::ServerErrorResponseType::BadRequest;
    Outcome::BadRequest(Box::new(wire::ServerToAgent::refuse(uid, kind, why)))
}
