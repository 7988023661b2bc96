//! `muster configs apply`: what files say becomes the latest revision, and nothing is written when it is already.

use api::configs::{CheckRequest, ConfigProblem, NewConfig, NewRevision};
use api::{Client, ClientError};
use serde::Serialize;

use super::files::{Item, items, read_all};
use crate::cli::{ConfigsApply, Format, Global};
use crate::context::client;
use crate::failure::{Failure, Kind};
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
    /// What the server would have somebody look at.
    warnings: Vec<ConfigProblem>,
    error: Option<String>,
}

/// Writes configurations.
pub(super) async fn apply(args: ConfigsApply, global: &Global) -> Result<(), Failure> {
    let client = client(&args.connection, global)?;
    let paths = &args.sources.files;
    let items = match &args.name {
        Some(name) => vec![Item { name: name.clone(), source: read_all(paths)? }],
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
                    warnings: Vec::new(),
                    error,
                });
            }
        }
    }
    if matches!(args.output.format, Format::Table | Format::Name) {
        outcomes.iter().flat_map(|one| &one.warnings).for_each(|one| output::note(&output::problem(one)));
    }
    let table = || outcomes.iter().map(|one| told(one, args.dry_run)).collect::<Vec<_>>().join("\n");
    let names = || outcomes.iter().map(|one| one.config.clone()).collect();
    output::value(args.output.format, &outcomes, table, names)?;
    let (failed, all) = (failures.len(), outcomes.len());
    match failures.into_iter().next() {
        None => Ok(()),
        Some(only) if all == 1 => Err(only),
        Some(_) if failed == all => Err(Failure::new(Kind::Failed, format!("none of {all} was applied"))),
        Some(_) => Err(Failure::new(Kind::Partly, format!("{failed} of {all} were not applied"))),
    }
}

fn told(outcome: &Outcome, dry_run: bool) -> String {
    let Outcome { config, outcome, revision, assignments, warnings: _, error } = outcome;
    let mut text = format!("config/{} {outcome}", safe(config));
    if let Some(revision) = revision {
        text.push_str(&format!(": revision {revision}"));
    }
    if *outcome == "changed" && *assignments > 0 {
        let go_on = match assignments {
            1 => "1 assignment goes on with what it gives".to_owned(),
            more => format!("{more} assignments go on with what they give"),
        };
        text.push_str(&format!("; {go_on}: muster assignments list --config {}", safe(config)));
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
    let Item { name: config, source } = item;
    let (before, latest, assignments) = match known {
        Some(known) => (known.files, Some(known.summary.revision), known.summary.assignments),
        None => (Vec::new(), None, 0),
    };
    let files = source.named(&before, args.file_name.as_deref())?;
    // The server compares with what it has. Here that may be masked: not everybody may read secrets.
    let asked = CheckRequest { files: files.clone(), config: Some(config.clone()) };
    let checked = client.check_config(&asked).await?;
    if !checked.valid {
        return Err(Failure::of_problems(&checked.problems));
    }
    let warnings = checked.problems;
    let done = |outcome, revision| Outcome {
        config: config.clone(),
        outcome,
        revision,
        assignments,
        warnings,
        error: None,
    };
    let message = args.message.clone();
    match (latest, checked.outcome.as_deref()) {
        (_, Some("unchanged")) => Ok(done("unchanged", checked.revision)),
        (None, _) if args.dry_run => Ok(done("created", Some(1))),
        (Some(latest), _) if args.dry_run => Ok(done("changed", Some(latest + 1))),
        (None, _) => {
            let new = NewConfig { name: config.clone(), description: None, message, files };
            let made = client.create_config(&new).await?.summary;
            Ok(done("created", Some(made.revision)))
        }
        (Some(latest), _) => {
            let new = NewRevision { message, files, based_on: Some(latest) };
            let answer = client.create_revision(&config, &new).await?;
            let word = if answer.status == 201 { "changed" } else { "unchanged" };
            Ok(done(word, Some(answer.value.number)))
        }
    }
}
