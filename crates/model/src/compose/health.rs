//! `healthcheck:` and the checks of `x-muster.health`.

use std::collections::BTreeMap;

use super::problem::Problems;
use super::service::unsupported;
use super::walk::{At, shown};
use crate::service::{Check, Health};

/// The most failures in a row that may be waited for.
const MAX_RETRIES: u32 = 1000;

/// `healthcheck:`. `None` leaves the image's own check.
pub(super) fn read(at: &At, problems: &mut Problems<'_>) -> Option<Health> {
    const KNOWN: [&str; 7] =
        ["test", "interval", "timeout", "retries", "start_period", "start_interval", "disable"];
    let mut check = None;
    let mut is_off = false;
    let mut times = Health::new(Check::None);
    for (key, value) in at.entries(problems) {
        match key.as_str() {
            _ if value.is_null() => {}
            "test" => check = test(&value, problems),
            "disable" => is_off = value.boolean(problems).unwrap_or(false),
            "start_interval" => {
                problems.warn(&value, "replicas are checked every interval from the start on");
            }
            _ if time(&key, &value, &mut times, problems) => {}
            _ => unsupported(&value, &key, &[], &KNOWN, problems),
        }
    }
    if is_off {
        return Some(Health::new(Check::None));
    }
    match check {
        Some(check) => Some(Health { check, ..times }),
        None => {
            if at.get("test").is_none() && !at.is_off() {
                let text = "has no test; without one the image's own check stands, with its own times";
                problems.error(at, text);
            }
            None
        }
    }
}

/// `x-muster.health`: `http:` or `tcp:`, which the agent does, with the times of `healthcheck:`.
pub(super) fn from_agent(at: &At, problems: &mut Problems<'_>) -> Option<Health> {
    const KNOWN: [&str; 7] =
        ["http", "tcp", "interval", "timeout", "retries", "start_period", "success_threshold"];
    let mut check = None;
    let mut times = Health::new(Check::None);
    for (key, value) in at.entries(problems) {
        match key.as_str() {
            _ if value.is_null() => {}
            "http" => check = http(&value, problems),
            "tcp" => check = tcp(&value, problems),
            "success_threshold" => {
                times.success_threshold =
                    value.small(MAX_RETRIES, problems).filter(|number| *number > 0).unwrap_or(1);
            }
            _ if time(&key, &value, &mut times, problems) => {}
            _ => unsupported(&value, &key, &[], &KNOWN, problems),
        }
    }
    if at.get("http").is_none() && at.get("tcp").is_none() {
        problems.error(at, "has neither http: nor tcp:");
    }
    Some(Health { check: check?, ..times })
}

fn time(key: &str, value: &At, times: &mut Health, problems: &mut Problems<'_>) -> bool {
    match key {
        "interval" => set_ms(value, &mut times.interval_ms, problems),
        "timeout" => set_ms(value, &mut times.timeout_ms, problems),
        "start_period" => {
            times.start_period_ms = value.duration_ms(problems).unwrap_or(times.start_period_ms);
        }
        "retries" => match value.small(MAX_RETRIES, problems) {
            Some(0) => problems.error(value, "must be at least 1"),
            Some(number) => times.retries = number,
            None => {}
        },
        _ => return false,
    }
    true
}

fn set_ms(value: &At, into: &mut u64, problems: &mut Problems<'_>) {
    match value.duration_ms(problems) {
        // As in engines: 0 is the usual time.
        Some(0) | None => {}
        Some(ms) => *into = ms,
    }
}

/// A text for a shell, or a list that begins with `NONE`, `CMD` or `CMD-SHELL`.
fn test(at: &At, problems: &mut Problems<'_>) -> Option<Check> {
    let shell = |script: &str| Check::Exec {
        command: ["/bin/sh", "-c", script].into_iter().map(str::to_owned).collect(),
    };
    if !at.is_list() {
        return at.text(problems).map(|script| shell(&script));
    }
    let words = at.texts(problems);
    match words.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["NONE"] => Some(Check::None),
        ["CMD-SHELL", script] => Some(shell(script)),
        ["CMD", _, ..] => Some(Check::Exec { command: words.into_iter().skip(1).collect() }),
        _ => {
            let text = "must be a text, or a list that begins with CMD, CMD-SHELL (and one text) or NONE";
            problems.error(at, text);
            None
        }
    }
}

fn http(at: &At, problems: &mut Problems<'_>) -> Option<Check> {
    let (mut port, mut path, mut host_header) = (None, "/".to_owned(), None);
    let (mut headers, mut expect) = (BTreeMap::new(), Vec::new());
    for (key, value) in at.entries(problems) {
        match key.as_str() {
            "port" => port = value.port(problems),
            "path" => path = http_path(&value, problems)?,
            "host" => {
                host_header = value.text(problems).filter(|text| is_header_value(text, &value, problems))
            }
            "headers" => {
                for (name, value) in value.entries(problems) {
                    let Some(text) = value.text(problems) else { continue };
                    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
                    if name.is_empty() || !name.bytes().all(is_token) {
                        problems.error(&value, format!("{} is no name of a header", shown(&name)));
                    } else if is_header_value(&text, &value, problems) {
                        headers.insert(name, text);
                    }
                }
            }
            "expect" => {
                let codes = value.one_or_many(problems);
                let code = |item: &At| u16::try_from(item.number(100, 599, problems)?).ok();
                expect = codes.iter().filter_map(code).collect();
            }
            _ => unsupported(&value, &key, &[], &["port", "path", "host", "headers", "expect"], problems),
        }
    }
    if port.is_none() && at.get("port").is_none() {
        problems.error(at, "has no port: the container's port that is asked");
    }
    Some(Check::Http { port: port?, path, host_header, headers, expect })
}

fn http_path(at: &At, problems: &mut Problems<'_>) -> Option<String> {
    let path = at.text(problems)?;
    if path.starts_with('/') && path.len() <= 2048 && path.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Some(path);
    }
    problems.error(at, format!("{} is no path; it begins with / and has no blanks", shown(&path)));
    None
}

fn is_header_value(text: &str, at: &At, problems: &mut Problems<'_>) -> bool {
    let is_good = text.len() <= 4096 && !text.chars().any(char::is_control);
    if !is_good {
        problems.error(at, "a header has control characters or more than 4096 bytes");
    }
    is_good
}

fn tcp(at: &At, problems: &mut Problems<'_>) -> Option<Check> {
    let mut port = None;
    if !at.is_map() {
        return at.port(problems).map(|port| Check::Tcp { port });
    }
    for (key, value) in at.entries(problems) {
        match key.as_str() {
            "port" => port = value.port(problems),
            _ => unsupported(&value, &key, &[], &["port"], problems),
        }
    }
    if port.is_none() && at.get("port").is_none() {
        problems.error(at, "has no port: the container's port that is asked");
    }
    Some(Check::Tcp { port: port? })
}
