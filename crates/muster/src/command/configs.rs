//! `muster configs`: look at configurations, check files, compare, remove, import. Writing them is `apply`.

use api::Client;
use api::configs::{
    Check, CheckRequest, ConfigDetail, ConfigImport, ConfigQuery, ConfigSummary, Diff, DiffQuery, Draft,
    DraftDiff, File,
};

use super::agents::whole_uid;
use super::consent::agree;
use super::files::read_all;
use super::{apply, runtime};
use crate::cli::{
    ConfigsArgs, ConfigsCheck, ConfigsDiff, ConfigsHistory, ConfigsImport, ConfigsList, ConfigsRm,
    ConfigsShow, ConfigsVerb, Global,
};
use crate::context::client;
use crate::failure::{Failure, Kind};
use crate::output::{self, counted, safe};

/// The longest page of the API.
const PAGE: u32 = 500;

/// Works on configurations.
pub(crate) fn configs(args: ConfigsArgs, global: &Global) -> Result<(), Failure> {
    let runtime = runtime()?;
    match args.verb {
        ConfigsVerb::List(args) => runtime.block_on(list(args, global)),
        ConfigsVerb::Show(args) => runtime.block_on(show(args, global)),
        ConfigsVerb::History(args) => runtime.block_on(history(args, global)),
        ConfigsVerb::Apply(args) => runtime.block_on(apply::apply(args, global)),
        ConfigsVerb::Check(args) => runtime.block_on(check(args, global)),
        ConfigsVerb::Diff(args) => runtime.block_on(diff(args, global)),
        ConfigsVerb::Rm(args) => runtime.block_on(rm(args, global)),
        ConfigsVerb::Import(args) => runtime.block_on(import(args, global)),
    }
}

async fn list(args: ConfigsList, global: &Global) -> Result<(), Failure> {
    let client = client(&args.connection, global)?;
    let mut query = ConfigQuery { q: args.query.clone(), limit: Some(PAGE), cursor: None };
    let mut all = client.configs(&query).await?;
    while all.next_cursor.is_some() {
        query.cursor = all.next_cursor.take();
        let page = client.configs(&query).await?;
        all.items.extend(page.items);
        all.next_cursor = page.next_cursor;
    }
    let table = || {
        if all.items.is_empty() {
            return "There is no configuration. Write one: muster configs apply -f FILE".to_owned();
        }
        let head = ["name", "revision", "assignments", "agents", "updated", "author", "description"];
        output::table(&head, all.items.iter().map(row))
    };
    output::value(args.output.format, &all, table, || all.items.iter().map(|one| one.name.clone()).collect())
}

fn row(config: &ConfigSummary) -> Vec<String> {
    vec![
        safe(&config.name),
        config.revision.to_string(),
        config.assignments.to_string(),
        config.agents.to_string(),
        config.updated_at.clone(),
        safe(&config.author),
        safe(&config.description),
    ]
}

async fn show(args: ConfigsShow, global: &Global) -> Result<(), Failure> {
    let client = client(&args.connection, global)?;
    let names = || vec![args.name.clone()];
    if let Some(number) = args.revision {
        let revision = client.revision(&args.name, number).await?;
        let table = || {
            let head = format!(
                "{} revision {} of {} by {}: {}",
                safe(&revision.config),
                revision.number,
                revision.created_at,
                safe(&revision.author),
                safe(&revision.message)
            );
            head + &bodies(&revision.files)
        };
        return output::value(args.output.format, &revision, table, names);
    }
    let config = client.config(&args.name).await?.value;
    output::value(args.output.format, &config, || page(&config), names)
}

fn page(config: &ConfigDetail) -> String {
    let head = &config.summary;
    let lines = [
        ("name", safe(&head.name)),
        ("description", safe(&head.description)),
        ("revision", format!("{} of {} by {}", head.revision, head.updated_at, safe(&head.author))),
        ("hash", config.hash.clone()),
        ("assignments", head.assignments.to_string()),
        ("agents", head.agents.to_string()),
    ];
    let lines: Vec<_> = lines.iter().map(|(name, value)| format!("{name:<12} {value}")).collect();
    lines.join("\n") + &bodies(&config.files)
}

fn bodies(files: &[File]) -> String {
    let mut text = String::new();
    for file in files {
        text.push_str(&format!("\n\nfile {:?} ({})", safe(&file.name), safe(&file.content_type)));
        text.extend(file.body.lines().map(|line| format!("\n  {}", safe(line))));
    }
    text
}

async fn history(args: ConfigsHistory, global: &Global) -> Result<(), Failure> {
    let revisions = client(&args.connection, global)?.revisions(&args.name).await?;
    let table = || {
        let rows = revisions.items.iter().map(|one| {
            let size: u64 = one.files.iter().map(|file| file.size).sum();
            let files = format!("{} ({size} bytes)", one.files.len());
            let (author, message) = (safe(&one.author), safe(&one.message));
            let used = one.assignments.to_string();
            vec![one.number.to_string(), one.created_at.clone(), author, used, files, message]
        });
        output::table(&["revision", "written", "author", "assignments", "files", "message"], rows)
    };
    output::value(args.output.format, &revisions, table, || {
        revisions.items.iter().map(|one| one.number.to_string()).collect()
    })
}

