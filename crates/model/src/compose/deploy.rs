//! `deploy:`, `restart:` and `depends_on:`: how many replicas, what they may use, what happens when they exit, and what
//! comes first.

use super::problem::Problems;
use super::service::{Draft, Use, UseKind, unsupported};
use super::walk::{At, shown};
use super::{MAX_SERVICES, keys, security};
use crate::service::{Condition, Dependency, MAX_REPLICAS, Order, Reservation, Restart};

/// `deploy:`
pub(super) fn read(at: &At, draft: &mut Draft, problems: &mut Problems<'_>) {
    const KNOWN: [&str; 6] =
        ["mode", "replicas", "resources", "restart_policy", "update_config", "placement"];
    for (key, value) in at.entries(problems) {
        match key.as_str() {
            _ if value.is_null() => {}
            "mode" => mode(&value, problems),
            "replicas" => replicas(&value, draft, problems),
            "resources" => resources(&value, draft, problems),
            "restart_policy" => {
                let policy = restart_policy(&value, problems);
                if draft.restart.replace(policy).is_some_and(|other| other != policy) {
                    problems.warn(&value, "goes before restart:");
                }
            }
            "update_config" => update_config(&value, draft, problems),
            "placement" => {
                for (key, value) in value.entries(problems) {
                    unsupported(&value, &key, keys::PLACEMENT, &[], problems);
                }
            }
            _ => unsupported(&value, &key, keys::DEPLOY, &KNOWN, problems),
        }
    }
}

fn mode(at: &At, problems: &mut Problems<'_>) {
    let Some(text) = at.text(problems) else { return };
    let reason = match text.as_str() {
        "replicated" => return,
        "global" => "one replica on every host is not supported; give replicas: and x-muster.placement",
        "replicated-job" | "global-job" => "jobs come later",
        _ => "is not known; leave it out",
    };
    problems.error(at, format!("{}: {reason}", shown(&text)));
}

/// `deploy.replicas` and `scale`.
pub(super) fn replicas(at: &At, draft: &mut Draft, problems: &mut Problems<'_>) {
    let Some(count) = at.small(MAX_REPLICAS, problems) else { return };
    if draft.replicas.as_ref().is_some_and(|(other, _)| *other != count) {
        problems.error(at, "scale: and deploy.replicas say different numbers");
    }
    draft.replicas = Some((count, at.clone()));
}

fn resources(at: &At, draft: &mut Draft, problems: &mut Problems<'_>) {
    for (key, value) in at.entries(problems) {
        match key.as_str() {
            _ if value.is_null() => {}
            "limits" => security::deploy_limits(&value, &mut draft.container.resources, problems),
            "reservations" => {
                for (key, value) in value.entries(problems) {
                    reservation(&key, &value, &mut draft.placement.reserve, problems);
                }
            }
            _ => unsupported(&value, &key, &[], &["limits", "reservations"], problems),
        }
    }
}

fn reservation(key: &str, value: &At, reserve: &mut Reservation, problems: &mut Problems<'_>) {
    match key {
        _ if value.is_null() => {}
        "cpus" => reserve.cpu_millis = value.cpu_millis(problems).filter(|millis| *millis > 0),
        "memory" => reserve.memory_bytes = value.bytes(problems).filter(|bytes| *bytes > 0),
        _ => unsupported(value, key, keys::RESOURCES, &["cpus", "memory"], problems),
    }
}

/// `restart:`
pub(super) fn restart(at: &At, problems: &mut Problems<'_>) -> Option<Restart> {
    let text = at.text(problems)?;
    let (policy, retries) = text.split_once(':').map_or((text.as_str(), None), |(a, b)| (a, Some(b)));
    match (policy, retries) {
        ("always" | "unless-stopped", None) => Some(Restart::Always),
        ("no" | "false", None) => Some(Restart::Never),
        ("on-failure", None) => Some(Restart::OnFailure { max_retries: None }),
        ("on-failure", Some(retries)) if retries.parse::<u32>().is_ok_and(|number| number <= 1000) => {
            Some(Restart::OnFailure { max_retries: retries.parse().ok() })
        }
        _ => {
            let text = format!(
                "{} is none of no, always, unless-stopped, on-failure and on-failure:3",
                shown(&text)
            );
            problems.error(at, text);
            None
        }
    }
}

