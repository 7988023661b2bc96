//! What one agent is to run: the only place where that is decided, on a report, on a push and after a restart.

use super::{Assignment, AssignmentId, AssignmentState, RevisionId};

/// Who decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum By {
    /// An operator, for this agent alone.
    Override,
    /// An assignment.
    Assignment(AssignmentId),
}

/// What an agent is to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Desired {
    /// Nobody says: it runs on with what it has.
    Unmanaged,
    /// An assignment is to reach it, and its turn has not come.
    Waiting(AssignmentId),
    /// This revision.
    Revision(By, RevisionId),
    /// The empty configuration.
    Clear(AssignmentId),
}

impl Desired {
    /// The assignment that decides.
    pub const fn assignment(self) -> Option<AssignmentId> {
        match self {
            Self::Waiting(id) | Self::Clear(id) | Self::Revision(By::Assignment(id), _) => Some(id),
            Self::Unmanaged | Self::Revision(By::Override, _) => None,
        }
    }

    /// The revision that it is to run.
    pub const fn revision(self) -> Option<RevisionId> {
        match self {
            Self::Revision(_, revision) => Some(revision),
            _ => None,
        }
    }
}

/// Puts assignments into the order in which they are asked: the highest priority first, of equal ones the oldest.
pub fn order(assignments: &mut [Assignment]) {
    assignments.sort_by_key(|assignment| (std::cmp::Reverse(assignment.priority), assignment.id));
}

/// What an agent is to run. `assignments` are those that match it, in the order of [`order`]; `granted` is what
/// the rollout of an assignment gave to it.
pub fn desired<'a>(
    pinned: Option<RevisionId>,
    mut assignments: impl Iterator<Item = &'a Assignment>,
    granted: impl Fn(AssignmentId) -> Option<RevisionId>,
) -> Desired {
    if let Some(revision) = pinned {
        return Desired::Revision(By::Override, revision);
    }
    let Some(first) = assignments.next() else { return Desired::Unmanaged };
    let granted = granted(first.id);
    if first.state == AssignmentState::Clearing {
        // Only who got something from it has something to give back.
        return match granted.or(first.settled) {
            Some(_) => Desired::Clear(first.id),
            None => Desired::Unmanaged,
        };
    }
    match granted.or(first.settled) {
        Some(revision) => Desired::Revision(By::Assignment(first.id), revision),
        None => Desired::Waiting(first.id),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::assignment;
    use super::*;

    const NONE: fn(AssignmentId) -> Option<RevisionId> = |_| None;

    fn settled(id: i64, revision: i64) -> Assignment {
        Assignment { settled: Some(RevisionId(revision)), ..assignment(id) }
    }

    #[test]
    fn an_override_wins_over_every_assignment() {
        let all = [settled(1, 11)];
        let got = desired(Some(RevisionId(5)), all.iter(), NONE);
        assert_eq!(got, Desired::Revision(By::Override, RevisionId(5)));
    }

    #[test]
    fn the_highest_priority_wins_and_of_equal_ones_the_oldest() {
        let mut all = vec![settled(1, 11), settled(2, 12), settled(3, 13)];
        all[1].priority = 7;
        all[2].priority = 7;
        order(&mut all);
        let got = desired(None, all.iter(), NONE);
        assert_eq!(got, Desired::Revision(By::Assignment(AssignmentId(2)), RevisionId(12)));
    }

    #[test]
    fn a_rollout_reaches_whom_it_granted_and_nobody_else() {
        let rolling = Assignment { target: Some(RevisionId(12)), ..settled(1, 11) };
        let granted = desired(None, [&rolling].into_iter(), |_| Some(RevisionId(12)));
        assert_eq!(granted.revision(), Some(RevisionId(12)));
        assert_eq!(desired(None, [&rolling].into_iter(), NONE).revision(), Some(RevisionId(11)));
        let first = Assignment { settled: None, ..rolling };
        assert_eq!(desired(None, [&first].into_iter(), NONE), Desired::Waiting(AssignmentId(1)));
    }

    #[test]
    fn an_assignment_that_is_cleared_takes_back_only_what_it_gave() {
        let clearing = Assignment { state: AssignmentState::Clearing, ..settled(1, 11) };
        assert_eq!(desired(None, [&clearing].into_iter(), NONE), Desired::Clear(AssignmentId(1)));
        let nothing = Assignment { settled: None, ..clearing };
        assert_eq!(desired(None, [&nothing].into_iter(), NONE), Desired::Unmanaged);
    }

    #[test]
    fn who_matches_nothing_runs_on() {
        assert_eq!(desired(None, std::iter::empty(), NONE), Desired::Unmanaged);
    }
}