async fn check(args: ConfigsCheck, global: &Global) -> Result<(), Failure> {
    let files = read_all(&args.sources.files)?.named(&[], None)?;
    let asked = CheckRequest { files, config: None };
    let checked = client(&args.connection, global)?.check_config(&asked).await?;
    let Check { valid, problems, .. } = &checked;
    let lines = || problems.iter().map(output::problem).collect::<Vec<_>>();
    let table = || match problems.is_empty() {
        true => "No problem was found.".to_owned(),
        false => lines().join("\n"),
    };
    output::value(args.output.format, &checked, table, lines)?;
    if *valid { Ok(()) } else { Err(Failure::new(Kind::Content, "the server would not take these files")) }
}

async fn diff(args: ConfigsDiff, global: &Global) -> Result<(), Failure> {
    let client = client(&args.connection, global)?;
    let diff = if args.files.is_empty() {
        client.diff_revisions(&args.name, DiffQuery { from: args.from, to: args.to }).await?
    } else {
        let before = match args.from {
            Some(number) => client.revision(&args.name, number).await?.files,
            None => client.config(&args.name).await?.value.files,
        };
        let to = Draft { files: read_all(&args.files)?.named(&before, None)? };
        // The server takes the old side from where it keeps it: what came here may be masked.
        let (config, revision) = (Some(args.name.clone()), args.from);
        client.diff_drafts(&DraftDiff { from: None, config, revision, to }).await?
    };
    let names = || diff.files.iter().map(|file| file.name.clone()).collect();
    output::value(args.output.format, &diff, || difference(&diff), names)
}

/// Says that there is no such configuration, where a list that is empty would only hide it.
pub(super) async fn known_config(client: &Client, name: &str) -> Result<(), Failure> {
    Ok(client.config(name).await.map(drop)?)
}

/// Lines of context around a change.
const CONTEXT: usize = 3;

/// A difference for people: what it means first, then the lines that changed with some around them.
pub(super) fn difference(diff: &Diff) -> String {
    if diff.files.is_empty() {
        return "There is no difference.".to_owned();
    }
    let mut lines: Vec<String> = Vec::new();
    for change in &diff.changes {
        let detail =
            if change.detail.is_empty() { String::new() } else { format!(": {}", safe(&change.detail)) };
        lines.push(format!("{} {} {}{detail}", change.area, safe(&change.name), change.change));
    }
    for file in &diff.files {
        lines.push(format!("\nfile {:?} {}", safe(&file.name), file.change));
        let is_near = |at: usize| {
            let (from, to) = (at.saturating_sub(CONTEXT), (at + CONTEXT + 1).min(file.lines.len()));
            file.lines[from..to].iter().any(|line| line.kind != "same")
        };
        let mut gap = false;
        for (at, line) in file.lines.iter().enumerate() {
            if !is_near(at) {
                gap = true;
                continue;
            }
            if std::mem::take(&mut gap) {
                lines.push("  ...".to_owned());
            }
            let mark = match line.kind.as_str() {
                "added" => '+',
                "removed" => '-',
                _ => ' ',
            };
            lines.push(format!("{mark} {}", safe(&line.text)));
        }
    }
    lines.join("\n").trim_start().to_owned()
}

async fn rm(args: ConfigsRm, global: &Global) -> Result<(), Failure> {
    let client = client(&args.connection, global)?;
    let config = client.config(&args.name).await?;
    let head = &config.value.summary;
    if head.assignments > 0 {
        let name = safe(&head.name);
        let users = counted(head.assignments, "assignment uses", "assignments use");
        let text = format!("{users} the configuration {name}: it cannot be removed");
        let hint = format!("See them with muster assignments list --config {name}");
        return Err(Failure::new(Kind::Conflict, text).hint(hint));
    }
    let plan = format!(
        "Remove the configuration {} with its {} revisions; no assignment uses it.",
        safe(&head.name),
        head.revision
    );
    if agree(args.consent, &plan)? {
        client.delete_config(&args.name, config.tag.as_deref()).await?;
        output::line(&format!("config/{} is removed", safe(&args.name)))?;
    }
    Ok(())
}

async fn import(args: ConfigsImport, global: &Global) -> Result<(), Failure> {
    let client = client(&args.connection, global)?;
    let agent = whole_uid(&client, &args.from_agent).await?;
    let import = ConfigImport { agent, name: args.name, message: args.message };
    let config = client.import_config(&import).await?;
    let name = &config.summary.name;
    let table = || format!("config/{} created: revision {}", safe(name), config.summary.revision);
    output::value(args.output.format, &config, table, || vec![name.clone()])
}
