//! Compose files: read as the Compose specification has it, and turned into what Muster stores, [`crate::service`].
//! What Muster does not run is named with its line and with what to do about it; nothing is ignored in silence. Pure:
//! files and variables come in as arguments, paths stay names.
//!
//! Reading order: [`parse`] here; `read` (text, variables, `extends`, several files: one tree); `walk`, the way through
//! that tree; `whole`, `service` and `keys`, and a module for each of the larger parts; `check`, which looks across
//! services.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::service::{NetworkSpec, ServiceSpec, VolumeSpec};

mod check;
mod deploy;
pub mod dotenv;
mod environment;
mod extends;
mod files;
mod health;
mod interpolate;
mod keys;
mod merge;
mod mounts;
mod muster;
mod networks;
mod ports;
mod problem;
mod process;
mod read;
mod security;
mod service;
mod shell;
mod values;
mod walk;
mod whole;

pub use problem::{Problem, Severity};
pub use read::variables;

/// The longest text of a file, in bytes.
pub const MAX_TEXT: usize = 1 << 20;
/// The most files of a project.
pub const MAX_FILES: usize = 16;
/// The most services of a project.
pub const MAX_SERVICES: usize = 200;
/// The most published ports of a service.
pub const MAX_PORTS: usize = 256;
/// The longest value of a variable, and the most text that variables and aliases may make of the files, in bytes.
pub const MAX_EXPANDED: usize = 8 << 20;

/// Where values of variables come from.
pub trait Lookup {
    /// The value, `None` when the variable is not set.
    fn get(&self, name: &str) -> Option<String>;
}

impl Lookup for BTreeMap<String, String> {
    fn get(&self, name: &str) -> Option<String> {
        self.get(name).cloned()
    }
}

impl Lookup for HashMap<String, String> {
    fn get(&self, name: &str) -> Option<String> {
        self.get(name).cloned()
    }
}

/// A Compose file.
#[derive(Debug, Clone, Copy)]
pub struct SourceFile<'a> {
    /// The name that problems give it.
    pub name: &'a str,
    /// What it says.
    pub text: &'a str,
}

/// What a project is read from.
#[derive(Clone, Copy)]
pub struct Input<'a> {
    /// The files, each over those before it.
    pub files: &'a [SourceFile<'a>],
    /// Values of variables.
    pub env: &'a dyn Lookup,
    /// Profiles that are on; `*`: all.
    pub profiles: &'a [String],
    /// The project's name; before the files' own `name:`.
    pub project: Option<&'a str>,
    /// The text of each file that an `env_file:` names, by the path as it stands there. [`references`] lists them.
    pub env_files: &'a BTreeMap<String, String>,
}

/// What Compose files say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Project {
    /// Its name, see [`crate::service::is_name`].
    pub name: String,
    /// The services whose profiles are on, by name.
    pub services: Vec<Service>,
    /// The networks that they use, by name.
    pub networks: Vec<NetworkSpec>,
    /// The volumes that they use, by name.
    pub volumes: Vec<VolumeSpec>,
    /// The secrets that they use, by name.
    pub secrets: Vec<Secret>,
    /// The configurations that they use, by name.
    pub configs: Vec<Config>,
    /// What somebody should look at.
    pub warnings: Vec<Problem>,
}

/// A service of a project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Service {
    /// Its name.
    pub name: String,
    /// What it runs.
    pub spec: ServiceSpec,
    /// The file that names it last.
    pub file: String,
    /// Where, from 1.
    pub line: u32,
}

/// A secret that services mount.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Secret {
    /// Its name in the project.
    pub name: String,
    /// Where its content is.
    pub source: SecretSource,
}

/// Where a secret's content is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SecretSource {
    /// In a file, with the path as it was written.
    File(String),
    /// In a variable of whoever deploys.
    Variable(String),
    /// The control plane has it under this name.
    Stored(String),
}

/// A file with a configuration that services mount.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// Its name in the project.
    pub name: String,
    /// Where its content is.
    pub source: ConfigSource,
}

