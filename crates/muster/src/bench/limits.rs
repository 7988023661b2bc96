//! Figures beside the limits that they are held against, as a Markdown table: for what has no yardstick.

use super::table::{machine, number};

/// A figure with what it must not exceed.
#[derive(Debug)]
pub(super) struct Limit {
    name: String,
    figure: f64,
    /// `None`: it is only told.
    most: Option<f64>,
}

/// Figures in the order in which they are shown.
#[derive(Debug, Default)]
pub(super) struct Limits(Vec<Limit>);

impl Limits {
    /// A figure that must not be above `most`.
    pub(super) fn hold(&mut self, name: impl Into<String>, figure: f64, most: f64) {
        self.0.push(Limit { name: name.into(), figure, most: Some(most) });
    }

    /// A figure that says what the others mean.
    pub(super) fn tell(&mut self, name: impl Into<String>, figure: f64) {
        self.0.push(Limit { name: name.into(), figure, most: None });
    }

    /// The table, with the machine that it was made on.
    pub(super) fn table(&self, title: &str, quick: bool) -> String {
        let mut text = format!("{}\n\n", machine());
        if quick {
            text.push_str("A quick run: the figures mean nothing.\n\n");
        }
        text.push_str(&format!("| {title} | figure | limit | |\n|---|--:|--:|---|\n"));
        self.0.iter().for_each(|limit| text.push_str(&limit.line()));
        text
    }
}

impl Limit {
    fn line(&self) -> String {
        let most = self.most.map_or(String::new(), |most| format!("≤ {}", number(most)));
        let met = self.most.map_or("", |most| if self.figure <= most { "met" } else { "missed" });
        format!("| {} | {} | {most} | {met} |\n", self.name, number(self.figure))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_is_held_against_its_limit() {
        let line = |figure, most| Limit { name: "bytes".into(), figure, most }.line();
        assert_eq!(line(16_384.0, Some(16_384.0)), "| bytes | 16,384 | ≤ 16,384 | met |\n");
        assert_eq!(line(16_385.0, Some(16_384.0)), "| bytes | 16,385 | ≤ 16,384 | missed |\n");
        assert_eq!(line(1.25, None), "| bytes | 1.25 |  |  |\n");
    }
}
