//! Before something is changed: the plan is shown, and somebody says yes.

use std::io::{self, BufRead, IsTerminal, Write};

use serde::Serialize;

use crate::cli::{Consent, Format};
use crate::failure::{Failure, Kind};
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
            return Err(Failure::new(Kind::Usage, "there is no terminal to ask, so nothing was changed")
                .hint("Add --yes to do it, or --dry-run to only see it."));
        }
        confirm(plan)?;
    }
    Ok(true)
}

/// The same for a command that prints for programs too: with `--dry-run` these get the plan as a value.
pub(super) fn agree_as<T: Serialize>(
    consent: Consent,
    format: Format,
    value: &T,
    plan: &str,
) -> Result<bool, Failure> {
    if consent.dry_run && matches!(format, Format::Json | Format::Yaml) {
        output::value(format, value, String::new, Vec::new)?;
        return Ok(false);
    }
    agree(consent, plan)
}

/// Asks on the terminal; without one nothing is changed.
pub(super) fn confirm(question: &str) -> Result<(), Failure> {
    if !io::stdin().is_terminal() {
        return Err(Failure::new(Kind::Usage, question).hint("There is no terminal to ask: add --yes."));
    }
    let mut err = io::stderr().lock();
    let _ = write!(err, "{question}\nGo on? [y/N] ").and_then(|()| err.flush());
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer).map_err(|error| Failure::of(&error))?;
    match answer.trim() {
        "y" | "Y" | "yes" => Ok(()),
        _ => Err(Failure::new(Kind::Declined, "nothing was changed")),
    }
}
