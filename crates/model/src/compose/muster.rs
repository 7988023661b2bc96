//! `x-muster:`, what only Muster knows: singletons, placement, the order and deadline of updates, and checks that the
//! agent does.

use super::health;
use super::problem::Problems;
use super::service::{Draft, unsupported};
use super::walk::{At, shown};
use crate::service::{Order, Placement, Spread};
use crate::{Selector, label, name};

const SERVICE_KEYS: [&str; 6] =
    ["singleton", "placement", "update_order", "deadline", "health", "allow_host_paths"];

/// Whether paths of hosts are allowed; read before mounts are.
pub(super) fn allows_host_paths(at: Option<&At>, problems: &mut Problems<'_>) -> bool {
    let value = at.and_then(|at| at.get("allow_host_paths"));
    value.filter(|value| !value.is_null()).and_then(|value| value.boolean(problems)).unwrap_or(false)
}

/// `x-muster:` at the top.
pub(super) fn top(at: &At, problems: &mut Problems<'_>) {
    for (key, value) in at.entries(problems) {
        if key != "allow_host_paths" {
            unsupported(&value, &key, &[], &["allow_host_paths"], problems);
        }
    }
}

/// `x-muster:` of a service.
pub(super) fn service(at: &At, draft: &mut Draft, problems: &mut Problems<'_>) {
    for (key, value) in at.entries(problems) {
        match key.as_str() {
            _ if value.is_null() => {}
            "singleton" => draft.is_singleton = value.boolean(problems).unwrap_or(false),
            "placement" => placement(&value, &mut draft.placement, problems),
            "update_order" => match value.text(problems).as_deref() {
                Some("start_first" | "start-first") => draft.order = Some(Order::StartFirst),
                Some("stop_first" | "stop-first") => draft.order = Some(Order::StopFirst),
                Some(other) => {
                    problems.error(&value, format!("{} is neither start_first nor stop_first", shown(other)));
                }
                None => {}
            },
            "deadline" => match value.duration_ms(problems) {
                Some(0) => problems.error(&value, "must be longer than 0s"),
                deadline => draft.deadline_ms = deadline,
            },
            "health" => {
                draft.agent_health = health::from_agent(&value, problems).map(|health| (health, value))
            }
            "allow_host_paths" => {}
            _ => unsupported(&value, &key, &[], &SERVICE_KEYS, problems),
        }
    }
}

fn placement(at: &At, placement: &mut Placement, problems: &mut Problems<'_>) {
    for (key, value) in at.entries(problems) {
        match key.as_str() {
            _ if value.is_null() => {}
            "host" => {
                let Some(text) = value.text(problems) else { continue };
                match name::label(&text, 255) {
                    Ok(host) => placement.host = Some(host.to_owned()),
                    Err(error) => problems.error(&value, error.to_string()),
                }
            }
            "selector" => {
                let Some(text) = value.text(problems) else { continue };
                match Selector::parse(&text) {
                    // Written as the selector writes itself, so that blanks change no document.
                    Ok(selector) => placement.selector = Some(selector.to_string()),
                    Err(error) => problems.error(&value, format!("{} is no selector: {error}", shown(&text))),
                }
            }
            "spread" => match value.text(problems) {
                Some(text) if text == "host" => placement.spread = Some(Spread::Hosts),
                Some(text)
                    if label::LabelChange::replacing([(text.clone(), String::new())].into()).is_ok() =>
                {
                    placement.spread = Some(Spread::Label(text));
                }
                Some(text) => problems.error(&value, format!("{} is no key of a label", shown(&text))),
                None => {}
            },
            _ => unsupported(&value, &key, &[], &["host", "selector", "spread"], problems),
        }
    }
}
