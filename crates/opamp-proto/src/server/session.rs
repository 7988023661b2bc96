//! The machine of one agent. [`ServerSession::receive`] takes a message and says what changed;
//! [`ServerSession::poll_answer`] composes what is to be sent at that moment, so that a reply, a push and a
//! repetition cannot disagree (S3); [`ServerSession::poll_timeout`] says when to look again.

use std::sync::Arc;
use std::time::Duration;

use prost::Message;

use super::answer::Answer;
use super::kept::Kept;
use super::offer::{CarriedOffer, ConfigOffer, OfferState, Offering};
use super::sequence::{Sequence, Step};
use super::settings::{SessionSettings, Transport};
use crate::capabilities::{AgentCapabilities, ServerCapabilities};
use crate::moment::Moment;
use crate::raw::{Part, PartSet, RawAgentToServer, RawError};
use crate::uid::InstanceUid;
use crate::wire;

/// How long an agent that polls may take to answer ReportFullState before it is asked again: some poll each second
/// and need more than one poll to gather their state.
const HTTP_FULL_STATE_PAUSE: Duration = Duration::from_secs(5);

/// What a message did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Received {
    /// The parts that differ from what was known.
    pub changed: PartSet,
    /// The capabilities differ from what was known.
    pub capabilities_changed: bool,
    /// The message repeats the one before (RETX-5): it is answered, nothing else.
    pub repeated: bool,
    /// The agent took its leave (CLOSE-1).
    pub disconnected: bool,
    /// The agent wants an instance_uid of the server's making (UID-11).
    pub wants_uid: bool,
    /// Two agents report under this instance_uid (DUP-4).
    pub interleaved: bool,
}

impl Received {
    /// Whether anything is worth telling to whoever keeps the agent's state.
    pub const fn is_news(&self) -> bool {
        !self.changed.is_empty() || self.capabilities_changed || self.disconnected
    }
}

/// Why a message was not processed: BAD_REQUEST, with nothing changed (BAD-2, S7).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(transparent)]
pub struct Refused(#[from] pub RawError);

/// Whether everything that compression can omit is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Knowledge {
    Complete,
    /// Something is missing; asked for at this time, if at all.
    Missing {
        asked: Option<Moment>,
    },
}

/// The server's end of the conversation with one agent.
#[derive(Debug)]
pub struct ServerSession {
    uid: InstanceUid,
    capabilities: AgentCapabilities,
    sequence: Sequence,
    knowledge: Knowledge,
    transport: Transport,
    /// Whether the agent has had our capabilities on this connection (SCAP-3).
    greeted: bool,
    answer_owed: bool,
    /// The agent took its leave: it is answered, and offered nothing more.
    leaving: bool,
    renamed_to: Option<InstanceUid>,
    config_hash: Option<Box<[u8]>>,
    config_failed: bool,
    offering: Option<Box<Offering>>,
    parts: [Option<Kept>; 8],
}

impl ServerSession {
    /// A session that knows nothing yet, for an agent that is about to be heard for the first time.
    pub const fn new(uid: InstanceUid, transport: Transport) -> Self {
        Self {
            uid,
            capabilities: AgentCapabilities::from_bits(0),
            sequence: Sequence::new(),
            knowledge: Knowledge::Missing { asked: None },
            transport,
            greeted: false,
            answer_owed: false,
            leaving: false,
            renamed_to: None,
            config_hash: None,
            config_failed: false,
            offering: None,
            parts: [const { None }; 8],
        }
    }

    /// The agent appeared on another connection, or again on a new one.
    pub fn attach(&mut self, now: Moment, transport: Transport) {
        self.transport = transport;
        self.greeted = false;
        // What was asked for on the old connection may be lost with it, so a description that comes now need
        // not be the answer.
        if transport == Transport::WebSocket {
            self.forget_asking();
        }
        if let Some(offering) = &mut self.offering {
            offering.reconnected(now);
        }
    }

    /// Processes a message. An error leaves the session as it was.
    pub fn receive(&mut self, message: &RawAgentToServer<'_>) -> Result<Received, Refused> {
        let changed = self.changed_parts(message)?;
        self.answer_owed = true;
        self.leaving = message.agent_disconnect;
        let step = self.step(message);
        let mut received = Received {
            changed,
            capabilities_changed: self.take_capabilities(message.capabilities),
            repeated: step == Step::Again && changed.is_empty(),
            disconnected: message.agent_disconnect,
            wants_uid: message.flags & wire::AgentToServerFlags::RequestInstanceUid as u64 != 0,
            interleaved: self.sequence.is_interleaved(),
        };
        if received.repeated {
            received.wants_uid &= self.renamed_to.is_none();
            // Whoever repeats a message has not had the answer to it, and what that asked for.
            self.forget_asking();
            return Ok(received);
        }
        self.keep(message, changed);
        self.learn(step, message);
        Ok(received)
    }

