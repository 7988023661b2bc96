//! How far an agent is with what it is to run, from its own words: the states that API, CLI and console show.

use std::fmt;
use std::str::FromStr;

use opamp_proto::AgentCapabilities;
use opamp_proto::wire::AgentCapabilities as Bit;

use super::desired::Desired;
use super::{AssignmentId, RevisionId};
use crate::remote_config::RemoteConfigStatus;

/// What is known of an agent's configuration, in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ConfigState {
    /// Nothing is assigned to it.
    Unmanaged,
    /// It runs what it is to run.
    InSync,
    /// It was, or will be, offered another one, and has not answered.
    Offered,
    /// It is at it.
    Applying,
    /// It could not, and says why.
    Failed,
    /// It said that it runs what it is to run, and its effective configuration says otherwise.
    Drifted,
    /// Something is assigned to it that it cannot take.
    NotConfigurable,
}

impl ConfigState {
    /// All of them, by their number in the database.
    pub const ALL: [Self; 7] = [
        Self::Unmanaged,
        Self::InSync,
        Self::Offered,
        Self::Applying,
        Self::Failed,
        Self::Drifted,
        Self::NotConfigurable,
    ];

    /// The words in API, CLI and console.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Unmanaged => "unmanaged",
            Self::InSync => "in sync",
            Self::Offered => "offered",
            Self::Applying => "applying",
            Self::Failed => "failed",
            Self::Drifted => "drifted",
            Self::NotConfigurable => "not configurable",
        }
    }
}

impl ConfigState {
    /// Its number in the database.
    pub const fn number(self) -> u8 {
        self as u8
    }

    /// The state of a number.
    pub fn from_number(number: u8) -> Option<Self> {
        Self::ALL.get(usize::from(number)).copied()
    }
}

/// What was decided about an agent's configuration when it was heard last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// How far it is.
    pub state: ConfigState,
    /// The assignment that decides; `None` for an override.
    pub assignment: Option<AssignmentId>,
    /// What it is to run.
    pub revision: Option<RevisionId>,
    /// Why it is not in sync, in words for the operator; may be empty.
    pub reason: String,
}

impl Place {
    /// Nothing is assigned.
    pub const UNMANAGED: Self =
        Self { state: ConfigState::Unmanaged, assignment: None, revision: None, reason: String::new() };
}

impl fmt::Display for ConfigState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Words that are no state of a configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("use unmanaged, in sync, offered, applying, failed, drifted or not configurable")]
pub struct UnknownConfigState;

impl FromStr for ConfigState {
    type Err = UnknownConfigState;

    /// Also reads the words with `_` or `-` between them.
    fn from_str(text: &str) -> Result<Self, UnknownConfigState> {
        let text = text.replace(['_', '-'], " ");
        Self::ALL.into_iter().find(|state| state.as_str() == text).ok_or(UnknownConfigState)
    }
}

/// What an agent says about the configuration that it received last, and what became of our offers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Held<'a> {
    /// What it can do.
    pub capabilities: AgentCapabilities,
    /// The hash that it reports; `None` when it reported none.
    pub hash: Option<&'a [u8]>,
    /// What became of that one.
    pub status: RemoteConfigStatus,
    /// Our offer was repeated as often as allowed, in vain.
    pub given_up: bool,
    /// Its effective configuration lacks something of what it says it applied.
    pub drifted: bool,
}

/// How far one agent is with one revision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Standing {
    /// It runs it, or cannot say and was offered it.
    Applied,
    /// It is at it.
    Applying,
    /// It could not.
    Failed,
    /// It has not answered.
    Waiting,
    /// It never answered any of the offers.
    Unanswered,
}

/// How far an agent is with the revision of this hash.
pub fn standing(hash: &[u8], held: &Held<'_>) -> Standing {
    if held.hash != Some(hash) {
        // Who cannot report says nothing whatever it does: no answer can be waited for.
        return match held.capabilities.has(Bit::ReportsRemoteConfig) {
            false => Standing::Applied,
            true if held.given_up => Standing::Unanswered,
            true => Standing::Waiting,
        };
    }
    match held.status {
        RemoteConfigStatus::Applied => Standing::Applied,
        RemoteConfigStatus::Failed => Standing::Failed,
        RemoteConfigStatus::Applying | RemoteConfigStatus::Unset => Standing::Applying,
    }
}