/// Where a configuration's content is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConfigSource {
    /// In a file, with the path as it was written.
    File(String),
    /// Here.
    Content(String),
}

/// A file that Compose files name, for the caller to read.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Reference {
    /// The path as it was written, variables replaced.
    pub path: String,
    /// What it is for.
    pub kind: ReferenceKind,
    /// Whether it must be there.
    pub required: bool,
    /// Where it is named, such as `compose.yaml:3:5`, for who cannot find it.
    pub named_at: String,
}

/// What a file is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ReferenceKind {
    /// Environment variables, for [`Input::env_files`].
    EnvFile,
    /// The content of a secret.
    Secret,
    /// The content of a configuration.
    Config,
}

/// Reads Compose files. On failure all problems are told, errors and warnings, in the order of files and lines.
pub fn parse(input: &Input<'_>) -> Result<Project, Vec<Problem>> {
    let mut problems = problem::Problems::new(input.files);
    let env_files = environment::EnvFiles::Given(input.env_files);
    match whole::project(input, &env_files, &mut problems) {
        Some(project) if !problems.has_errors() => Ok(Project { warnings: problems.into_list(), ..project }),
        Some(_) | None => Err(problems.into_list()),
    }
}

/// Lists the files that services whose profiles are on refer to. It fails as [`parse`] does.
pub fn references(input: &Input<'_>) -> Result<Vec<Reference>, Vec<Problem>> {
    let mut problems = problem::Problems::new(input.files);
    let wanted = environment::EnvFiles::Wanted(std::cell::RefCell::new(BTreeMap::new()));
    let project = match whole::project(input, &wanted, &mut problems) {
        Some(project) if !problems.has_errors() => project,
        Some(_) | None => return Err(problems.into_list()),
    };
    let mut list: BTreeSet<Reference> = wanted.into_references().into_iter().collect();
    let root = read::tree(input, &mut problems);
    let file = |path: &str, kind, keys: [&str; 2]| {
        let at = keys.iter().try_fold(root.clone()?, |at, key| at.get(key))?;
        let named_at = problems.shown_place(at.get("file")?.place);
        Some(Reference { path: path.to_owned(), kind, required: true, named_at })
    };
    list.extend(project.secrets.iter().filter_map(|secret| match &secret.source {
        SecretSource::File(path) => file(path, ReferenceKind::Secret, ["secrets", &secret.name]),
        SecretSource::Variable(_) | SecretSource::Stored(_) => None,
    }));
    list.extend(project.configs.iter().filter_map(|config| match &config.source {
        ConfigSource::File(path) => file(path, ReferenceKind::Config, ["configs", &config.name]),
        ConfigSource::Content(_) => None,
    }));
    Ok(list.into_iter().collect())
}

/// The name that the files themselves give the project, whether or not it can be one. `None` also when the files cannot
/// be read: [`parse`] says why.
pub fn declared_name(input: &Input<'_>) -> Option<String> {
    let mut problems = problem::Problems::new(input.files);
    let root = read::tree(input, &mut problems)?;
    root.get("name").filter(|at| !at.is_null())?.text(&mut problems)
}

/// The profiles that services of the files have; none when the files cannot be read: [`parse`] says why.
pub fn profiles(input: &Input<'_>) -> BTreeSet<String> {
    whole::profiles(input)
}

/// A name for a project from the name of its directory, as Compose makes it: lower case, without what a name cannot
/// have. `None` when nothing is left.
pub fn project_name(directory: &str) -> Option<String> {
    let kept = directory.chars().map(|c| c.to_ascii_lowercase());
    let kept: String =
        kept.filter(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '_' | '-')).collect();
    let name: String = kept.trim_start_matches(['_', '-']).chars().take(crate::service::MAX_NAME).collect();
    let name = name.trim_end_matches(['_', '-']);
    (!name.is_empty()).then(|| name.to_owned())
}

#[cfg(test)]
mod tests;
