//! Whom a change is for, and what to say when that is nobody.

use api::assignments::Preview;
use model::Selector;

use crate::cli::Reach;
use crate::failure::Failure;
use crate::output::safe;

/// The selector of a command that changes something; empty: every agent, which somebody said with `--all`.
pub(super) fn selector(reach: &Reach) -> Result<String, Failure> {
    let text = chosen(reach.selector.as_deref(), reach.all)?;
    text.ok_or_else(|| Failure::usage("say which agents: --selector, or --all for every agent"))
}

/// The same where it may be left out. The API takes an empty selector for every agent; here that has to be said, for a
/// variable of a script that happens to be empty must not mean the whole fleet.
pub(super) fn chosen(selector: Option<&str>, all: bool) -> Result<Option<String>, Failure> {
    match (all, selector) {
        (true, _) => Ok(Some(String::new())),
        (false, None) => Ok(None),
        (false, Some(text)) => {
            let parsed = Selector::parse(text);
            let parsed = parsed.map_err(|error| Failure::usage(format!("--selector: {error}")))?;
            if parsed == Selector::everything() {
                return Err(Failure::usage("--selector: it is empty, and would mean every agent")
                    .hint("If every agent is meant, say so with --all."));
            }
            Ok(Some(parsed.to_string()))
        }
    }
}

/// A selector for people; none is everybody.
pub(super) fn selector_text(selector: &str) -> String {
    if selector.is_empty() { "(every agent)".to_owned() } else { safe(selector) }
}

/// What to warn of when a revision would reach nobody now.
pub(super) fn nobody(preview: &Preview) -> Option<String> {
    let Preview { matched, gets, offline, incapable, outranked, overridden, .. } = *preview;
    let others = incapable + outranked + overridden;
    match (matched, gets, offline) {
        (0, ..) => Some("the selector matches no agent now; agents that match later get it".to_owned()),
        (_, 0, 0) if others >= matched => Some(format!(
            "this reaches no agent now: of the {matched} that match, {incapable} cannot be configured, {outranked} get \
             something stronger and {overridden} are pinned"
        )),
        (_, 0, 1..) => {
            Some(format!("this reaches no agent now: {offline} are offline, and get it when they come back"))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_agent_is_meant_only_when_it_is_said() {
        for text in ["", " ", "\t"] {
            let failure = chosen(Some(text), false).unwrap_err();
            assert!(failure.to_string().contains("every agent"), "{text:?}: {failure}");
        }
        assert_eq!(chosen(None, true), Ok(Some(String::new())));
        assert_eq!(chosen(None, false), Ok(None));
        assert_eq!(chosen(Some("env == prod"), false), Ok(Some("env=prod".to_owned())));
        assert!(chosen(Some("a in ("), false).unwrap_err().to_string().starts_with("--selector: "));
    }

    #[test]
    fn a_change_that_reaches_nobody_is_warned_of() {
        let none = Preview::default();
        let one = Preview { matched: 1, ..none.clone() };
        assert!(nobody(&none).unwrap().contains("matches no agent now"));
        assert!(nobody(&Preview { incapable: 1, ..one.clone() }).unwrap().contains("cannot be configured"));
        assert!(nobody(&Preview { offline: 1, ..one.clone() }).unwrap().contains("when they come back"));
        assert_eq!(nobody(&Preview { gets: 1, ..one.clone() }), None);
        assert_eq!(nobody(&one), None, "it has it already");
    }
}
