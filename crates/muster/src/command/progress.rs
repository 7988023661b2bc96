//! How far something is, on standard error: lines that change in place on a terminal, a line for each change elsewhere.

use std::io::{self, IsTerminal, Write};

/// What a terminal has when it does not say how wide it is.
const USUAL_WIDTH: usize = 80;

/// The lines that were shown last.
pub(super) struct Shown {
    last: Vec<String>,
    on_terminal: bool,
}

impl Shown {
    pub(super) fn new() -> Self {
        Self { last: Vec::new(), on_terminal: io::stderr().is_terminal() }
    }

    /// Shows one line.
    pub(super) fn show(&mut self, text: &str) {
        self.show_all(&[text.to_owned()]);
    }

    /// Shows lines in place of those before. They must hold no line ends.
    pub(super) fn show_all(&mut self, lines: &[String]) {
        if self.last == lines {
            return;
        }
        let mut err = io::stderr().lock();
        // Nobody is told when standard error is closed; the exit code says how it ended.
        let _ = match self.on_terminal {
            true => self.redraw(&mut err, lines),
            false => lines
                .iter()
                .filter(|line| !self.last.contains(line))
                .try_for_each(|line| writeln!(err, "{line}")),
        };
        self.last = lines.to_vec();
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
