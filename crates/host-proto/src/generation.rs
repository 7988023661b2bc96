//! How desired states are numbered: a generation counts within an epoch, and an epoch is one history of one store.
//! Epochs are compared for equality only (R31).

use crate::message::Hello;

/// The place of a state in its history.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Mark {
    /// Which history.
    pub epoch: String,
    /// Which state of it; 0 before the first.
    pub generation: u64,
}

impl Mark {
    /// The mark of an epoch in which nothing was numbered yet.
    pub fn new(epoch: impl Into<String>, generation: u64) -> Self {
        Self { epoch: epoch.into(), generation }
    }
}

/// How a host that says hello stands to what the store knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// It applied nothing yet, or something of another epoch: its first state is one to adopt (R32).
    OtherEpoch,
    /// It is at, or behind, what was numbered.
    Known,
    /// It applied a state that the store never numbered: the store was rolled back. A new epoch is due, to adopt
    /// (R26); numbering on from here would give two states one number.
    Ahead,
}

impl Hello {
    /// What the host applied last; `None` when it is new, or lost its cache.
    pub fn applied(&self) -> Option<Mark> {
        self.epoch.as_ref().map(|epoch| Mark::new(epoch.clone(), self.generation))
    }
}

/// How a host stands to what the store numbered last for it.
pub fn standing(stored: &Mark, applied: Option<&Mark>) -> Standing {
    match applied {
        Some(applied) if applied.epoch != stored.epoch => Standing::OtherEpoch,
        Some(applied) if applied.generation > stored.generation => Standing::Ahead,
        Some(_) => Standing::Known,
        None => Standing::OtherEpoch,
    }
}

/// The number of the next state of an epoch: above what was numbered and above what the host applied in that epoch
/// (CONNECT-4). Make it durable before the state is sent. `None` when the numbers of the epoch are used up.
pub fn next_generation(stored: &Mark, applied: Option<&Mark>) -> Option<u64> {
    let applied = applied.filter(|applied| applied.epoch == stored.epoch).map_or(0, |mark| mark.generation);
    // Numbers above 2^53 - 1 do not survive a reader whose numbers are floating point.
    stored.generation.max(applied).checked_add(1).filter(|next| *next < 1 << 53)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_number_is_above_both_of_the_same_epoch() {
        let stored = Mark::new("a", 7);
        assert_eq!(next_generation(&stored, None), Some(8));
        assert_eq!(next_generation(&stored, Some(&Mark::new("a", 9))), Some(10));
        assert_eq!(next_generation(&stored, Some(&Mark::new("b", 900))), Some(8));
        assert_eq!(next_generation(&Mark::new("a", (1 << 53) - 1), None), None);
    }
}
