//! Before something is changed: the plan is shown, and somebody says yes.

use std::io::{self, BufRead, IsTerminal, Write};

use crate::cli::Consent;
use crate::failure::{Code, Failure};
use crate::output;

/// Shows a plan and asks. `false`: it was only to be shown.
pub(super) fn agree(consent: Consent, plan: &str) -> Result<bool, Failure> {
    if consent.dry_run {
        output::line(plan)?;
        output::line("Nothing was changed (--dry-run).")?;
        return Ok(false);
    }
    if !consent.yes {
        if !io::stdin().is_terminal() {
            output::line(plan)?;
            return Err(Failure::new(Code::Usage, "there is no terminal to ask, so nothing was changed")
                .hint("Add --yes to do it, or --dry-run to only see it."));
        }
        confirm(plan)?;
    }
    Ok(true)
}

/// Asks on the terminal; without one nothing is changed.
pub(super) fn confirm(question: &str) -> Result<(), Failure> {
    if !io::stdin().is_terminal() {
        return Err(Failure::new(Code::Usage, question).hint("There is no terminal to ask: add --yes."));
    }
    let mut err = io::stderr().lock();
    let _ = write!(err, "{question}\nGo on? [y/N] ").and_then(|()| err.flush());
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer).map_err(|error| Failure::of(&error))?;
    match answer.trim() {
        "y" | "Y" | "yes" => Ok(()),
        _ => Err(Failure::new(Code::Failed, "nothing was changed")),
    }
}
