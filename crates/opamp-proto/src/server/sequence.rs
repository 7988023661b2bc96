//! Sequence numbers: what one more number says about what was missed (SEQ-2), and two senders behind one
//! instance_uid (DUP-4).

/// How a number follows the last one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// The first number of this session, whatever it is: 0, 1 and 2 are all seen in the field.
    First,
    /// Exactly one more than the last.
    Next,
    /// The last one again (RETX-5).
    Again,
    /// Something is missing, or the agent started anew (SEQ-2).
    Gap,
}

/// How often two counters must have alternated before they are two senders. A restart alternates once, a
/// message that was overtaken on its way twice.
const ALTERNATIONS: u8 = 4;

/// The numbers of one instance_uid.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sequence {
    last: Option<u64>,
    /// Where the other counter stands, if the last gap left one behind.
    other: Option<u64>,
    alternations: u8,
}

impl Sequence {
    /// No number yet.
    pub const fn new() -> Self {
        Self { last: None, other: None, alternations: 0 }
    }

    /// The number received last.
    pub const fn last(&self) -> Option<u64> {
        self.last
    }

    /// Takes the next number.
    pub fn take(&mut self, number: u64) -> Step {
        let Some(last) = self.last.replace(number) else { return Step::First };
        if number == last.wrapping_add(1) {
            return Step::Next;
        }
        if number == last {
            return Step::Again;
        }
        // The other counter goes on, or a new one begins.
        let resumed = self.other.is_some_and(|other| number == other.wrapping_add(1));
        self.alternations = if resumed { self.alternations.saturating_add(1) } else { 0 };
        self.other = Some(last);
        Step::Gap
    }

    /// Whether two counters have been going on side by side: two agents with one instance_uid (DUP-4).
    pub const fn is_interleaved(&self) -> bool {
        self.alternations >= ALTERNATIONS
    }

    /// Forgets the other counter, after its owner was given another instance_uid.
    pub const fn settle(&mut self) {
        self.other = None;
        self.alternations = 0;
    }
}
