//! What is kept with a live agent beyond its session: what it is to run and how far it is. Only agents that are to
//! run something, or whose description is too long for the session, have it.

use model::assignment::standing::{config_state, standing};
use model::assignment::{Desired, Held, Standing};
use model::name::is_unseen;
use model::redact::redact;
use model::{AssignmentId, AssignmentState, Attributes, ConfigState, Place, RemoteConfigStatus, RevisionId};
use opamp_proto::Part;
use opamp_proto::server::{OfferState, ServerSession};
use opamp_proto::wire::{AgentDescription, Message as _, RemoteConfigStatus as WireStatus};

use super::plan::Plan;

/// The longest reason that is kept, in bytes.
const MAX_REASON: usize = 512;

/// Kept with a live agent.
#[derive(Debug)]
pub(crate) struct Placed {
    /// The assignment that decides, unless it is pinned.
    pub(super) winner: Option<AssignmentId>,
    /// What it is to run.
    pub(super) desired: Desired,
    /// How far it is.
    pub(super) place: Place,
    /// Whether it was found to run something else than it says.
    pub(super) drifted: bool,
    /// Whether it reported an effective configuration that was not compared yet.
    pub(super) reports_anew: bool,
    /// What it held before it was told, and was compared for that.
    pub(super) held_before: Option<RevisionId>,
    /// Whether it is to run something else by its own words, and said other ones too often lately.
    pub(super) is_damped: bool,
    /// What it says of the configuration that it received last, and which one that is. Kept together: the session may
    /// know of a newer word already, and a new hash with an old status would be a fault that nobody has.
    status: RemoteConfigStatus,
    hash: Option<Box<[u8]>>,
    error: String,
    /// Its attributes, where the session keeps only their hash.
    attributes: Option<Box<Attributes>>,
}

impl Placed {
    /// Nothing is known.
    pub(super) const fn new() -> Self {
        Self {
            winner: None,
            desired: Desired::Unmanaged,
            place: Place::UNMANAGED,
            drifted: false,
            reports_anew: false,
            held_before: None,
            is_damped: false,
            status: RemoteConfigStatus::Unset,
            hash: None,
            error: String::new(),
            attributes: None,
        }
    }

    /// How far it is.
    pub(crate) const fn place(&self) -> &Place {
        &self.place
    }

    /// Whether it is worth keeping.
    pub(super) fn is_needed(&self) -> bool {
        self.attributes.is_some()
            || self.winner.is_some()
            || self.desired != Desired::Unmanaged
            || self.is_damped
    }

    /// Notes a description as it came; `kept`: the session has it whole.
    pub(super) fn describe(&mut self, description: &[u8], kept: bool) {
        self.attributes = (!kept).then(|| Box::new(attributes(description)));
    }

    /// The attributes, from here or from the session.
    pub(super) fn attributes(&self, session: &ServerSession) -> Attributes {
        match &self.attributes {
            Some(attributes) => (**attributes).clone(),
            None => session
                .part(Part::Description)
                .and_then(|kept| kept.whole())
                .map(attributes)
                .unwrap_or_default(),
        }
    }

    /// Notes a status as it came.
    pub(super) fn say(&mut self, status: &[u8]) {
        let WireStatus { last_remote_config_hash, status, mut error_message } =
            WireStatus::decode(status).unwrap_or_default();
        if self.hash.as_deref() != Some(&last_remote_config_hash[..]) {
            self.hash = Some(last_remote_config_hash[..].into());
        }
        error_message.truncate(error_message.floor_char_boundary(MAX_REASON));
        self.status = RemoteConfigStatus::from_wire(status);
        self.error = fit_for_people(&error_message);
    }

    /// Notes what the session knows of the status, when nothing was kept before.
    pub(super) fn recall(&mut self, session: &ServerSession) {
        match session.part(Part::RemoteConfigStatus).map(|kept| kept.whole()) {
            Some(Some(status)) => self.say(status),
            Some(None) => {
                self.hash = session.config_hash().map(Into::into);
                self.status = match session.config_failed() {
                    true => RemoteConfigStatus::Failed,
                    false => RemoteConfigStatus::Applied,
                };
            }
            None => {}
        }
    }

    /// How far it is with what it is to run.
    pub(super) fn standing(&self, plan: &Plan, session: &ServerSession) -> Option<Standing> {
        plan.offer(self.desired).map(|offer| standing(offer.hash(), &self.held(session)))
    }