/// The state of an agent's configuration. `hash` is that of what it is to run.
pub fn config_state(desired: Desired, hash: Option<&[u8]>, held: &Held<'_>) -> ConfigState {
    let hash = match (desired, hash) {
        (Desired::Unmanaged, _) => return ConfigState::Unmanaged,
        _ if !held.capabilities.has(Bit::AcceptsRemoteConfig) => return ConfigState::NotConfigurable,
        (Desired::Waiting(_), _) | (_, None) => return ConfigState::Unmanaged,
        (_, Some(hash)) => hash,
    };
    match standing(hash, held) {
        Standing::Applied if held.hash != Some(hash) => ConfigState::Offered,
        Standing::Applied if held.drifted => ConfigState::Drifted,
        Standing::Applied => ConfigState::InSync,
        Standing::Applying => ConfigState::Applying,
        Standing::Failed => ConfigState::Failed,
        Standing::Waiting | Standing::Unanswered => ConfigState::Offered,
    }
}

#[cfg(test)]
mod tests {
    use super::super::By;
    use super::*;

    const DESIRED: Desired = Desired::Revision(By::Assignment(AssignmentId(1)), RevisionId(1));

    fn held(hash: Option<&'static [u8]>, status: RemoteConfigStatus) -> Held<'static> {
        let capabilities = [Bit::AcceptsRemoteConfig, Bit::ReportsRemoteConfig].into_iter().collect();
        Held { capabilities, hash, status, given_up: false, drifted: false }
    }

    #[test]
    fn the_agents_own_words_decide() {
        use RemoteConfigStatus as S;
        let state = |hash, status| config_state(DESIRED, Some(b"new"), &held(hash, status));
        assert_eq!(state(Some(b"new"), S::Applied), ConfigState::InSync);
        assert_eq!(state(Some(b"new"), S::Applying), ConfigState::Applying);
        assert_eq!(state(Some(b"new"), S::Failed), ConfigState::Failed);
        assert_eq!(state(Some(b"old"), S::Applied), ConfigState::Offered);
        assert_eq!(
            state(Some(b"old"), S::Failed),
            ConfigState::Offered,
            "the old one's fault is not this one's"
        );
        assert_eq!(state(None, S::Unset), ConfigState::Offered);
    }

    #[test]
    fn s30_what_an_agent_cannot_take_is_called_so_and_only_if_something_is_assigned() {
        let mut seen = held(None, RemoteConfigStatus::Unset);
        seen.capabilities = [Bit::ReportsStatus].into_iter().collect();
        assert_eq!(config_state(DESIRED, Some(b"new"), &seen), ConfigState::NotConfigurable);
        assert_eq!(config_state(Desired::Unmanaged, None, &seen), ConfigState::Unmanaged);
    }

    #[test]
    fn an_effective_configuration_that_says_otherwise_is_drift() {
        let mut seen = held(Some(b"new"), RemoteConfigStatus::Applied);
        seen.drifted = true;
        assert_eq!(config_state(DESIRED, Some(b"new"), &seen), ConfigState::Drifted);
    }

    #[test]
    fn who_cannot_report_is_not_waited_for_and_not_called_in_sync() {
        let mut seen = held(None, RemoteConfigStatus::Unset);
        seen.capabilities = [Bit::AcceptsRemoteConfig].into_iter().collect();
        assert_eq!(standing(b"new", &seen), Standing::Applied);
        assert_eq!(config_state(DESIRED, Some(b"new"), &seen), ConfigState::Offered);
    }

    #[test]
    fn words_read_back_with_any_joint() {
        for state in ConfigState::ALL {
            assert_eq!(state.as_str().parse(), Ok(state));
            assert_eq!(state.as_str().replace(' ', "_").parse(), Ok(state));
        }
        assert_eq!("fine".parse::<ConfigState>(), Err(UnknownConfigState));
    }
}
