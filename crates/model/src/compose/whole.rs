//! A project: the sections of its files, its name, and which of its services are on.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

use super::environment::EnvFiles;
use super::problem::Problems;
use super::service::{Context, Read, bad_name, service, unsupported};
use super::walk::{At, shown};
use super::{Input, MAX_SERVICES, Project, check, files, keys, muster, networks, read};
use crate::service::is_name;

/// The sections of a file, by key.
#[derive(Default)]
struct Sections {
    name: Option<At>,
    services: Option<At>,
    networks: Option<At>,
    volumes: Option<At>,
    secrets: Option<At>,
    configs: Option<At>,
}

/// Reads a whole project. Problems may have come up even when there is one.
pub(super) fn project(
    input: &Input<'_>,
    env_files: &EnvFiles<'_>,
    problems: &mut Problems<'_>,
) -> Option<Project> {
    let root = read::tree(input, problems)?;
    let extension = root.get("x-muster");
    let allow_host_paths = muster::allows_host_paths(extension.as_ref(), problems);
    let spent = Cell::new(0);
    let context = Context { env: input.env, env_files, allow_host_paths, spent: &spent };
    let sections = sections(&root, problems);
    let name = project_name(input, sections.name.as_ref(), problems);
    let services = services(input, sections.services.as_ref(), &context, problems);
    let named =
        |at: Option<&At>, problems: &mut Problems<'_>| at.map(|at| at.entries(problems)).unwrap_or_default();
    let mut known = check::Known::default();
    for (name, at) in named(sections.networks.as_ref(), problems) {
        known.networks.insert(name.clone(), networks::network(&name, &at, problems));
    }
    for (name, at) in named(sections.volumes.as_ref(), problems) {
        known.volumes.insert(name.clone(), files::volume(&name, &at, &context, problems));
    }
    for (name, at) in named(sections.secrets.as_ref(), problems) {
        known.secrets.insert(name.clone(), files::secret(&name, &at, problems));
    }
    for (name, at) in named(sections.configs.as_ref(), problems) {
        known.configs.insert(name.clone(), files::config(&name, &at, &context, problems));
    }
    check::project(name?, services, known, problems)
}

fn sections(root: &At, problems: &mut Problems<'_>) -> Sections {
    const KNOWN: [&str; 7] = ["name", "services", "networks", "volumes", "secrets", "configs", "x-muster"];
    let mut sections = Sections::default();
    for (key, at) in root.entries(problems) {
        match key.as_str() {
            "name" => sections.name = Some(at),
            "services" => sections.services = Some(at),
            "networks" => sections.networks = Some(at),
            "volumes" => sections.volumes = Some(at),
            "secrets" => sections.secrets = Some(at),
            "configs" => sections.configs = Some(at),
            "x-muster" => muster::top(&at, problems),
            _ => unsupported(&at, &key, keys::TOP, &KNOWN, problems),
        }
    }
    sections
}

fn project_name(input: &Input<'_>, at: Option<&At>, problems: &mut Problems<'_>) -> Option<String> {
    if let Some(name) = input.project {
        if !is_name(name) {
            problems.error_of_all(bad_name(name));
        }
        return Some(name.to_owned());
    }
    let Some(at) = at.filter(|at| !at.is_null()) else {
        problems.error_of_all("the project has no name; write name: at the top of the file");
        return None;
    };
    let name = at.text(problems)?;
    if !is_name(&name) {
        problems.error(at, bad_name(&name));
    }
    Some(name)
}

/// The services whose profiles are on.
fn services(
    input: &Input<'_>,
    at: Option<&At>,
    context: &Context<'_>,
    problems: &mut Problems<'_>,
) -> BTreeMap<String, Option<Read>> {
    let entries = at.map(|at| at.entries(problems)).unwrap_or_default();
    if entries.is_empty() && !problems.has_errors() {
        problems.error_of_all("the files have no services");
    }
    let mut services = BTreeMap::new();
    if entries.len() > MAX_SERVICES {
        problems
            .error_of_all(format!("a project has at most {MAX_SERVICES} services, not {}", entries.len()));
        return services;
    }
    let mut profiles = BTreeSet::new();
    for (name, at) in entries {
        if !is_name(&name) {
            problems.error(&at, bad_name(&name));
        }
        let own = own_profiles(&at, problems);
        let read = is_on(&own, input.profiles).then(|| service(&name, &at, context, problems));
        services.insert(name, read.flatten());
        profiles.extend(own);
    }
    unknown_profiles(input.profiles, &profiles, problems);
    let is_off = !services.is_empty() && services.values().all(Option::is_none);
    if let Some(at) = at.filter(|_| is_off && !problems.has_errors()) {
        let names: Vec<_> = profiles.iter().map(|name| shown(name)).collect();
        let text =
            format!("no service is on, for each has profiles; choose with --profile: {}", names.join(", "));
        problems.error(at, text);
    }
    services
}

/// The profiles that services have, as far as they can be read.
pub(super) fn profiles(input: &Input<'_>) -> BTreeSet<String> {
    let mut problems = Problems::new(input.files);
    let services = read::tree(input, &mut problems).and_then(|root| root.get("services"));
    let entries = services.map(|at| at.entries(&mut problems)).unwrap_or_default();
    entries.iter().flat_map(|(_, at)| own_profiles(at, &mut problems)).collect()
}

fn own_profiles(at: &At, problems: &mut Problems<'_>) -> Vec<String> {
    let own = at.get("profiles").map(|at| at.one_or_many(problems)).unwrap_or_default();
    own.iter().filter_map(|item| item.text(problems)).collect()
}

fn is_on(own: &[String], active: &[String]) -> bool {
    own.is_empty() || own.iter().any(|profile| active.iter().any(|on| on == profile || on == "*"))
}

/// A profile that no service has switches nothing on, and whoever asked for it would wonder why.
fn unknown_profiles(active: &[String], known: &BTreeSet<String>, problems: &mut Problems<'_>) {
    for profile in active.iter().filter(|it| *it != "*" && !known.contains(*it)) {
        let there = match known.is_empty() {
            true => "no service has any".to_owned(),
            false => {
                let names: Vec<_> = known.iter().map(|name| shown(name)).collect();
                format!("there are {}", names.join(", "))
            }
        };
        problems.error_of_all(format!("no service has the profile {}; {there}", shown(profile)));
    }
}
