//! The ids of requirements (`SEQ-4`) and of cases (`S34`), and how a test's name carries them (`seq_4_…`, `s34_…`).

use std::collections::BTreeSet;

/// The list of ids, in its order.
#[derive(Debug, Default)]
pub(super) struct Ids {
    listed: Vec<String>,
    known: BTreeSet<String>,
    subjects: BTreeSet<String>,
}

impl Ids {
    /// One id per line.
    pub(super) fn parse(text: &str) -> Self {
        let listed: Vec<String> =
            text.lines().map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned).collect();
        let known = listed.iter().cloned().collect();
        let subjects = listed
            .iter()
            .filter_map(|id| id.split_once('-'))
            .map(|(subject, _)| subject.to_owned())
            .collect();
        Self { listed, known, subjects }
    }

    pub(super) fn contains(&self, id: &str) -> bool {
        self.known.contains(id)
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &str> {
        self.known.iter().map(String::as_str)
    }

    /// Ids that stand in the list a second time, with their lines.
    pub(super) fn repeated(&self) -> impl Iterator<Item = (usize, &str)> {
        self.listed
            .iter()
            .enumerate()
            .filter(|(index, id)| self.listed[..*index].contains(id))
            .map(|(i, id)| (i + 1, id.as_str()))
    }

    /// The ids at the beginning of a test's name, known or not.
    pub(super) fn carried_by(&self, name: &str) -> Vec<String> {
        let name = name.to_lowercase();
        let name = name.strip_prefix("test_").unwrap_or(&name);
        let mut words = name.split(['_', ' ', '-', ':']).peekable();
        let mut found = Vec::new();
        while let Some(word) = words.next() {
            if word == "and" && !found.is_empty() {
                continue;
            }
            let number = words.peek().copied().filter(|next| is_number(next));
            let subject = word.to_uppercase();
            if let Some(number) = number.filter(|_| self.subjects.contains(&subject)) {
                found.push(format!("{subject}-{number}"));
                words.next();
            } else if is_case(word) {
                found.push(subject);
            } else {
                break;
            }
        }
        found
    }
}

fn is_number(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit())
}

/// A letter for whose fault it is, and a number.
fn is_case(word: &str) -> bool {
    word.strip_prefix(['s', 'c', 'v', 'h']).is_some_and(is_number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_carries_the_ids_it_begins_with() {
        let ids = Ids::parse("SEQ-4\nHTTP-12\nS2A-1\nS34\n");
        assert_eq!(ids.carried_by("seq_4_s34_it_asks"), ["SEQ-4", "S34"]);
        assert_eq!(ids.carried_by("seq_4_and_http_12_agree_and_s34"), ["SEQ-4", "HTTP-12"]);
        assert_eq!(ids.carried_by("test_http_12_waits"), ["HTTP-12"]);
        assert_eq!(ids.carried_by("s2a_1_answers"), ["S2A-1"]);
        assert_eq!(ids.carried_by("HTTP-12: waits"), ["HTTP-12"]);
        assert_eq!(ids.carried_by("a_gap_http_12"), Vec::<String>::new());
        assert_eq!(ids.carried_by("seq_numbers"), Vec::<String>::new());
    }

    #[test]
    fn an_id_listed_twice_is_seen() {
        let ids = Ids::parse("A-1\nB-1\nA-1\n");
        assert_eq!(ids.repeated().collect::<Vec<_>>(), [(3, "A-1")]);
    }
}
