//! Secrets, configurations and volumes at the top of a file.

use std::collections::BTreeMap;

use host_proto::desired::VolumeKind;

use super::keys;
use super::problem::Problems;
use super::service::{Context, bad_name, unsupported};
use super::walk::{At, shown};
use super::{Config, ConfigSource, Secret, SecretSource};
use crate::service::{VolumeSpec, is_name};

/// What names of secrets and configurations may have beside what other names have: files keep their dots.
const MAX_FILE_NAME: usize = 100;

/// A secret at the top.
pub(super) fn secret(name: &str, at: &At, problems: &mut Problems<'_>) -> Option<Secret> {
    check_name(name, at, problems);
    let sources = sources(at, &["file", "environment", "external"], problems);
    let source = match one_source(at, sources, problems)? {
        Source::File(path) => SecretSource::File(path),
        Source::Variable(variable, _) => SecretSource::Variable(variable),
        Source::Stored(stored) => SecretSource::Stored(stored.unwrap_or_else(|| name.to_owned())),
        Source::Content(_) => return None,
    };
    Some(Secret { name: name.to_owned(), source })
}

/// A configuration at the top.
pub(super) fn config(
    name: &str,
    at: &At,
    context: &Context<'_>,
    problems: &mut Problems<'_>,
) -> Option<Config> {
    check_name(name, at, problems);
    let sources = sources(at, &["file", "environment", "content"], problems);
    let source = match one_source(at, sources, problems)? {
        Source::File(path) => ConfigSource::File(path),
        Source::Content(content) => ConfigSource::Content(content),
        Source::Variable(variable, at) => match context.env.get(&variable) {
            Some(value) => ConfigSource::Content(value),
            None => {
                problems.error(&at, format!("the variable {} is not set", shown(&variable)));
                return None;
            }
        },
        Source::Stored(_) => return None,
    };
    Some(Config { name: name.to_owned(), source })
}

/// A volume at the top.
pub(super) fn volume(name: &str, at: &At, context: &Context<'_>, problems: &mut Problems<'_>) -> VolumeSpec {
    if !is_name(name) {
        problems.error(at, bad_name(name));
    }
    let mut spec = VolumeSpec { name: name.to_owned(), options: BTreeMap::new() };
    for (key, value) in at.entries(problems) {
        match key.as_str() {
            _ if value.is_null() => {}
            "driver" => {
                let driver = value.text(problems).unwrap_or_default();
                if !matches!(driver.as_str(), "" | "local") {
                    problems
                        .error(&value, format!("the driver {} is not supported; local is", shown(&driver)));
                }
            }
            "driver_opts" => {
                for (option, value) in value.entries(problems) {
                    spec.options.extend(value.text(problems).map(|text| (option, text)));
                }
            }
            _ => unsupported(&value, &key, keys::VOLUME, &["driver", "driver_opts"], problems),
        }
    }
    match spec.kind() {
        VolumeKind::HostPath(_) if !context.allow_host_paths => {
            let text = "is a path of the host; write x-muster: {allow_host_paths: true} at the top of the file, which the \
                        host must allow too";
            problems.error(at, text);
        }
        VolumeKind::Refused(why) => problems.error(at, format!("driver_opts: {why}")),
        VolumeKind::HostPath(_) | VolumeKind::Directory | VolumeKind::Memory | VolumeKind::Remote => {}
    }
    spec
}

/// Where a file's content is.
enum Source {
    File(String),
    Variable(String, At),
    Stored(Option<String>),
    Content(String),
}

fn sources(at: &At, allowed: &[&str], problems: &mut Problems<'_>) -> Vec<Source> {
    let mut sources = Vec::new();
    let mut stored_name = None;
    for (key, value) in at.entries(problems) {
        match key.as_str() {
            _ if value.is_null() => {}
            "name" => stored_name = value.text(problems),
            "external" if value.is_off() => {}
            "external" if !allowed.contains(&"external") => {
                problems
                    .error(&value, "configurations are not kept apart from projects; give file: or content:");
            }
            "external" => sources.push(Source::Stored(None)),
            "file" => sources.extend(value.text(problems).map(Source::File)),
            "environment" => {
                sources.extend(value.text(problems).map(|name| Source::Variable(name, value.clone())));
            }
            "content" if allowed.contains(&"content") => {
                sources.extend(value.text(problems).map(Source::Content));
            }
            _ => unsupported(&value, &key, keys::FILE, allowed, problems),
        }
    }
    for source in &mut sources {
        if let Source::Stored(name) = source {
            name.clone_from(&stored_name);
        }
    }
    sources
}

fn one_source(at: &At, mut sources: Vec<Source>, problems: &mut Problems<'_>) -> Option<Source> {
    match sources.len() {
        1 => sources.pop(),
        0 => {
            let is_refused = ["external", "content", "driver"].iter().any(|key| at.get(key).is_some());
            if !is_refused {
                problems.error(at, "says not where its content is: give file: or environment:");
            }
            None
        }
        _ => {
            problems.error(at, "says in several ways where its content is; give one");
            None
        }
    }
}

fn check_name(name: &str, at: &At, problems: &mut Problems<'_>) {
    let is_good = name.len() <= MAX_FILE_NAME
        && name.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_')
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-'));
    if !is_good {
        let text =
            "is no name of a file: letters, digits, . _ and -, at most 100 of them, the first no . or -";
        problems.error(at, format!("{} {text}", shown(name)));
    }
}
