//! `muster configs apply`: what files say becomes the latest revision, and nothing is written when it is already.

use api::configs::{Draft, NewConfig, NewFile, NewRevision};
use api::{Client, ClientError};
use serde::Serialize;

use super::configs::again;
use super::files::{Item, items, read_all};
use crate::cli::ConfigsApply;
use crate::context::client;
use crate::failure::{Code, Failure};
use crate::output::{self, safe};

/// What became of one configuration.
#[derive(Debug, Serialize)]
struct Outcome {
    config: String,
    /// `created`, `changed`, `unchanged` or `failed`.
    outcome: &'static str,
    revision: Option<u32>,
    /// Assignments that give an older revision.
    assignments: u64,
    error: Option<String>,
}

/// Writes configurations.
pub(super) async fn apply(args: ConfigsApply, debug: bool) -> Result<(), Failure> {
    let client = client(&args.connection, debug)?;
    let paths = &args.sources.files;
    let items = match &args.name {
        Some(name) => vec![Item { name: name.clone(), files: read_all(paths)? }],
        None => items(paths)?,
    };
    if items.is_empty() {
        return Err(Failure::usage("there are no files to apply"));
    }
    let (mut outcomes, mut failures) = (Vec::new(), Vec::new());
    for item in items {
        let name = item.name.clone();
        match one(&client, item, &args).await {
            Ok(outcome) => outcomes.push(outcome),
            Err(failure) => {
                let error = Some(failure.to_string());
                failures.push(failure);
                outcomes.push(Outcome {
                    config: name,
                    outcome: "failed",
                    revision: None,
                    assignments: 0,
                    error,
                });
            }
        }
    }
    let table = || outcomes.iter().map(|one| told(one, args.dry_run)).collect::<Vec<_>>().join("\n");
    let names = || outcomes.iter().map(|one| one.config.clone()).collect();
    output::value(args.output.format, &outcomes, table, names)?;
    let (failed, all) = (failures.len(), outcomes.len());
    match failures.into_iter().next() {
        None => Ok(()),
        Some(only) if all == 1 => Err(only),
        Some(_) if failed == all => Err(Failure::new(Code::Failed, format!("none of {all} was applied"))),
        Some(_) => Err(Failure::new(Code::Partly, format!("{failed} of {all} were not applied"))),
    }
}

fn told(outcome: &Outcome, dry_run: bool) -> String {
    let Outcome { config, outcome, revision, assignments, error } = outcome;
    let mut text = format!("config/{} {outcome}", safe(config));
    if let Some(revision) = revision {
        text.push_str(&format!(": revision {revision}"));
    }
    if *outcome == "changed" && *assignments > 0 {
        text.push_str(&format!(
            "; {assignments} assignments go on with what they give: muster assignments list --config {}",
            safe(config)
        ));
    }
    if let Some(error) = error {
        text.push_str(&format!(": {}", error.lines().map(safe).collect::<Vec<_>>().join("\n")));
    }
    if dry_run { text + " (--dry-run)" } else { text }
}

async fn one(client: &Client, item: Item, args: &ConfigsApply) -> Result<Outcome, Failure> {
    let known = match client.config(&item.name).await {
        Ok(known) => Some(known.value),
        Err(ClientError::Problem(problem)) if problem.status == 404 => None,
        Err(error) => return Err(error.into()),
    };
    let Item { name: config, files } = item;
    let Some(known) = known else {
        if args.dry_run {
            accepted(client, files).await?;
            return Ok(Outcome {
                config,
                outcome: "created",
                revision: Some(1),
                assignments: 0,
                error: None,
            });
        }
        let new = NewConfig { name: config, description: None, message: args.message.clone(), files };
        let made = client.create_config(&new).await?.summary;
        let (config, revision) = (made.name, Some(made.revision));
        return Ok(Outcome { config, outcome: "created", revision, assignments: 0, error: None });
    };
    let (latest, assignments) = (known.summary.revision, known.summary.assignments);
    let before: Vec<_> = known.files.into_iter().map(again).collect();
    let files = named_as_before(files, &before);
    let outcome =
        |outcome, revision| Outcome { config: config.clone(), outcome, revision, assignments, error: None };
    if same(&before, &files) {
        return Ok(outcome("unchanged", Some(latest)));
    }
    if args.dry_run {
        accepted(client, files).await?;
        return Ok(outcome("changed", Some(latest + 1)));
    }
    let new = NewRevision { message: args.message.clone(), files, based_on: Some(latest) };
    let answer = client.create_revision(&config, &new).await?;
    let word = if answer.status == 201 { "changed" } else { "unchanged" };
    Ok(outcome(word, Some(answer.value.number)))
}

/// One file in place of one file keeps its name: agents with a single file often have none for it.
pub(super) fn named_as_before(mut files: Vec<NewFile>, before: &[NewFile]) -> Vec<NewFile> {
    if let ([file], [old]) = (files.as_mut_slice(), before)
        && (file.name.is_empty() || old.name.is_empty())
    {
        file.name.clone_from(&old.name);
        file.content_type.clone_from(&old.content_type);
    }
    files
}

/// Whether files are those that are there. Types that are not given are taken as they are.
fn same(before: &[NewFile], files: &[NewFile]) -> bool {
    let mut sorted: Vec<_> = files.iter().collect();
    sorted.sort_by(|a, b| a.name.cmp(&b.name));
    before.len() == sorted.len()
        && before.iter().zip(sorted).all(|(old, new)| {
            let same_type = new.content_type.is_none() || old.content_type == new.content_type;
            old.name == new.name && old.body == new.body && same_type
        })
}

/// Whether the server would take the files.
async fn accepted(client: &Client, files: Vec<NewFile>) -> Result<(), Failure> {
    let checked = client.check_config(&Draft { files }).await?;
    if checked.valid {
        return Ok(());
    }
    Err(Failure::of_problems(&checked.problems))
}
