//! What may be taken away. Three locks, each for a fault that really happened elsewhere: without a fresh state nothing is
//! taken away (STATE-5, R28), with `adopt` nothing is removed (STATE-7), and never more than the state itself announces
//! (R33). A state of a new epoch that does not say how much it removes removes nothing, whether `adopt` is set or not
//! (R32): its budget is zero then.

use std::collections::BTreeSet;

use host_proto::DesiredState;
use host_proto::desired::Removals;
use host_proto::id::ReplicaId;

/// What may be taken away in a pass.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Allowed {
    /// Whether the state came over the connection that is open now. False at a boot, while disconnected, and between a
    /// new connection and its first state.
    pub fresh: bool,
    /// Nothing is removed.
    pub adopt: bool,
    /// So much may be removed at most, of what the state does not list.
    pub removals: Removals,
    /// Replicas of the state that the control plane does not name: they run on, and nothing else may be put at risk by what
    /// it names (see [`crate::adoption`]).
    pub unclaimed: BTreeSet<ReplicaId>,
}

impl Allowed {
    /// What a state allows.
    pub const fn of(state: &DesiredState, fresh: bool) -> Self {
        Self { fresh, adopt: state.adopt, removals: state.removals, unclaimed: BTreeSet::new() }
    }
}

/// Removals that were not planned, since there are more of them than the state announced (R33).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RefusedRemovals {
    /// Containers that would have gone; 0 when they were within the budget.
    pub replicas: u32,
    /// Volumes that would have gone.
    pub volumes: u32,
    /// Networks that would have gone.
    pub networks: u32,
}

impl RefusedRemovals {
    /// Whether anything was refused.
    pub const fn any(&self) -> bool {
        self.replicas > 0 || self.volumes > 0 || self.networks > 0
    }
}
