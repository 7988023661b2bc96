//! `muster services` and `muster ps`: services, their releases and replicas. Changing them is [`super::scale`].

use api::services::{Replica, Service};
use serde::Serialize;

use super::{or_dash, page, parts, scale, watched};
use crate::cli::{Global, ServicesArgs, ServicesList, ServicesShow, ServicesVerb};
use crate::command::runtime;
use crate::context::client;
use crate::failure::Failure;
use crate::output::{self, safe};

/// The columns of a list of services.
pub(super) const HEAD: [&str; 7] = ["service", "state", "ready", "release", "image", "ports", "hosts"];

/// Works on services.
pub(crate) fn services(args: ServicesArgs, global: &Global) -> Result<(), Failure> {
    let runtime = runtime()?;
    match args.verb {
        ServicesVerb::List(args) => runtime.block_on(list(&args, global)),
        ServicesVerb::Show(args) => runtime.block_on(show(&args, global)),
        ServicesVerb::Releases(args) => runtime.block_on(releases(&args, global)),
        ServicesVerb::Scale(args) => runtime.block_on(scale::scale(&args, global)),
        ServicesVerb::Rollback(args) => runtime.block_on(scale::rollback(args, global)),
        ServicesVerb::Rm(args) => runtime.block_on(scale::rm(&args, global)),
    }
}

async fn list(args: &ServicesList, global: &Global) -> Result<(), Failure> {
    let client = client(&args.connection, global)?;
    watched(&client, args.watch, async || {
        let mut list = client.services(args.project()).await?;
        list.items.sort_by(|one, other| (&one.project, &one.name).cmp(&(&other.project, &other.name)));
        let table = || match list.items.is_empty() {
            true => "There is no service. Deploy one: muster deploy --file compose.yaml".to_owned(),
            false => output::table(&HEAD, list.items.iter().map(service_row)),
        };
        output::value(args.output.format, &list, table, || list.items.iter().map(full_name).collect())
    })
    .await
}

pub(super) fn full_name(service: &Service) -> String {
    format!("{}/{}", safe(&service.project), safe(&service.name))
}

pub(super) fn service_row(service: &Service) -> Vec<String> {
    let hosts: std::collections::BTreeSet<_> =
        service.replicas.iter().map(|replica| safe(&replica.host)).collect();
    vec![
        full_name(service),
        service.state.clone(),
        format!("{}/{}", service.ready, service.wanted),
        service.release.map_or_else(|| "-".to_owned(), |number| number.to_string()),
        safe(&service.image),
        or_dash(Some(&service.ports.join(", "))),
        or_dash(Some(&hosts.into_iter().collect::<Vec<_>>().join(", "))),
    ]
}

async fn show(args: &ServicesShow, global: &Global) -> Result<(), Failure> {
    let (project, name) = parts(&args.service, "service")?;
    let service = client(&args.connection, global)?.service(project, name).await?;
    output::value(args.output.format, &service, || details(&service), || vec![full_name(&service)])
}

fn details(service: &Service) -> String {
    let head = page(&[
        ("service", full_name(service)),
        ("id", service.id.clone()),
        ("state", format!("{}, {} of {} replicas ready", service.state, service.ready, service.wanted)),
        ("waits for", or_dash(service.waits_for.as_deref())),
        ("release", service.release.map_or_else(|| "-".to_owned(), |number| number.to_string())),
        ("image", safe(&service.image)),
        ("ports", or_dash(Some(&service.ports.join(", ")))),
    ]);
    if service.replicas.is_empty() && service.release.is_none() {
        let project = safe(&service.project);
        return format!("{head}\n\nIt has never run: muster deployments list -p {project} says why.");
    }
    if service.replicas.is_empty() {
        return head;
    }
    let mut text = format!("{head}\n\n{}", replicas(service.replicas.iter()));
    for replica in service.replicas.iter().filter(|replica| !replica.last_lines.is_empty()) {
        text.push_str(&format!("\n\n{} printed last", label(replica)));
        text.extend(replica.last_lines.iter().map(|line| format!("\n  {}", safe(line))));
    }
    text
}

async fn releases(args: &ServicesShow, global: &Global) -> Result<(), Failure> {
    let (project, name) = parts(&args.service, "service")?;
    let list = client(&args.connection, global)?.releases(project, name).await?;
    let table = || {
        let rows = list.items.iter().map(|release| {
            let current = match (release.current, release.served) {
                (true, _) => " (current)",
                (false, true) => "",
                (false, false) => " (never served)",
            };
            vec![
                format!("{}{current}", release.number),
                safe(&release.image),
                release.created_at.clone(),
                safe(&release.author),
                safe(&release.message),
                release.changes.iter().map(|change| safe(change)).collect::<Vec<_>>().join("; "),
            ]
        });
        output::table(&["release", "image", "made", "by", "message", "changes"], rows)
    };
    output::value(args.output.format, &list, table, || {
        list.items.iter().map(|release| release.number.to_string()).collect()
    })
}

/// What `muster ps` prints for programs.
#[derive(Serialize)]
struct Replicas<'a> {
    items: Vec<&'a Replica>,
}

/// Lists replicas.
pub(crate) fn ps(args: &ServicesList, global: &Global) -> Result<(), Failure> {
    runtime()?.block_on(async {
        let client = client(&args.connection, global)?;
        watched(&client, args.watch, async || {
            let list = client.services(args.project()).await?;
            let mut items: Vec<_> = list.items.iter().flat_map(|service| &service.replicas).collect();
            items.sort_by_key(|one| (&one.project, &one.service, one.number));
            let all = Replicas { items };
            let table = || match all.items.is_empty() {
                true => "No replica is there.".to_owned(),
                false => replicas(all.items.iter().copied()),
            };
            output::value(args.output.format, &all, table, || {
                all.items.iter().map(|one| one.name.clone()).collect()
            })
        })
        .await
    })
}

fn label(replica: &Replica) -> String {
    format!("{}/{}-{}", safe(&replica.project), safe(&replica.service), replica.number)
}

fn replicas<'a>(replicas: impl Iterator<Item = &'a Replica>) -> String {
    let mut replicas: Vec<_> = replicas.collect();
    replicas.sort_by_key(|one| (&one.project, &one.service, one.number));
    let head = ["replica", "state", "host", "release", "restarts", "started", "addresses", "reason"];
    output::table(&head, replicas.into_iter().map(replica_row))
}

fn replica_row(replica: &Replica) -> Vec<String> {
    let phase =
        (replica.phase != "serving" && replica.phase != replica.state).then_some(replica.phase.as_str());
    // What a host said before it went away is not what is true now.
    let away = (!replica.host_online && replica.state != "stranded").then_some("host offline");
    let state =
        [Some(replica.state.as_str()), phase, away].into_iter().flatten().collect::<Vec<_>>().join(", ");
    let exit = replica.exit_code.map(|code| format!("exit code {code}"));
    vec![
        label(replica),
        state,
        safe(&replica.host),
        replica.release.to_string(),
        replica.restarts.to_string(),
        or_dash(replica.started_at.as_deref()),
        or_dash(Some(&replica.addresses.join(", "))),
        or_dash(replica.reason.as_deref().or(exit.as_deref())),
    ]
}
