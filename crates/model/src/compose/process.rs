//! The process in a container: its image, what it runs, as whom, and how it ends.

use super::problem::Problems;
use super::service::Draft;
use super::walk::{At, shown};
use super::{deploy, environment, health, shell, values};
use crate::service::{ImageRef, Pull};

/// Keys about the process in the container. Whether the key was one.
pub(super) fn read(key: &str, value: &At, draft: &mut Draft, problems: &mut Problems<'_>) -> bool {
    let container = &mut draft.container;
    match key {
        "command" => container.command = command(value, problems),
        "entrypoint" => container.entrypoint = command(value, problems),
        "working_dir" => {
            container.working_dir = value.text(problems).and_then(|text| {
                values::absolute_path(&text).map_err(|reason| problems.error(value, reason)).ok()
            });
        }
        "user" => container.user = user(value, problems),
        "labels" => container.labels = environment::labels(value, problems),
        "healthcheck" => container.health = health::read(value, problems),
        "init" => container.init = value.boolean(problems).unwrap_or(true),
        "stop_grace_period" => {
            container.stop.grace_ms = value.duration_ms(problems).unwrap_or(container.stop.grace_ms);
        }
        "stop_signal" => container.stop.signal = signal(value, problems),
        "pull_policy" => container.pull = pull(value, problems),
        "restart" => draft.restart = deploy::restart(value, problems).or(draft.restart),
        "depends_on" => deploy::depends_on(value, draft, problems),
        "links" => deploy::links(value, draft, problems),
        "scale" => deploy::replicas(value, draft, problems),
        "deploy" => deploy::read(value, draft, problems),
        _ => return false,
    }
    true
}

/// The image of a service.
pub(super) fn image(at: &At, problems: &mut Problems<'_>) -> Option<ImageRef> {
    let build = at.get("build").filter(|build| !build.is_null());
    let Some(value) = at.get("image").filter(|value| !value.is_null()) else {
        match build {
            Some(build) => {
                let text = "builds come later; build the image elsewhere, push it to a registry, and name it under image:";
                problems.error(&build, text);
            }
            None => problems.error(at, "has no image"),
        }
        return None;
    };
    if let Some(build) = build {
        problems.warn(&build, "nothing is built yet; the image is fetched from its registry");
    }
    let text = value.text(problems)?;
    text.parse().map_err(|error: crate::service::InvalidImage| problems.error(&value, error.to_string())).ok()
}

/// A text that is cut into words, or a list of words. An empty one takes away what the image has.
fn command(at: &At, problems: &mut Problems<'_>) -> Option<Vec<String>> {
    if at.is_list() {
        return Some(at.texts(problems));
    }
    let text = at.text(problems)?;
    shell::words(&text).map_err(|reason| problems.error(at, format!("{}: {reason}", shown(&text)))).ok()
}

fn user(at: &At, problems: &mut Problems<'_>) -> Option<String> {
    let text = at.text(problems)?;
    let is_part = |part: &str| {
        !part.is_empty()
            && part.len() <= 64
            && part
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b'$'))
    };
    let mut parts = text.split(':');
    let is_user = parts.by_ref().take(2).all(is_part) && parts.next().is_none();
    if !is_user {
        problems
            .error(at, format!("{} is no user: a name or number, with a group after a colon", shown(&text)));
    }
    Some(text)
}

fn signal(at: &At, problems: &mut Problems<'_>) -> Option<String> {
    let text = at.text(problems)?.to_ascii_uppercase();
    if text.parse::<u8>().is_ok_and(|number| (1..=64).contains(&number)) {
        return Some(text);
    }
    let name = if text.starts_with("SIG") { text } else { format!("SIG{text}") };
    let is_known = name.len() <= 12
        && name.len() > 3
        && name
            .bytes()
            .all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || matches!(byte, b'+' | b'-'));
    if !is_known {
        problems.error(at, format!("{} is no signal; write SIGTERM or a number from 1 to 64", shown(&name)));
    }
    Some(name)
}

fn pull(at: &At, problems: &mut Problems<'_>) -> Pull {
    let text = at.text(problems).unwrap_or_default();
    match text.as_str() {
        "missing" | "if_not_present" => {}
        "always" => return Pull::Always,
        "build" => problems.error(at, "builds come later; write always or missing"),
        _ => problems.error(at, format!("{} is not supported; always and missing are", shown(&text))),
    }
    Pull::Missing
}