    fn forget_asking(&mut self) {
        if let Knowledge::Missing { asked } = &mut self.knowledge {
            *asked = None;
        }
    }

    fn changed_parts(&self, message: &RawAgentToServer<'_>) -> Result<PartSet, Refused> {
        let mut changed = PartSet::EMPTY;
        for part in Part::ALL {
            let Some(bytes) = message.part(part) else { continue };
            let known = self.parts[part as usize].as_ref().is_some_and(|kept| kept.is(bytes));
            if !known {
                message.check(part)?;
                changed.insert(part);
            }
        }
        Ok(changed)
    }

    /// A message in which only instance_uid is set says nothing about numbers: some clients poll by the letter
    /// of HTTP-6.
    fn step(&mut self, message: &RawAgentToServer<'_>) -> Step {
        if message.is_bare() && self.sequence.last().is_some() {
            return Step::Next;
        }
        self.sequence.take(message.sequence_num)
    }

    /// CAP-5; a value of 0 says nothing.
    fn take_capabilities(&mut self, bits: u64) -> bool {
        let known = self.capabilities;
        if bits != 0 {
            self.capabilities = AgentCapabilities::from_bits(bits);
        } else if known.is_unspecified() {
            self.capabilities = known.with(wire::AgentCapabilities::ReportsStatus);
        }
        known != self.capabilities
    }

    fn keep(&mut self, message: &RawAgentToServer<'_>, changed: PartSet) {
        for part in changed.iter() {
            let Some(bytes) = message.part(part) else { continue };
            let whole = !matches!(part, Part::EffectiveConfig | Part::AvailableComponents);
            self.parts[part as usize] = Some(Kept::of(bytes, whole));
        }
        if changed.contains(Part::RemoteConfigStatus) {
            self.take_config_status(message.part(Part::RemoteConfigStatus).unwrap_or_default());
        }
    }

    fn take_config_status(&mut self, bytes: &[u8]) {
        let status = wire::RemoteConfigStatus::decode(bytes).unwrap_or_default();
        self.config_failed = status.status == wire::RemoteConfigStatuses::Failed as i32;
        if let Some(offering) = &mut self.offering {
            offering.reported(&status.last_remote_config_hash);
        }
        self.config_hash = Some(status.last_remote_config_hash[..].into());
    }

    /// Decides whether something is missing (SEQ-2, SEQ-3).
    fn learn(&mut self, step: Step, message: &RawAgentToServer<'_>) {
        if message.agent_disconnect {
            return;
        }
        if self.is_full(message) {
            self.knowledge = Knowledge::Complete;
            return;
        }
        match (self.knowledge, step) {
            (Knowledge::Complete, Step::Gap | Step::Again) => {
                self.knowledge = Knowledge::Missing { asked: None };
            }
            (Knowledge::Missing { asked: Some(_) }, _) if message.part(Part::Description).is_some() => {
                self.knowledge = Knowledge::Complete;
            }
            _ => {}
        }
    }

    /// Whether a message holds all that its sender could have left out and we could be missing.
    fn is_full(&self, message: &RawAgentToServer<'_>) -> bool {
        use wire::AgentCapabilities as Bit;
        let promised = |bit, part| !self.capabilities.has(bit) || message.part(part).is_some();
        message.part(Part::Description).is_some()
            && promised(Bit::ReportsHealth, Part::Health)
            && promised(Bit::ReportsEffectiveConfig, Part::EffectiveConfig)
    }

    /// What the operator wants the agent to run; `None` offers nothing more.
    pub fn offer_config(&mut self, offer: Option<Arc<ConfigOffer>>) {
        if let (Some(offering), Some(offer)) = (&mut self.offering, &offer)
            && offering.offer.hash() == offer.hash()
        {
            offering.wanted = true;
            return;
        }
        self.offering = offer.map(|offer| Box::new(Offering::new(offer, self.config_hash.as_deref())));
    }

    /// What the agent's next session is to know of this one's offer.
    pub fn carry_out(&self) -> Option<CarriedOffer> {
        self.offering.as_ref()?.carry_out()
    }

    /// Takes over what the agent's last session knew of its offer, before this session has received anything. It
    /// counts once [`Self::offer_config`] names the same configuration again: then how often that was sent goes on,
    /// and it is due at once unless it was given up.
    pub fn carry_in(&mut self, now: Moment, carried: CarriedOffer) {
        if !carried.is_over(now) && self.offering.is_none() {
            self.offering = Some(Box::new(Offering::carry_in(now, carried)));
        }
    }

    /// Gives the agent another instance_uid (UID-11, DUP-7). Every answer names it until the agent uses it.
    pub fn rename(&mut self, uid: InstanceUid) {
        self.renamed_to.get_or_insert(uid);
        self.sequence.settle();
    }

    /// One of two agents that shared this instance_uid was given another one.
    pub const fn settle(&mut self) {
        self.sequence.settle();
    }

