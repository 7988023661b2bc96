//! Compose files on this machine, and exactly what they ask for: the variables that they use, and the files that they
//! name. Nothing else is read, and nothing else is sent.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::path::{Component, Path, PathBuf};

use api::services::{Deploy, TextFile};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use model::compose::{self, Input, Lookup, Problem, ReferenceKind, SecretSource, SourceFile, dotenv};

use crate::cli::ComposeArgs;
use crate::failure::{Failure, Kind};
use crate::output::{self, safe};

/// Names that are looked for, the first wins, as Docker Compose has them.
const NAMES: [&str; 4] = ["compose.yaml", "compose.yml", "docker-compose.yml", "docker-compose.yaml"];
/// A file of one of these names beside it goes over it.
const OVERRIDES: [&str; 4] = [
    "compose.override.yml",
    "compose.override.yaml",
    "docker-compose.override.yml",
    "docker-compose.override.yaml",
];
/// The server takes no larger content of a secret or configuration.
const MAX_CONTENT: u64 = 512 << 10;

/// What is to be deployed.
pub(super) struct Sources {
    pub(super) project: String,
    pub(super) deploy: Deploy,
}

/// Reads what the flags mean.
pub(super) fn read(args: &ComposeArgs) -> Result<Sources, Failure> {
    let paths = match args.files.is_empty() {
        true => found(Path::new("."))?,
        false => args.files.clone(),
    };
    let files = paths.iter().map(|path| text_of(path)).collect::<Result<Vec<_>, _>>()?;
    let directory = directory_of(&paths);
    let known = Known { from_files: dotenv_values(args, &directory)?, asked: RefCell::default() };
    let named = |name: &str| known.peek(name).filter(|value| !value.is_empty());
    let wanted = args.project.clone().or_else(|| named("COMPOSE_PROJECT_NAME"));
    if let Some(name) = wanted.as_deref().filter(|name| !model::service::is_name(name)) {
        return Err(Failure::usage(format!("--project: {name:?} is no name of a project"))
            .hint("It has small letters, digits, _ and - inside, and at most 55 characters."));
    }
    let mut reading =
        Reading { files: &files, directory: &directory, known: &known, profiles: args.profile.clone() };
    if let Some(list) = named("COMPOSE_PROFILES").filter(|_| args.profile.is_empty()) {
        reading.profiles = reading.of_environment(&list);
    }
    reading.finish(wanted, args.force)
}

/// The Compose file of a directory or of one above it, with its override file.
fn found(start: &Path) -> Result<Vec<PathBuf>, Failure> {
    let here = std::path::absolute(start).map_err(|error| Failure::of(&error))?;
    let mut prefix = PathBuf::new();
    for directory in here.ancestors() {
        let existing = |name: &&&str| directory.join(**name).is_file();
        if let Some(name) = NAMES.iter().find(existing) {
            let over = OVERRIDES.iter().find(existing);
            return Ok([name].into_iter().chain(over).map(|name| prefix.join(name)).collect());
        }
        prefix.push("..");
    }
    Err(Failure::new(Kind::NotFound, format!("there is no {} here or in a directory above", NAMES[0]))
        .hint("Name the Compose file with --file."))
}

/// Paths that Compose files name are meant from here.
fn directory_of(paths: &[PathBuf]) -> PathBuf {
    let first = paths.first().filter(|path| path.as_os_str() != "-").and_then(|path| path.parent());
    first.filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new(".")).to_owned()
}

fn text_of(path: &Path) -> Result<TextFile, Failure> {
    let name = if path.as_os_str() == "-" { "stdin".to_owned() } else { path.display().to_string() };
    let limit = compose::MAX_TEXT as u64;
    let bytes = match name.as_str() {
        "stdin" => taken(std::io::stdin().lock(), "standard input", limit)?,
        name => content(path, name, limit)?,
    };
    Ok(TextFile { text: utf8(bytes, &name)?, name })
}

fn content(path: &Path, what: &str, limit: u64) -> Result<Vec<u8>, Failure> {
    let file = std::fs::File::open(path).map_err(|error| unreadable(what, &error))?;
    taken(file, what, limit)
}

fn taken(source: impl Read, what: &str, limit: u64) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    source.take(limit + 1).read_to_end(&mut bytes).map_err(|error| unreadable(what, &error))?;
    if bytes.len() as u64 > limit {
        let text = format!("{} has more than {} KiB", safe(what), limit >> 10);
        return Err(Failure::new(Kind::Content, text));
    }
    Ok(bytes)
}

fn utf8(bytes: Vec<u8>, what: &str) -> Result<String, Failure> {
    String::from_utf8(bytes)
        .map_err(|_| Failure::new(Kind::Content, format!("{} is no text (UTF-8)", safe(what))))
}

fn unreadable(what: &str, error: &std::io::Error) -> Failure {
    let kind = match error.kind() {
        std::io::ErrorKind::NotFound => Kind::NotFound,
        _ => Kind::Failed,
    };
    Failure::new(kind, format!("cannot read {}: {error}", safe(what)))
}

/// Values of variables: of this process, then those of `.env` or of the files that were named instead.
struct Known {
    from_files: BTreeMap<String, String>,
    /// What was asked for, which is what is sent.
    asked: RefCell<BTreeSet<String>>,
}

impl Known {
    fn peek(&self, name: &str) -> Option<String> {
        Process.get(name).or_else(|| self.from_files.get(name).cloned())
    }
}

impl Lookup for Known {
    fn get(&self, name: &str) -> Option<String> {
        self.asked.borrow_mut().insert(name.to_owned());
        self.peek(name)
    }
}

/// The environment of this process; what is no text is not there.
struct Process;

