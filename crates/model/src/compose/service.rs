//! A service, key by key. What a key means is in the module of its part; here is which keys there are, and what follows
//! from several of them at once.

use std::cell::Cell;

use super::environment::{self, EnvFiles};
use super::keys::Said;
use super::mounts::{self, Mounts};
use super::problem::Problems;
use super::walk::{At, shown};
use super::{Lookup, check, keys, muster, networks, ports, process, security};
use crate::service::{
    ContainerSpec, Dependency, FORMAT, Health, Order, Placement, Port, Restart, Scale, ServiceSpec, Shared,
    Update,
};

/// What is known while a project is read.
#[derive(Clone, Copy)]
pub(super) struct Context<'c> {
    pub(super) env: &'c dyn Lookup,
    pub(super) env_files: &'c EnvFiles<'c>,
    pub(super) allow_host_paths: bool,
    /// How much text of files and variables has become environment so far.
    pub(super) spent: &'c Cell<usize>,
}

/// Something of the project that a service needs.
#[derive(Debug, Clone)]
pub(super) struct Use {
    pub(super) kind: UseKind,
    pub(super) name: String,
    pub(super) at: At,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum UseKind {
    Network,
    Volume,
    Secret,
    Config,
    Service { is_required: bool },
}

/// A service as it is gathered.
pub(super) struct Draft {
    pub(super) container: ContainerSpec,
    pub(super) replicas: Option<(u32, At)>,
    pub(super) is_singleton: bool,
    pub(super) placement: Placement,
    pub(super) order: Option<Order>,
    pub(super) deadline_ms: Option<u64>,
    pub(super) restart: Option<Restart>,
    pub(super) agent_health: Option<(Health, At)>,
    pub(super) depends_on: Vec<Dependency>,
    pub(super) uses: Vec<Use>,
}

/// A service that was read, with what is checked across services.
pub(super) struct Read {
    pub(super) name: String,
    pub(super) at: At,
    pub(super) spec: ServiceSpec,
    pub(super) uses: Vec<Use>,
    pub(super) ports: Vec<(Port, At)>,
}

/// Reads one service. `None` without an image, which is a problem.
pub(super) fn service(
    name: &str,
    at: &At,
    context: &Context<'_>,
    problems: &mut Problems<'_>,
) -> Option<Read> {
    let extension = at.get("x-muster");
    let allow_host_paths =
        context.allow_host_paths || muster::allows_host_paths(extension.as_ref(), problems);
    let context = Context { allow_host_paths, ..*context };
    let image = process::image(at, problems);
    // Whatever else is wrong is told too; without an image nothing comes of it.
    let container = ContainerSpec::new(image.clone().or_else(|| "none".parse().ok())?);
    let mut draft = Draft {
        container,
        replicas: None,
        is_singleton: false,
        placement: Placement::default(),
        order: None,
        deadline_ms: None,
        restart: None,
        agent_health: None,
        depends_on: Vec::new(),
        uses: Vec::new(),
    };
    let mut mounts = Mounts::default();
    let mut published = Vec::new();
    let entries = at.entries(problems);
    // `deploy:` goes before the older keys, so that it comes after them.
    let (older, deploy): (Vec<_>, Vec<_>) = entries.into_iter().partition(|(key, _)| key != "deploy");
    for (key, value) in older.into_iter().chain(deploy) {
        match key.as_str() {
            _ if value.is_null() && key != "networks" => {}
            "ports" => published = ports::read(&value, problems),
            "volumes" => mounts::volumes(&value, &context, &mut mounts, problems),
            "tmpfs" => mounts::tmpfs(&value, &mut mounts, problems),
            "secrets" => mounts::secrets(&value, &mut mounts, problems),
            "configs" => mounts::configs(&value, &mut mounts, problems),
            "x-muster" => muster::service(&value, &mut draft, problems),
            "image" | "build" | "profiles" | "environment" | "env_file" | "networks" | "container_name" => {}
            _ if process::read(&key, &value, &mut draft, problems) => {}
            _ if surroundings(&key, &value, &mut draft, problems) => {}
            _ => unsupported(&value, &key, keys::SERVICE, &keys::KNOWN, problems),
        }
    }
    let (env_file, own) = (at.get("env_file"), at.get("environment"));
    draft.container.env = environment::read(env_file.as_ref(), own.as_ref(), &context, problems);
    attach(at, &mut draft, problems);
    let (list, uses) = mounts.into_sorted(problems);
    draft.container.mounts = list;
    draft.uses.extend(uses);
    check::container_name(at, &draft, problems);
    image?;
    Some(finished(name, at, draft, published, problems))
}

/// Keys about what is around the process. Whether the key was one.
fn surroundings(key: &str, value: &At, draft: &mut Draft, problems: &mut Problems<'_>) -> bool {
    let container = &mut draft.container;
    match key {
        "hostname" => {
            container.hostname = value.text(problems);
            if let Some(name) = container.hostname.as_deref().filter(|name| !is_short_host_name(name)) {
                problems.error(value, format!("{} is no name of a host", shown(name)));
            }
        }
        "extra_hosts" => container.extra_hosts = networks::extra_hosts(value, problems),
        "expose" => ports::check_expose(value, problems),
        "cap_add" => container.security.cap_add = security::capabilities(value, true, problems),
        "cap_drop" => container.security.cap_drop = security::capabilities(value, false, problems),
        "read_only" => container.security.read_only_root = value.boolean(problems).unwrap_or(false),
        "security_opt" => container.security.no_new_privileges = security::options(value, problems),
        "sysctls" => container.security.sysctls = security::sysctls(value, problems),
        "ulimits" => container.ulimits = security::ulimits(value, problems),
        "logging" => container.logging = security::logging(value, problems),
        "mem_reservation" => {
            draft.placement.reserve.memory_bytes = value.bytes(problems).filter(|bytes| *bytes > 0);
        }
        _ => return security::resource(key, value, &mut container.resources, problems),
    }
    true
}

fn is_short_host_name(text: &str) -> bool {
    text.len() <= 63 && networks::is_host_name(text)
}

/// Puts the service on its networks, or on the one that all services without networks share.
fn attach(at: &At, draft: &mut Draft, problems: &mut Problems<'_>) {
    let (list, uses) = match at.get("networks").filter(|value| !value.is_null()) {
        Some(value) => networks::attachments(&value, problems),
        None if at.get("network_mode").is_some() => return,
        None => networks::default(at),
    };
    draft.container.networks = list;
    draft.uses.extend(uses);
}

/// What follows from several keys at once.
fn finished(
    name: &str,
    at: &At,
    mut draft: Draft,
    ports: Vec<(Port, At)>,
    problems: &mut Problems<'_>,
) -> Read {
    check::limits(at, &draft, problems);
    draft.container.restart = draft.restart.unwrap_or_default();
    if let Some((health, at)) = draft.agent_health.take() {
        if draft.container.health.is_some() {
            problems.error(&at, "and healthcheck: are two checks; give one");
        }
        draft.container.health = Some(health);
    }
    let count = draft.replicas.as_ref().map_or(1, |(count, _)| *count);
    let scale = if draft.is_singleton { Scale::Singleton } else { Scale::Replicas { count } };
    if let (true, Some((2.., at))) = (draft.is_singleton, &draft.replicas) {
        problems.error(at, "a singleton has one replica");
    }
    let order = order(at, &draft, problems);
    draft.depends_on.sort_by(|a, b| a.service.cmp(&b.service));
    let mut published: Vec<Port> = ports.iter().map(|(port, _)| port.clone()).collect();
    published.sort();
    let spec = ServiceSpec {
        format: FORMAT,
        container: draft.container,
        scale,
        placement: draft.placement,
        update: Update { order, deadline_ms: draft.deadline_ms },
        ports: published,
        depends_on: draft.depends_on,
        // Known when all of the project is.
        shared: Shared::default(),
    };
    Read { name: name.to_owned(), at: at.clone(), spec, uses: draft.uses, ports }
}

/// Two replicas on one volume, or two of a singleton, are not to be seen even for a moment, unless somebody says so.
fn order(at: &At, draft: &Draft, problems: &mut Problems<'_>) -> Order {
    let why = match (draft.is_singleton, draft.container.has_volume()) {
        (true, _) => "there is to be only one",
        (false, true) => "it has a volume",
        (false, false) => return draft.order.unwrap_or(Order::StartFirst),
    };
    match draft.order {
        Some(Order::StartFirst) if draft.is_singleton => {
            problems.error(at, "a singleton cannot be updated start_first, since two would run");
            Order::StartFirst
        }
        Some(order) => order,
        None => {
            let advice = "write x-muster: {update_order: stop_first} to say so yourself";
            let text = format!("updates stop the old replica first, since {why}; {advice}");
            problems.warn(at, text);
            Order::StopFirst
        }
    }
}

/// A key that nothing reads: refused, harmless, an extension, or not known at all.
pub(super) fn unsupported(
    at: &At,
    key: &str,
    table: &'static [(&'static str, Said)],
    known: &[&str],
    problems: &mut Problems<'_>,
) {
    match keys::of(table, key) {
        Some(Said::Fine) => {}
        Some(Said::Harmless(_) | Said::Refused(_)) if at.is_off() => {}
        Some(Said::Harmless(text)) => problems.warn(at, text),
        Some(Said::Refused(text)) => problems.error(at, text),
        None if key.starts_with("x-") && key != "x-muster" => {}
        None if problems.is_full() => problems.error(at, "is not known here"),
        None => {
            let others = table.iter().map(|(name, _)| *name);
            let advice = match keys::similar(key, known.iter().copied().chain(others)) {
                Some(name) => format!("; {name} is meant, perhaps"),
                None => String::new(),
            };
            problems.error(at, format!("the key {} is not known here{advice}", shown(key)));
        }
    }
}

/// For names of projects, services, networks and volumes.
pub(super) fn bad_name(name: &str) -> String {
    let most = crate::service::MAX_NAME;
    let text =
        "is no name: lower-case letters, digits, - and _, the first and last a letter or digit, at most";
    format!("{} {text} {most}", shown(name))
}
