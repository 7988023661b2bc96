//! When a remote configuration is offered: RCFG-7, RCFG-8, CFG-3, and how often at most.
//!
//! ```text
//!                    agent reports the offered hash (applied, applying or failed)
//!          ┌────────────────────────────────────────────────────────────────┐
//!  Due ──offer sent──▶ Sent(n, next) ──next passed──▶ Due … until n = 6 ──▶ GivenUp
//!   ▲                       │ agent reports the offered hash                  │
//!   │                       ▼                                                 ▼
//!   └── another hash ── Settled                            a new offer starts at Due
//! ```
//!
//! How often an offer was sent outlives the connection: see [`CarriedOffer`].

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use prost::Message;

use crate::hash;
use crate::moment::Moment;
use crate::wire;

/// How long an offer may stay unanswered before it is repeated; doubled with each repetition. A status report
/// that is on its way is never overtaken by the same offer.
pub const FIRST_PAUSE: Duration = Duration::from_secs(60);

/// How many times an offer is repeated before the operator is asked to look.
pub const REPETITIONS: u8 = 5;

/// How long after the last attempt the count is kept for an agent that comes back. An agent that falls over each time
/// it gets the offer is thus offered it so often an hour, and not at each of its starts.
pub const MEMORY: Duration = Duration::from_secs(3600);

/// A configuration that is to be offered, encoded once for all agents that get it.
#[derive(Debug, PartialEq, Eq)]
pub struct ConfigOffer {
    encoded: Bytes,
    hash: Bytes,
}

impl ConfigOffer {
    /// An offer of these files; its hash covers their names, types and content (CFG-21).
    pub fn new(config: wire::AgentConfigMap) -> Arc<Self> {
        let hash = hash::config_hash(&config);
        let message = wire::AgentRemoteConfig { config: Some(config), config_hash: hash.clone() };
        Arc::new(Self { encoded: message.encode_to_vec().into(), hash })
    }

    /// The `config_hash`.
    pub const fn hash(&self) -> &Bytes {
        &self.hash
    }

    /// The encoded AgentRemoteConfig.
    pub const fn encoded(&self) -> &Bytes {
        &self.encoded
    }
}

/// Where an offer stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OfferState {
    /// To be sent with the next message.
    Due,
    /// Sent this many times; again at `next` unless the agent answers.
    Sent {
        /// How often it was sent.
        times: u8,
        /// When it may be sent again.
        next: Moment,
    },
    /// The agent holds this hash, whatever became of it: a FAILED one is not offered again (S40).
    Settled {
        /// How often it was sent so far. The count goes on if the agent falls back to another hash.
        times: u8,
    },
    /// Sent as often as allowed, without the agent ever keeping it: an operator must look.
    GivenUp,
}

/// What a session that ended leaves to the next session of the same agent: which offer it made last, and how often.
/// Whoever makes the sessions keeps it between the two.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CarriedOffer {
    offer: Arc<ConfigOffer>,
    times: u8,
    sent_at: Moment,
}

impl CarriedOffer {
    /// Whether it is too old to count.
    pub fn is_over(&self, now: Moment) -> bool {
        now.since(self.sent_at) >= MEMORY
    }
}

/// The offer to one agent.
#[derive(Debug, Clone)]
pub(super) struct Offering {
    pub(super) offer: Arc<ConfigOffer>,
    pub(super) state: OfferState,
    /// Whether the operator wants it. One that was carried over rests until it is wanted again.
    pub(super) wanted: bool,
    /// When it was sent last; `None` before the first time.
    sent_at: Option<Moment>,
}

/// The pause after the offer was sent for the `times`-th time.
fn pause(times: u8) -> Duration {
    FIRST_PAUSE.saturating_mul(1 << u32::from(times.saturating_sub(1)).min(16))
}

impl Offering {
    pub(super) fn new(offer: Arc<ConfigOffer>, reported: Option<&[u8]>) -> Self {
        let mut offering = Self { offer, state: OfferState::Due, wanted: true, sent_at: None };
        if reported == Some(&offering.offer.hash[..]) {
            offering.state = OfferState::Settled { times: 0 };
        }
        offering
    }

    /// What is to be known of it when the agent comes back; nothing if it was never sent.
    pub(super) fn carry_out(&self) -> Option<CarriedOffer> {
        let times = match self.state {
            OfferState::Due => 0,
            OfferState::Sent { times, .. } | OfferState::Settled { times } => times,
            OfferState::GivenUp => REPETITIONS + 1,
        };
        Some(CarriedOffer { offer: self.offer.clone(), times, sent_at: self.sent_at? })
    }

    /// The agent is back in a new session. What it holds is not known yet: it may have lost what it had confirmed.
    pub(super) fn carry_in(now: Moment, carried: CarriedOffer) -> Self {
        let CarriedOffer { offer, times, sent_at } = carried;
        let state =
            if times > REPETITIONS { OfferState::GivenUp } else { OfferState::Sent { times, next: now } };
        Self { offer, state, wanted: false, sent_at: Some(sent_at) }
    }

    /// The agent said which hash it holds.
    pub(super) fn reported(&mut self, hash: &[u8]) {
        let same = hash == self.offer.hash;
        self.state = match self.state {
            OfferState::Due if same => OfferState::Settled { times: 0 },
            OfferState::Sent { times, .. } if same => OfferState::Settled { times },
            OfferState::GivenUp if same => OfferState::Settled { times: REPETITIONS + 1 },
            OfferState::Settled { times } if !same => self.again(times),
            other => other,
        };
    }

    /// RCFG-8 holds again, with the pauses and the bound that this offer has already earned.
    fn again(&self, times: u8) -> OfferState {
        match self.sent_at {
            None => OfferState::Due,
            Some(_) if times > REPETITIONS => OfferState::GivenUp,
            Some(sent) => OfferState::Sent { times, next: sent + pause(times.max(1)) },
        }
    }

    /// The agent is back on a new connection: an offer that went down with the old one is due at once, but it
    /// counts.
    pub(super) fn reconnected(&mut self, now: Moment) {
        if let OfferState::Sent { times, .. } = self.state {
            self.state = OfferState::Sent { times, next: now };
        }
    }

    /// Whether the offer belongs into a message that leaves now.
    pub(super) fn is_due(&mut self, now: Moment) -> bool {
        match self.state {
            OfferState::Due => true,
            OfferState::Sent { times, next } if next <= now => {
                if times > REPETITIONS {
                    self.state = OfferState::GivenUp;
                }
                times <= REPETITIONS
            }
            _ => false,
        }
    }

    /// The offer left.
    pub(super) fn sent(&mut self, now: Moment) {
        let times = match self.state {
            OfferState::Sent { times, .. } => times.saturating_add(1),
            _ => 1,
        };
        self.sent_at = Some(now);
        self.state = OfferState::Sent { times, next: now + pause(times) };
    }

    /// When to look again without being told anything.
    pub(super) fn timeout(&self) -> Option<Moment> {
        match self.state {
            OfferState::Sent { next, .. } => Some(next),
            _ => None,
        }
    }
}