impl Lookup for Process {
    fn get(&self, name: &str) -> Option<String> {
        // Some names make the system's call panic; no variable can have them.
        let is_possible = !name.is_empty() && !name.contains(['=', '\0']);
        is_possible.then(|| std::env::var(name).ok()).flatten()
    }
}

fn dotenv_values(args: &ComposeArgs, directory: &Path) -> Result<BTreeMap<String, String>, Failure> {
    let usual = directory.join(".env");
    let paths = match args.env_file.is_empty() {
        true if usual.is_file() => vec![usual],
        true => Vec::new(),
        false => args.env_file.clone(),
    };
    let mut values = BTreeMap::new();
    for path in paths {
        let name = path.display().to_string();
        let text = utf8(content(&path, &name, compose::MAX_TEXT as u64)?, &name)?;
        let read = dotenv::parse(&text, dotenv::Format::Usual, &Process);
        values
            .extend(read.map_err(|error| Failure::new(Kind::Content, format!("{}: {error}", safe(&name))))?);
    }
    Ok(values)
}

/// Compose files while what they ask for is gathered.
struct Reading<'a> {
    files: &'a [TextFile],
    directory: &'a Path,
    known: &'a Known,
    profiles: Vec<String>,
}

impl Reading<'_> {
    fn finish(&self, wanted: Option<String>, force: bool) -> Result<Sources, Failure> {
        let none = BTreeMap::new();
        let project = match wanted {
            Some(name) => Some(name),
            // The name that the files give is theirs to answer for: what is wrong with it has a line.
            None if self.with(None, &none, compose::declared_name).is_some() => None,
            None => self.name_of_directory(),
        };
        let project = project.as_deref();
        let mut deploy = Deploy {
            files: self.files.to_vec(),
            profiles: self.profiles.clone(),
            force,
            ..Deploy::default()
        };
        let references = self.with(project, &none, compose::references).map_err(told)?;
        for reference in references {
            self.add(&reference, &mut deploy)?;
        }
        // Files with variables use variables in turn, so only now all are known.
        let read = self.with(project, &deploy.env_files, compose::parse).map_err(told)?;
        let of_secrets = read.secrets.into_iter().filter_map(|secret| match secret.source {
            SecretSource::Variable(name) => Some(name),
            SecretSource::File(_) | SecretSource::Stored(_) => None,
        });
        let mut names = self.known.asked.borrow().clone();
        names.extend(of_secrets);
        names.extend(self.files.iter().flat_map(|file| compose::variables(&file.text)));
        deploy.variables =
            names.into_iter().filter_map(|name| Some((name.clone(), self.known.peek(&name)?))).collect();
        Ok(Sources { project: read.name, deploy })
    }

    /// The environment names profiles for many projects at once: those that this one does not have are told and left out.
    fn of_environment(&self, list: &str) -> Vec<String> {
        let there = self.with(None, &BTreeMap::new(), compose::profiles);
        let names = list.split(',').map(str::trim).filter(|name| !name.is_empty());
        let (known, unknown): (Vec<&str>, Vec<&str>) =
            names.partition(|name| *name == "*" || there.contains(*name));
        for name in unknown {
            output::warning(&format!("COMPOSE_PROFILES: no service has the profile {}", safe(name)));
        }
        known.into_iter().map(str::to_owned).collect()
    }

    fn name_of_directory(&self) -> Option<String> {
        let directory = std::fs::canonicalize(self.directory).ok()?;
        compose::project_name(directory.file_name()?.to_str()?)
    }

    fn with<T>(
        &self,
        project: Option<&str>,
        env_files: &BTreeMap<String, String>,
        then: impl FnOnce(&Input<'_>) -> T,
    ) -> T {
        let files: Vec<SourceFile<'_>> =
            self.files.iter().map(|file| SourceFile { name: &file.name, text: &file.text }).collect();
        then(&Input { files: &files, env: self.known, profiles: &self.profiles, project, env_files })
    }

    fn add(&self, reference: &compose::Reference, deploy: &mut Deploy) -> Result<(), Failure> {
        let path = self.path(&reference.path);
        let limit = match reference.kind {
            ReferenceKind::EnvFile => compose::MAX_TEXT as u64,
            ReferenceKind::Secret | ReferenceKind::Config => MAX_CONTENT,
        };
        let what = path.display().to_string();
        if !reference.required && !path.exists() {
            return Ok(());
        }
        let bytes = content(&path, &what, limit).map_err(|failure| failure.at(&safe(&reference.named_at)))?;
        let key = reference.path.clone();
        match reference.kind {
            ReferenceKind::EnvFile => drop(deploy.env_files.insert(key, utf8(bytes, &what)?)),
            ReferenceKind::Secret => drop(deploy.secret_files.insert(key, STANDARD.encode(bytes))),
            ReferenceKind::Config => drop(deploy.config_files.insert(key, STANDARD.encode(bytes))),
        }
        Ok(())
    }

    /// A path as the files have it: from their directory, or from home.
    fn path(&self, text: &str) -> PathBuf {
        match (text.strip_prefix("~/"), std::env::var_os("HOME")) {
            (Some(rest), Some(home)) => Path::new(&home).join(rest),
            _ => self.directory.join(text).components().filter(|part| *part != Component::CurDir).collect(),
        }
    }
}

/// All problems on standard error, as compilers write them, and how many there are.
fn told(problems: Vec<Problem>) -> Failure {
    let count = problems.iter().filter(|problem| problem.severity == compose::Severity::Error).count();
    problems.iter().for_each(|problem| output::note(&safe(&problem.to_string())));
    wrong(count)
}

/// The failure after problems that were told.
pub(super) fn wrong(count: usize) -> Failure {
    let errors = super::counted(count, "error", "errors");
    Failure::new(Kind::Content, format!("the Compose files have {errors}: nothing was changed"))
}