    fn held(&self, session: &ServerSession) -> Held<'_> {
        Held {
            capabilities: session.capabilities(),
            hash: self.hash.as_deref(),
            status: self.status,
            given_up: matches!(session.offered(), Some((_, OfferState::GivenUp))),
            drifted: self.drifted,
        }
    }

    /// What is decided, in the words of lists.
    pub(super) fn judge(&self, plan: &Plan, session: &ServerSession) -> Place {
        let hash = plan.offer(self.desired).map(|offer| &offer.hash()[..]);
        let held = self.held(session);
        let state = config_state(self.desired, hash, &held);
        Place {
            state,
            assignment: self.desired.assignment(),
            revision: self.desired.revision(),
            reason: self.reason(plan, state, held.given_up),
        }
    }

    fn reason(&self, plan: &Plan, state: ConfigState, given_up: bool) -> String {
        let is_aborted = |id| plan.assignment(id).is_some_and(|one| one.state == AssignmentState::Aborted);
        match (state, self.desired) {
            (ConfigState::Failed, _) if self.error.is_empty() => "the agent gives no reason".to_owned(),
            (ConfigState::Failed, _) => self.error.clone(),
            (ConfigState::Drifted, _) => "its effective configuration says otherwise".to_owned(),
            (ConfigState::Offered, _) if given_up => "no answer to any of six offers".to_owned(),
            (ConfigState::NotConfigurable, _) => "the agent does not accept remote configuration".to_owned(),
            (ConfigState::Unmanaged, Desired::Waiting(id)) if is_aborted(id) => {
                "the rollout was aborted before its turn".to_owned()
            }
            (ConfigState::Unmanaged, Desired::Waiting(_)) => "its turn has not come".to_owned(),
            _ if self.is_damped => {
                "what it says of itself changed too often lately: it keeps what it has for a minute"
                    .to_owned()
            }
            _ => String::new(),
        }
    }
}

/// An agent's text as it may stand in a log, a list and the audit trail: on one line, without characters that nobody
/// sees, secrets masked.
fn fit_for_people(text: &str) -> String {
    let masked = redact(text).text;
    masked.chars().map(|c| if c.is_control() || is_unseen(c) { ' ' } else { c }).collect()
}

/// What cannot be decoded has no attributes: the session checks descriptions before it passes them on.
fn attributes(description: &[u8]) -> Attributes {
    AgentDescription::decode(description).map(Attributes::from).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use opamp_proto::InstanceUid;
    use opamp_proto::raw::RawAgentToServer;
    use opamp_proto::server::Transport;
    use opamp_proto::wire::{AgentToServer, RemoteConfigStatuses};

    use super::*;

    fn status(hash: &'static [u8], status: RemoteConfigStatuses) -> WireStatus {
        let last_remote_config_hash = bytes::Bytes::from_static(hash);
        WireStatus { last_remote_config_hash, status: status.into(), ..WireStatus::default() }
    }

    /// The session hears an agent before anybody is told: whoever looks in between must not take the failure of the last
    /// configuration for one of the next.
    #[test]
    fn a_status_is_never_read_with_the_hash_of_another() {
        let uid = InstanceUid::try_from_slice(&[7; 16]).unwrap();
        let (mut placed, mut session) = (Placed::new(), ServerSession::new(uid, Transport::WebSocket));
        placed.say(&status(b"old", RemoteConfigStatuses::Failed).encode_to_vec());
        let report = AgentToServer {
            instance_uid: uid.to_bytes(),
            remote_config_status: Some(status(b"new", RemoteConfigStatuses::Applied)),
            ..AgentToServer::default()
        };
        session.receive(&RawAgentToServer::decode(&report.encode_to_vec()).unwrap()).unwrap();
        assert_eq!(session.config_hash(), Some(&b"new"[..]));
        let held = placed.held(&session);
        assert_eq!((held.hash, held.status), (Some(&b"old"[..]), RemoteConfigStatus::Failed));
        placed.say(&status(b"new", RemoteConfigStatuses::Applied).encode_to_vec());
        let held = placed.held(&session);
        assert_eq!((held.hash, held.status), (Some(&b"new"[..]), RemoteConfigStatus::Applied));
    }
}
