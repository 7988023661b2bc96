//! Which configuration an agent is to run. An assignment binds a configuration to the agents of a selector; a
//! rollout brings it from one revision to another in batches. Pure: who is asked for, and what an answer means.
//!
//! Reading order: this file for the nouns, [`desired`] for what one agent gets, [`standing`] for how far it is,
//! [`rollout`] for who is next. Rows are `store`'s, carrying it out is `control-plane`'s.

use std::fmt;
use std::str::FromStr;

use crate::selector::Selector;
use crate::time::UnixMillis;

pub mod damper;
pub mod desired;
pub mod rollout;
pub mod standing;

pub use damper::Damper;
pub use desired::{By, Desired, desired};
pub use rollout::{Fault, FaultKind, Rollout, Step};
pub use standing::{ConfigState, Held, Place, Standing};

/// The number of a configuration in the database.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ConfigId(pub i64);

/// The number of a revision in the database; unique over all configurations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RevisionId(pub i64);

/// The number of an assignment in the database; a smaller one is older.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AssignmentId(pub i64);

impl fmt::Display for AssignmentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// How many percent of the agents a batch has when nobody says otherwise.
pub const DEFAULT_BATCH_PERCENT: u8 = 10;

/// Where an assignment stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AssignmentState {
    /// A rollout is under way.
    Rolling,
    /// A rollout waits for an operator.
    Paused,
    /// Every agent gets the settled revision.
    Done,
    /// A rollout was given up: who has the new revision keeps it, nobody else gets it.
    Aborted,
    /// The assignment is being taken away: agents are offered the empty configuration.
    Clearing,
}

impl AssignmentState {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Rolling, Self::Paused, Self::Done, Self::Aborted, Self::Clearing];

    /// The word in API, CLI and database.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Rolling => "rolling",
            Self::Paused => "paused",
            Self::Done => "done",
            Self::Aborted => "aborted",
            Self::Clearing => "clearing",
        }
    }
}

impl fmt::Display for AssignmentState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A word that is no state of an assignment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("use rolling, paused, done, aborted or clearing")]
pub struct UnknownState;

impl FromStr for AssignmentState {
    type Err = UnknownState;

    fn from_str(text: &str) -> Result<Self, UnknownState> {
        Self::ALL.into_iter().find(|state| state.as_str() == text).ok_or(UnknownState)
    }
}

/// A configuration for the agents of a selector.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assignment {
    /// Its number.
    pub id: AssignmentId,
    /// What is assigned.
    pub config: ConfigId,
    /// To whom.
    pub selector: Selector,
    /// The higher one wins where two assignments match; of equal ones the older.
    pub priority: i32,
    /// Where it stands.
    pub state: AssignmentState,
    /// What everybody gets to whom no rollout granted anything; `None` before the first rollout is through.
    pub settled: Option<RevisionId>,
    /// Where the rollout goes; `None` while there is none.
    pub target: Option<RevisionId>,
    /// How many percent of the agents a batch has, 1 to 100.
    pub batch_percent: u8,
    /// How many agents a batch of the rollout has.
    pub batch_size: u64,
    /// How many batches were released.
    pub batches: u32,
    /// Why it is paused.
    pub pause: Option<Fault>,
    /// Who made it.
    pub created_by: String,
    /// When.
    pub created_at: UnixMillis,
    /// When an operator or the rollout changed it last.
    pub updated_at: UnixMillis,
    /// Counts the changes.
    pub version: u64,
}

impl Assignment {
    /// What its agents are to come to: where the rollout goes, else what is settled.
    pub fn goal(&self) -> Option<RevisionId> {
        self.target.or(self.settled)
    }
}

/// What a rollout gave to one agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Grant {
    /// What it is to run.
    pub revision: RevisionId,
    /// With which batch.
    pub batch: u32,
    /// Whether it was well at that time.
    pub was_healthy: bool,
    /// Whether an operator went on in spite of its fault.
    pub forgiven: bool,
    /// When.
    pub at: UnixMillis,
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// An assignment of everything to everybody.
    pub(crate) fn assignment(id: i64) -> Assignment {
        Assignment {
            id: AssignmentId(id),
            config: ConfigId(1),
            selector: Selector::everything(),
            priority: 0,
            state: AssignmentState::Done,
            settled: None,
            target: None,
            batch_percent: DEFAULT_BATCH_PERCENT,
            batch_size: 1,
            batches: 0,
            pause: None,
            created_by: "admin".to_owned(),
            created_at: UnixMillis(0),
            updated_at: UnixMillis(0),
            version: 1,
        }
    }

    #[test]
    fn states_read_back() {
        for state in AssignmentState::ALL {
            assert_eq!(state.as_str().parse(), Ok(state));
        }
        assert_eq!("over".parse::<AssignmentState>(), Err(UnknownState));
    }
}