fn restart_policy(at: &At, problems: &mut Problems<'_>) -> Restart {
    let (mut policy, mut max_retries) = (Restart::Always, None);
    for (key, value) in at.entries(problems) {
        match key.as_str() {
            _ if value.is_null() => {}
            "condition" => match value.text(problems).as_deref() {
                Some("none") => policy = Restart::Never,
                Some("on-failure") => policy = Restart::OnFailure { max_retries: None },
                Some("any") | None => {}
                Some(other) => {
                    problems.error(&value, format!("{} is none of none, on-failure and any", shown(other)));
                }
            },
            "max_attempts" => max_retries = value.small(1000, problems).map(|number| (number, value)),
            "delay" | "window" => {
                problems.warn(&value, "the engine waits longer after each restart by itself")
            }
            _ => unsupported(&value, &key, &[], &["condition", "max_attempts", "delay", "window"], problems),
        }
    }
    match (policy, max_retries) {
        (Restart::OnFailure { .. }, Some((number, _))) => Restart::OnFailure { max_retries: Some(number) },
        (Restart::Always, Some((_, at))) => {
            problems.warn(&at, "counts only with condition: on-failure");
            policy
        }
        (policy, _) => policy,
    }
}

fn update_config(at: &At, draft: &mut Draft, problems: &mut Problems<'_>) {
    for (key, value) in at.entries(problems) {
        match key.as_str() {
            _ if value.is_null() => {}
            "order" => match value.text(problems).as_deref() {
                Some("start-first") => draft.order = Some(Order::StartFirst),
                Some("stop-first") => draft.order = Some(Order::StopFirst),
                Some(other) => {
                    problems.error(&value, format!("{} is neither start-first nor stop-first", shown(other)));
                }
                None => {}
            },
            "parallelism" if value.node.text() == Some("1") => {}
            _ => unsupported(&value, &key, keys::UPDATE, &["order"], problems),
        }
    }
}

/// `depends_on:`: names, or a map of names to conditions.
pub(super) fn depends_on(at: &At, draft: &mut Draft, problems: &mut Problems<'_>) {
    if has_too_many(at, problems) {
        return;
    }
    if at.is_list() {
        for item in at.items(problems) {
            let Some(service) = item.text(problems) else { continue };
            depend(service, Condition::Started, true, &item, draft);
        }
        return;
    }
    for (service, item) in at.entries(problems) {
        let (mut condition, mut is_required) = (Some(Condition::Started), true);
        for (key, value) in item.entries(problems) {
            match key.as_str() {
                "condition" => condition = self::condition(&value, problems),
                "required" => is_required = value.boolean(problems).unwrap_or(true),
                "restart" if value.is_off() => {}
                "restart" => {
                    problems
                        .warn(&value, "a service is not restarted when one that it depends on is updated");
                }
                _ => unsupported(&value, &key, &[], &["condition", "required", "restart"], problems),
            }
        }
        if let Some(condition) = condition {
            depend(service, condition, is_required, &item, draft);
        }
    }
}

/// `links:`: names of services, all of which are reached anyway; only the order is kept.
pub(super) fn links(at: &At, draft: &mut Draft, problems: &mut Problems<'_>) {
    if has_too_many(at, problems) {
        return;
    }
    for item in at.items(problems) {
        let Some(text) = item.text(problems) else { continue };
        match text.split_once(':') {
            Some((name, alias)) if name != alias => problems.error(
                &item,
                "other names of services belong to the service itself: write aliases: under its networks:",
            ),
            Some((name, _)) => depend(name.to_owned(), Condition::Started, true, &item, draft),
            None => depend(text, Condition::Started, true, &item, draft),
        }
    }
}

fn has_too_many(at: &At, problems: &mut Problems<'_>) -> bool {
    let has_too_many = at.node.items().len().max(at.node.entries().len()) > MAX_SERVICES;
    if has_too_many {
        problems.error(at, format!("a project has at most {MAX_SERVICES} services"));
    }
    has_too_many
}

fn condition(at: &At, problems: &mut Problems<'_>) -> Option<Condition> {
    let text = at.text(problems)?;
    match text.as_str() {
        "service_started" => Some(Condition::Started),
        "service_healthy" => Some(Condition::Healthy),
        "service_completed_successfully" => {
            let text =
                "services that end come later, with jobs; run the step in the entrypoint of the service";
            problems.error(at, text);
            None
        }
        _ => {
            problems.error(at, format!("{} is neither service_started nor service_healthy", shown(&text)));
            None
        }
    }
}

/// The stronger condition stays when a service is named twice.
fn depend(service: String, condition: Condition, is_required: bool, at: &At, draft: &mut Draft) {
    draft.uses.push(Use { kind: UseKind::Service { is_required }, name: service.clone(), at: at.clone() });
    match draft.depends_on.iter_mut().find(|other| other.service == service) {
        Some(known) => known.condition = known.condition.max(condition),
        None => draft.depends_on.push(Dependency { service, condition }),
    }
}
