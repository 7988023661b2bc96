//! `environment:` and `env_file:`, and `labels:`, which are written the same way.

use std::cell::RefCell;
use std::collections::BTreeMap;

use super::dotenv::{self, Format};
use super::problem::Problems;
use super::service::{Context, unsupported};
use super::walk::{At, shown};
use super::{MAX_EXPANDED, Reference, ReferenceKind};

/// The most variables or labels of a service.
const MAX_PAIRS: usize = 2000;

/// Where the texts of files with variables come from.
#[derive(Debug)]
pub(super) enum EnvFiles<'a> {
    /// From the caller, by path.
    Given(&'a BTreeMap<String, String>),
    /// Nowhere: only which are wanted is noted.
    Wanted(RefCell<BTreeMap<String, Wanted>>),
}

/// How a file with variables is named, by all services together.
#[derive(Debug, Default)]
pub(super) struct Wanted {
    required: bool,
    named_at: String,
}

impl EnvFiles<'_> {
    pub(super) fn into_references(self) -> Vec<Reference> {
        match self {
            Self::Given(_) => Vec::new(),
            Self::Wanted(wanted) => {
                let wanted = wanted.into_inner().into_iter();
                wanted
                    .map(|(path, Wanted { required, named_at })| Reference {
                        path,
                        kind: ReferenceKind::EnvFile,
                        required,
                        named_at,
                    })
                    .collect()
            }
        }
    }
}

/// One file that `env_file:` names.
struct EnvFile {
    path: String,
    required: bool,
    format: Format,
}

/// The variables of a service: those of files in their order, then its own.
pub(super) fn read(
    files: Option<&At>,
    own: Option<&At>,
    context: &Context<'_>,
    problems: &mut Problems<'_>,
) -> BTreeMap<String, String> {
    let mut values = BTreeMap::new();
    for item in files.map(|at| at.one_or_many(problems)).unwrap_or_default() {
        if let Some(file) = env_file(&item, problems) {
            values.extend(contents(&file, &item, context, problems));
        }
    }
    for (name, value, item) in own.map(|at| pairs(at, problems)).unwrap_or_default() {
        if name.is_empty() || name.contains(['=', '\0']) {
            problems.error(&item, format!("{} is no name of a variable", shown(&name)));
            continue;
        }
        match value.or_else(|| context.env.get(&name)) {
            Some(value) if !spend(value.len(), &item, context, problems) => break,
            Some(value) => {
                values.insert(name, value);
            }
            // As in Compose: a name alone passes a variable on, and takes it away when there is none.
            None => {
                problems.warn(&item, format!("the variable {name} is not set and is left out"));
                values.remove(&name);
            }
        }
    }
    if values.len() > MAX_PAIRS {
        let at = own.or(files);
        at.into_iter()
            .for_each(|at| problems.error(at, format!("a service has at most {MAX_PAIRS} variables")));
    }
    values
}

/// `labels:` of a service.
pub(super) fn labels(at: &At, problems: &mut Problems<'_>) -> BTreeMap<String, String> {
    let mut labels = BTreeMap::new();
    for (name, value, item) in pairs(at, problems) {
        if name.is_empty() {
            problems.error(&item, "a label must have a name");
        } else if name.starts_with("muster.") {
            problems.error(&item, "labels that begin with muster. are Muster's own; choose another name");
        } else {
            labels.insert(name, value.unwrap_or_default());
        }
    }
    if labels.len() > MAX_PAIRS {
        problems.error(at, format!("a service has at most {MAX_PAIRS} labels"));
    }
    labels
}

/// A map, or a list of `NAME=value`. A name alone has no value.
pub(super) fn pairs(at: &At, problems: &mut Problems<'_>) -> Vec<(String, Option<String>, At)> {
    if at.is_list() {
        let mut pairs = Vec::new();
        for item in at.items(problems) {
            let Some(text) = item.text(problems) else { continue };
            let (name, value) = match text.split_once('=') {
                Some((name, value)) => (name.to_owned(), Some(value.to_owned())),
                None => (text, None),
            };
            pairs.push((name, value, item));
        }
        return pairs;
    }
    let entries = at.entries(problems).into_iter();
    let pair = |(name, value): (String, At)| {
        if value.is_null() {
            return Some((name, None, value));
        }
        let text = value.text(problems)?;
        Some((name, Some(text), value))
    };
    entries.filter_map(pair).collect()
}

/// Counts text that becomes environment; a file can be named by every service.
fn spend(bytes: usize, at: &At, context: &Context<'_>, problems: &mut Problems<'_>) -> bool {
    let spent = context.spent.get().saturating_add(bytes);
    context.spent.set(spent);
    if spent > MAX_EXPANDED {
        problems
            .error(at, format!("the variables of all services have more than {} MiB", MAX_EXPANDED >> 20));
    }
    spent <= MAX_EXPANDED
}

fn env_file(item: &At, problems: &mut Problems<'_>) -> Option<EnvFile> {
    let mut file = EnvFile { path: String::new(), required: true, format: Format::Usual };
    if !item.is_map() {
        file.path = item.text(problems)?;
    }
    for (key, value) in if item.is_map() { item.entries(problems) } else { Vec::new() } {
        match key.as_str() {
            "path" => file.path = value.text(problems)?,
            "required" => file.required = value.boolean(problems)?,
            "format" => match value.text(problems)?.as_str() {
                "raw" => file.format = Format::Raw,
                other => {
                    problems.error(&value, format!("the format {} is not known; only raw", shown(other)))
                }
            },
            _ => unsupported(&value, &key, &[], &["path", "required", "format"], problems),
        }
    }
    if file.path.is_empty() {
        problems.error(item, "names no file");
        return None;
    }
    Some(file)
}

fn contents(
    file: &EnvFile,
    item: &At,
    context: &Context<'_>,
    problems: &mut Problems<'_>,
) -> BTreeMap<String, String> {
    let given = match context.env_files {
        EnvFiles::Given(given) => given,
        EnvFiles::Wanted(wanted) => {
            let mut wanted = wanted.borrow_mut();
            let noted = wanted.entry(file.path.clone()).or_default();
            // The first that cannot do without it is the one to look at.
            if noted.named_at.is_empty() || file.required && !noted.required {
                noted.named_at = problems.shown_place(item.place);
            }
            noted.required |= file.required;
            return BTreeMap::new();
        }
    };
    let Some(text) = given.get(&file.path) else {
        if file.required {
            problems.error(item, format!("the file {} was not given", shown(&file.path)));
        }
        return BTreeMap::new();
    };
    if !spend(text.len(), item, context, problems) {
        return BTreeMap::new();
    }
    dotenv::parse(text, file.format, context.env).unwrap_or_else(|error| {
        problems.error(item, format!("{}, {error}", shown(&file.path)));
        BTreeMap::new()
    })
}
