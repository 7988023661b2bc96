//! How far something is, on standard error: lines that change in place on a terminal, a line for each change elsewhere.

use std::io::{self, IsTerminal, Write};

/// What a terminal has when it does not say how wide it is.
const USUAL_WIDTH: usize = 80;

/// The lines that were shown last.
pub(super) struct Shown {
    /// What is shown.
    last: Vec<String>,
    /// How many lines of it say how far something is; one after them says that the server does not answer.
    known: usize,
    on_terminal: bool,
}

impl Shown {
    pub(super) fn new() -> Self {
        Self { last: Vec::new(), known: 0, on_terminal: io::stderr().is_terminal() }
    }

    /// Shows one line.
    pub(super) fn show(&mut self, text: &str) {
        self.show_all(&[text.to_owned()]);
    }

    /// Shows lines in place of those before. They must hold no line ends.
    pub(super) fn show_all(&mut self, lines: &[String]) {
        self.known = lines.len();
        self.put(lines);
    }

    /// Says below what was known last that the server does not answer: once, until there is something to show again.
    pub(super) fn away(&mut self, why: &str) {
        if self.last.len() == self.known {
            let known = self.last.iter().cloned();
            self.put(&known.chain([why.to_owned()]).collect::<Vec<_>>());
        }
    }

    fn put(&mut self, lines: &[String]) {
        if self.last == lines {
            return;
        }
        let mut err = io::stderr().lock();
        // Nobody is told when standard error is closed; the exit code says how it ended.
        let _ = match self.on_terminal {
            true => self.redraw(&mut err, lines),
            false => self.fresh(lines).try_for_each(|line| writeln!(err, "{line}")),
        };
        self.last = lines.to_vec();
    }

    /// Lines that were not shown a moment ago.
    fn fresh<'l>(&self, lines: &'l [String]) -> impl Iterator<Item = &'l String> {
        lines.iter().filter(|line| !self.last.contains(line))
    }

    fn redraw(&self, err: &mut impl Write, lines: &[String]) -> io::Result<()> {
        // A line that wraps would take more room than is cleared.
        let width = comfy_table::Table::new().width().map_or(USUAL_WIDTH, usize::from);
        if self.last.len() > 1 {
            write!(err, "\u{1b}[{}A", self.last.len() - 1)?;
        }
        let cut: Vec<String> =
            lines.iter().map(|line| line.chars().take(width.saturating_sub(1)).collect()).collect();
        write!(err, "\r\u{1b}[J{}", cut.join("\n"))?;
        err.flush()
    }
}

impl Drop for Shown {
    fn drop(&mut self) {
        if self.on_terminal && !self.last.is_empty() {
            let _ = writeln!(io::stderr());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_is_away_is_said_once_and_nothing_is_said_twice_when_it_is_back() {
        let mut shown = Shown { last: Vec::new(), known: 0, on_terminal: false };
        let lines = |texts: &[&str]| texts.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>();
        shown.show_all(&lines(&["running", "web: waits"]));
        shown.away("no answer");
        assert_eq!(shown.last, lines(&["running", "web: waits", "no answer"]));
        shown.away("no answer, in other words");
        assert_eq!(shown.last, lines(&["running", "web: waits", "no answer"]));
        assert_eq!(shown.fresh(&lines(&["running", "web: done"])).collect::<Vec<_>>(), ["web: done"]);
        shown.show_all(&lines(&["running", "web: done"]));
        shown.away("no answer");
        assert_eq!(shown.last, lines(&["running", "web: done", "no answer"]));
    }
}
