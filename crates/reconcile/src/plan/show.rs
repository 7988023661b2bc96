//! A plan in words: for `muster diff`, for logs, and for tests that compare whole plans.

use std::fmt;

use super::{Held, Plan, Step, Why};
use crate::action::Action;
use crate::item::Phase;

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_satisfied() {
            return writeln!(f, "nothing to do");
        }
        for phase in Phase::ALL {
            let mut steps = self.steps.iter().filter(|step| step.phase == phase).peekable();
            if steps.peek().is_some() {
                writeln!(f, "{phase}:")?;
            }
            for step in steps {
                writeln!(f, "  {step}")?;
            }
        }
        if !self.held.is_empty() {
            writeln!(f, "not now:")?;
        }
        for held in &self.held {
            writeln!(f, "  {held}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let takes = self.actions.iter().any(Action::takes_away);
        let gives = self.actions.iter().any(|action| !action.takes_away());
        let sign = match (takes, gives) {
            (true, true) => '~',
            (true, false) => '-',
            (false, _) => '+',
        };
        write!(f, "{sign} {}: ", self.title)?;
        for (place, action) in self.actions.iter().enumerate() {
            let comma = if place == 0 { "" } else { ", " };
            write!(f, "{comma}{action}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "! {}: {}", self.title, self.why)
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotFresh => {
                f.write_str("not taken away before the control plane has said so on this connection")
            }
            Self::Adopt => f.write_str("not removed, since the state only adopts"),
            Self::Budget => f.write_str("not removed, since the state announced fewer removals"),
            Self::Fenced => f.write_str("may not start on this host"),
            Self::InUse { what, by, adopting } => {
                write!(f, "{what} is in use by {by}, which this server does not know")?;
                match adopting {
                    true => f.write_str(
                        ": `muster hosts set HOST --adopting=false` lets this host remove it, and whatever else this server \
                         does not know",
                    ),
                    false => f.write_str(": it has to be gone first"),
                }
            }
            Self::Waits(names) => write!(f, "waits for {}", names.join(", ")),
            Self::Needs { title, reason } => write!(f, "needs {title}: {reason}"),
            Self::Retry { failures: 1, in_ms, error } => {
                write!(f, "failed, again in {} s: {error}", in_ms.div_ceil(1000))
            }
            Self::Retry { failures, in_ms, error } => {
                write!(f, "failed {failures} times, again in {} s: {error}", in_ms.div_ceil(1000))
            }
            Self::Refused(reason) => f.write_str(reason),
            Self::Unknown(reason) => write!(f, "not known: {reason}"),
            Self::Busy => f.write_str("under way"),
        }
    }
}