    /// What is to be sent now: an answer that is owed, or on a WebSocket an offer that is due. Ask again until
    /// there is nothing.
    pub fn poll_answer(&mut self, now: Moment, settings: &SessionSettings) -> Option<Answer> {
        let config = self.due_config(now, settings);
        let pushable = self.transport == Transport::WebSocket && self.greeted && config.is_some();
        if !self.answer_owed && !pushable {
            return None;
        }
        if let (Some(_), Some(offering)) = (&config, &mut self.offering) {
            offering.sent(now);
        }
        let greet = !self.greeted || self.transport == Transport::Http;
        self.answer_owed = false;
        self.greeted = true;
        Some(Answer {
            uid: self.uid,
            full_state: self.ask_for_full_state(now, settings),
            capabilities: if greet { settings.announced() } else { ServerCapabilities::default() },
            renamed_to: self.renamed_to,
            config,
        })
    }

    fn due_config(&mut self, now: Moment, settings: &SessionSettings) -> Option<Arc<ConfigOffer>> {
        let able = self.takes_offers()
            && settings.capabilities.has(wire::ServerCapabilities::OffersRemoteConfig)
            && !self.status_may_come(now, settings);
        let offering = self.offering.as_mut().filter(|offering| able && offering.wanted)?;
        offering.is_due(now).then(|| offering.offer.clone())
    }

    /// Whether the agent may hold the offer already and be about to say so: it was running before we first heard it,
    /// and the full state that we ask for will tell. Not waited for longer than for that.
    fn status_may_come(&self, now: Moment, settings: &SessionSettings) -> bool {
        let Knowledge::Missing { asked } = self.knowledge else { return false };
        self.config_hash.is_none()
            && self.capabilities.has(wire::AgentCapabilities::ReportsRemoteConfig)
            && asked.is_none_or(|asked| now.since(asked) < settings.full_state_pause)
    }

    /// ReportFullState once, and again only after a pause (S4).
    fn ask_for_full_state(&mut self, now: Moment, settings: &SessionSettings) -> bool {
        let Knowledge::Missing { asked } = self.knowledge else { return false };
        if self.leaving {
            return false;
        }
        let pause = match self.transport {
            Transport::WebSocket => settings.full_state_pause,
            // The exchange that asked is complete; what is left to wait for is an agent that needs a moment.
            Transport::Http => settings.full_state_pause.min(HTTP_FULL_STATE_PAUSE),
        };
        let due = asked.is_none_or(|asked| now.since(asked) >= pause);
        if due {
            self.knowledge = Knowledge::Missing { asked: Some(now) };
        }
        due
    }

    /// When to call [`Self::poll_answer`] without having received anything: a repetition of an offer on a
    /// WebSocket. Over HTTP there is nothing to wake for, and neither is there while nothing could be pushed:
    /// whoever was woken then would be woken again at once.
    pub fn poll_timeout(&self) -> Option<Moment> {
        let pushable = self.transport == Transport::WebSocket && self.greeted && self.takes_offers();
        let offering = self.offering.as_ref().filter(|offering| pushable && offering.wanted)?;
        offering.timeout()
    }

    /// CFG-3; and nothing is offered to an agent that is leaving.
    fn takes_offers(&self) -> bool {
        self.capabilities.has(wire::AgentCapabilities::AcceptsRemoteConfig) && !self.leaving
    }

    /// The instance_uid.
    pub const fn uid(&self) -> InstanceUid {
        self.uid
    }

    /// The instance_uid that the agent was told to take and does not use yet.
    pub const fn renamed_to(&self) -> Option<InstanceUid> {
        self.renamed_to
    }

    /// What the agent says it can do.
    pub const fn capabilities(&self) -> AgentCapabilities {
        self.capabilities
    }

    /// The sequence_num received last.
    pub const fn sequence_num(&self) -> Option<u64> {
        self.sequence.last()
    }

    /// How the agent is connected.
    pub const fn transport(&self) -> Transport {
        self.transport
    }

    /// Whether everything that the agent can omit is known.
    pub const fn is_complete(&self) -> bool {
        matches!(self.knowledge, Knowledge::Complete)
    }

    /// What is remembered of a part.
    pub const fn part(&self, part: Part) -> Option<&Kept> {
        self.parts[part as usize].as_ref()
    }

    /// The hash in the agent's last remote_config_status.
    pub fn config_hash(&self) -> Option<&[u8]> {
        self.config_hash.as_deref()
    }

    /// Whether the agent failed to apply that configuration.
    pub const fn config_failed(&self) -> bool {
        self.config_failed
    }

    /// What is offered, and where that stands.
    pub fn offered(&self) -> Option<(&Arc<ConfigOffer>, OfferState)> {
        let offering = self.offering.as_ref().filter(|offering| offering.wanted)?;
        Some((&offering.offer, offering.state))
    }
}
