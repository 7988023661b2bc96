//! How lines of logs are printed.

use std::collections::BTreeMap;
use std::io::{self, IsTerminal};

use api::services::{LogLine, Logs};

use crate::cli::Format;
use crate::failure::Failure;
use crate::output::{self, safe};

/// Colours of replicas: cyan, yellow, green, magenta, blue, and the bright ones of these.
const COLOURS: [u8; 10] = [36, 33, 32, 35, 34, 96, 93, 92, 95, 94];

/// Prints lines as the flags say.
pub(super) struct Printer {
    format: Format,
    timestamps: bool,
    is_coloured: bool,
    width: usize,
    colours: BTreeMap<String, u8>,
}

impl Printer {
    pub(super) fn new(format: Format, timestamps: bool) -> Self {
        let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let is_coloured = io::stdout().is_terminal() && !no_color;
        Self { format, timestamps, is_coloured, width: 0, colours: BTreeMap::new() }
    }

    /// Lines that are all there.
    pub(super) fn whole(&mut self, logs: &Logs) -> Result<(), Failure> {
        match self.format {
            Format::Json | Format::Yaml => output::value(self.format, logs, String::new, Vec::new),
            Format::Table | Format::Name => {
                self.width = logs.items.iter().map(|line| line.replica.chars().count()).max().unwrap_or(0);
                logs.items.iter().try_for_each(|line| self.line(line))
            }
        }
    }

    /// One line of those that come: for programs an object of its own in one line of text.
    pub(super) fn line(&mut self, line: &LogLine) -> Result<(), Failure> {
        match self.format {
            Format::Json | Format::Yaml => {
                output::line(&serde_json::to_string(line).map_err(|error| Failure::of(&error))?)
            }
            Format::Name => output::line(&safe(&line.text)),
            Format::Table => {
                let text = self.text(line);
                output::line(&text)
            }
        }
    }

    fn text(&mut self, line: &LogLine) -> String {
        let replica = safe(&line.replica);
        self.width = self.width.max(replica.chars().count());
        let at = if self.timestamps { format!("{} ", line.at) } else { String::new() };
        let head = format!("{at}{replica:<width$} |", width = self.width);
        let text = safe(&line.text);
        match self.is_coloured {
            true => format!("\u{1b}[{}m{head}\u{1b}[0m {text}", self.colour(&line.replica)),
            false => format!("{head} {text}"),
        }
    }

    /// Each replica keeps the colour that it got first.
    fn colour(&mut self, replica: &str) -> u8 {
        let next = COLOURS[self.colours.len() % COLOURS.len()];
        *self.colours.entry(replica.to_owned()).or_insert(next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(replica: &str, text: &str) -> LogLine {
        LogLine {
            at: "2026-11-30T01:02:03.000004Z".to_owned(),
            replica: replica.to_owned(),
            host: "one".to_owned(),
            stream: "out".to_owned(),
            text: text.to_owned(),
        }
    }

    #[test]
    fn each_replica_has_its_colour_on_a_terminal_and_none_elsewhere() {
        let mut printer = Printer { is_coloured: true, ..Printer::new(Format::Table, false) };
        assert_eq!(printer.text(&line("web-1", "a")), "\u{1b}[36mweb-1 |\u{1b}[0m a");
        assert_eq!(printer.text(&line("web-2", "b")), "\u{1b}[33mweb-2 |\u{1b}[0m b");
        assert_eq!(printer.text(&line("web-1", "c")), "\u{1b}[36mweb-1 |\u{1b}[0m c");
        let mut printer = Printer { is_coloured: false, ..Printer::new(Format::Table, true) };
        assert_eq!(
            printer.text(&line("web-1", "\u{1b}[2Ja")),
            "2026-11-30T01:02:03.000004Z web-1 | \u{fffd}[2Ja"
        );
    }
}
