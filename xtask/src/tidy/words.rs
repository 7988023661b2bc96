//! What must not be written anywhere: promises instead of code, paths and addresses of one machine, and words that say
//! something about how a text came about instead of what it says.
//!
//! This file spells all of them and is the only one that may.

use super::finding::Finding;
use super::tree::{SourceFile, Tree};

const SELF: &str = "xtask/src/tidy/words.rs";

/// What to look for and what to do about it.
struct Ban {
    text: &'static str,
    how: How,
    remedy: &'static str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum How {
    /// As written, letters and digits on neither side.
    Word,
    /// Like `Word`, in any case.
    AnyCase,
    /// A path that starts here: no path goes before it.
    Path,
    /// As written, anywhere.
    Anywhere,
}

const GAP: &str = "finish it, or write a row of docs/CONFORMANCE.md or a page of docs/decisions";
const MACHINE: &str = "name the file from the root of the repository, or take the folder as an argument";
const HOST: &str = "leave the registry to the configuration of the package manager";
const TALE: &str = "say what is, not how the text came about";

const BANS: &[Ban] = &[
    Ban { text: "TODO", how: How::Word, remedy: GAP },
    Ban { text: "FIXME", how: How::Word, remedy: GAP },
    Ban { text: "XXX", how: How::Word, remedy: GAP },
    Ban { text: "todo!", how: How::Word, remedy: GAP },
    Ban { text: "unimplemented!", how: How::Word, remedy: GAP },
    Ban {
        text: "#[ignore",
        how: How::Anywhere,
        remedy: "assert today's wrong answer and name the conformance row",
    },
    Ban { text: "/root/", how: How::Path, remedy: MACHINE },
    Ban { text: "/work/", how: How::Path, remedy: MACHINE },
    Ban { text: "/home/", how: How::Path, remedy: MACHINE },
    Ban { text: "/Users/", how: How::Path, remedy: MACHINE },
    Ban { text: "registry.npmjs.org", how: How::Anywhere, remedy: HOST },
    Ban { text: "index.crates.io", how: How::Anywhere, remedy: HOST },
    Ban { text: "static.crates.io", how: How::Anywhere, remedy: HOST },
    Ban { text: "proxy.golang.org", how: How::Anywhere, remedy: HOST },
    Ban { text: "sum.golang.org", how: How::Anywhere, remedy: HOST },
    Ban { text: "pypi.org", how: How::Anywhere, remedy: HOST },
    Ban { text: "files.pythonhosted.org", how: How::Anywhere, remedy: HOST },
    Ban { text: "repo1.maven.org", how: How::Anywhere, remedy: HOST },
    Ban { text: "repo.maven.apache.org", how: How::Anywhere, remedy: HOST },
    Ban { text: "\"resolved\": \"http", how: How::Anywhere, remedy: HOST },
    Ban { text: "artifactory", how: How::AnyCase, remedy: HOST },
    Ban { text: "chatgpt", how: How::AnyCase, remedy: TALE },
    Ban { text: "openai", how: How::AnyCase, remedy: TALE },
    Ban { text: "anthropic", how: How::AnyCase, remedy: TALE },
    Ban { text: "claude", how: How::AnyCase, remedy: TALE },
    Ban { text: "copilot", how: How::AnyCase, remedy: TALE },
    Ban { text: "language model", how: How::AnyCase, remedy: TALE },
    Ban { text: "as an ai", how: How::AnyCase, remedy: TALE },
    Ban { text: "worktree", how: How::AnyCase, remedy: TALE },
    Ban { text: "the lead", how: How::AnyCase, remedy: TALE },
    Ban { text: "the seed", how: How::AnyCase, remedy: TALE },
];

/// Places where a word is right all the same: file, word, reason.
const ALLOWED: &[(&str, &str, &str)] = &[];

/// Looks through every text file.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    tree.files.iter().filter(|file| file.path != SELF).flat_map(check_file).collect()
}

fn check_file(file: &SourceFile) -> Vec<Finding> {
    let lower = file.text.to_lowercase();
    let present: Vec<&Ban> = BANS.iter().filter(|ban| ban.may_occur(&file.text, &lower)).collect();
    let mut findings = Vec::new();
    for (number, line) in file.lines() {
        for ban in present.iter().filter(|ban| ban.found_in(line)) {
            let allowed = |(path, text, _): &&(&str, &str, &str)| *path == file.path && *text == ban.text;
            if !ALLOWED.iter().any(|entry| allowed(&entry)) {
                findings.push(Finding::new(&file.path, number, format!("says `{}`", ban.text), ban.remedy));
            }
        }
    }
    findings
}

impl Ban {
    /// A quick look at the whole file, before its lines are looked at one by one.
    fn may_occur(&self, text: &str, lower: &str) -> bool {
        if self.how == How::AnyCase { lower.contains(self.text) } else { text.contains(self.text) }
    }

    fn found_in(&self, line: &str) -> bool {
        let lower;
        let line = if self.how == How::AnyCase {
            lower = line.to_lowercase();
            &lower
        } else {
            line
        };
        line.match_indices(self.text).any(|(start, _)| {
            let before = line[..start].chars().next_back();
            let after = line[start + self.text.len()..].chars().next();
            let word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
            match self.how {
                How::Anywhere => true,
                How::Path => !before.is_some_and(|c| c.is_alphanumeric() || "_-./*}~".contains(c)),
                How::Word | How::AnyCase => !word(before) && (self.text.ends_with('!') || !word(after)),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finds(text: &str) -> Vec<String> {
        check_file(&SourceFile::new("a.rs", text)).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn promises_are_found() {
        assert_eq!(finds("// TODO later\n"), [format!("a.rs:1: says `TODO`; {GAP}")]);
        assert_eq!(finds("\n    todo!()\n").len(), 1);
        assert_eq!(finds("mktemp a.XXXXXX; TODOS\n"), Vec::<String>::new());
        assert_eq!(finds("#[ignore = \"slow\"]\n").len(), 1);
    }

    #[test]
    fn paths_of_one_machine_are_found() {
        assert_eq!(finds("open(\"/root/x\")\n"), [format!("a.rs:1: says `/root/`; {MACHINE}")]);
        assert_eq!(finds("see /home/me/x and http://example.com/work/x and $ROOT/work/y\n").len(), 1);
    }

    #[test]
    fn addresses_of_registries_are_found() {
        assert_eq!(finds("  \"resolved\": \"https://somewhere/x.tgz\",\n").len(), 1);
    }
}
