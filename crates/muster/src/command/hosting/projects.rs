//! `muster projects`: look at them, and take one away as a whole.

use std::collections::BTreeSet;
use std::time::Duration;

use api::Client;
use api::services::{Project, Service};
use tokio::time::Instant;

use super::deployments::until_over;
use super::services::service_row;
use super::{counted, limit, page, watched};
use crate::cli::{Global, ProjectsArgs, ProjectsList, ProjectsRm, ProjectsShow, ProjectsVerb};
use crate::command::consent::agree;
use crate::command::runtime;
use crate::context::client;
use crate::failure::{Failure, Kind};
use crate::output::{self, safe};

/// How often it is looked whether hosts have removed volumes.
const LOOK: Duration = Duration::from_secs(1);

/// Lists, shows and removes projects.
pub(crate) fn projects(args: ProjectsArgs, global: &Global) -> Result<(), Failure> {
    let runtime = runtime()?;
    match args.verb {
        ProjectsVerb::List(args) => runtime.block_on(list(&args, global)),
        ProjectsVerb::Show(args) => runtime.block_on(show(&args, global)),
        ProjectsVerb::Rm(args) => runtime.block_on(rm(&args, global)),
    }
}

async fn list(args: &ProjectsList, global: &Global) -> Result<(), Failure> {
    let client = client(&args.connection, global)?;
    watched(&client, args.watch, async || {
        let list = client.projects().await?;
        let table = || {
            if list.items.is_empty() {
                return "There is no project. Deploy one: muster deploy --file compose.yaml".to_owned();
            }
            let head = ["name", "services", "replicas", "deployment", "volumes", "created"];
            output::table(&head, list.items.iter().map(row))
        };
        output::value(args.output.format, &list, table, || {
            list.items.iter().map(|one| one.name.clone()).collect()
        })
    })
    .await
}

fn row(project: &Project) -> Vec<String> {
    let sum = |count: fn(&Service) -> u32| {
        project.services.iter().map(|service| u64::from(count(service))).sum::<u64>()
    };
    let deployment = project.deployment.as_ref();
    vec![
        safe(&project.name),
        project.services.len().to_string(),
        format!("{}/{}", sum(|service| service.ready), sum(|service| service.wanted)),
        deployment.map_or_else(|| "-".to_owned(), |one| format!("{} {}", one.id, one.state)),
        project.volumes.len().to_string(),
        project.created_at.clone(),
    ]
}

async fn show(args: &ProjectsShow, global: &Global) -> Result<(), Failure> {
    let project = client(&args.connection, global)?.project(&args.project).await?;
    output::value(args.output.format, &project, || details(&project), || vec![project.name.clone()])
}

fn details(project: &Project) -> String {
    let deployment = project.deployment.as_ref();
    let deployment = deployment.map_or_else(|| "-".to_owned(), |one| format!("{} is {}", one.id, one.state));
    let head = page(&[
        ("name", safe(&project.name)),
        ("created", project.created_at.clone()),
        ("deployment", deployment),
    ]);
    let services = output::table(&super::services::HEAD, project.services.iter().map(service_row));
    let volumes = project.volumes.iter().map(|volume| {
        let used = if volume.used { "" } else { ", no service uses it" };
        format!("\n  {} on {}{used}", safe(&volume.name), safe(&volume.host))
    });
    let volumes: String = volumes.collect();
    let volumes = if volumes.is_empty() { volumes } else { format!("\n\nvolumes{volumes}") };
    format!("{head}\n\n{services}{volumes}")
}

async fn rm(args: &ProjectsRm, global: &Global) -> Result<(), Failure> {
    let client = client(&args.connection, global)?;
    let limit = limit(&args.attending)?;
    let project = client.project(&args.project).await?;
    if !agree(args.consent, &plan(&project, args.volumes))? {
        return Ok(());
    }
    let name = safe(&project.name);
    let Some(limit) = limit else {
        let begun = client.remove_project(&project.name, args.volumes).await?;
        let text = match begun {
            Some(one) => format!("deployment/{} stops the services of {name}; then run this again", one.id),
            None => format!("project/{name} is removed, or its hosts remove what is left of it"),
        };
        return output::line(&text);
    };
    let left = until_gone(&client, &project.name, args.volumes, Instant::now() + limit).await?;
    match left.as_slice() {
        [] => output::line(&format!("project/{name} is removed")),
        volumes => output::line(&format!(
            "the services of project/{name} are removed; its volumes stay: {}. To remove them too: \
             muster projects rm {name} --volumes",
            volumes.join(", ")
        )),
    }
}

fn plan(project: &Project, with_volumes: bool) -> String {
    let names = |names: Vec<String>| if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    let services = names(project.services.iter().map(|service| safe(&service.name)).collect());
    let volumes = names(
        project.volumes.iter().map(|one| format!("{} on {}", safe(&one.name), safe(&one.host))).collect(),
    );
    let count = counted(project.services.len(), "service", "services");
    let fate = match with_volumes {
        true => "its volumes are removed with all that is in them, and nothing brings that back",
        false => "its volumes stay",
    };
    format!("Remove project {}: {count} stop ({services}); {fate} ({volumes}).", safe(&project.name))
}

/// Waits until nothing is left but volumes that stay; their names.
async fn until_gone(
    client: &Client,
    name: &str,
    volumes: bool,
    until: Instant,
) -> Result<Vec<String>, Failure> {
    loop {
        match client.remove_project(name, volumes).await {
            Err(error) if error.status() == Some(404) => return Ok(Vec::new()),
            Err(error) => return Err(error.into()),
            Ok(Some(deployment)) => {
                let (_, end) = until_over(client, deployment, until).await?;
                let next =
                    "Its services go on stopping; run the command again to see to the end of the project.";
                end.map_err(|failure| if Instant::now() >= until { failure.hint(next) } else { failure })?;
            }
            Ok(None) => match client.project(name).await {
                Err(error) if error.status() == Some(404) => return Ok(Vec::new()),
                Err(error) => return Err(error.into()),
                Ok(left) if !volumes && !left.volumes.is_empty() => {
                    return Ok(left.volumes.iter().map(|volume| safe(&volume.name)).collect());
                }
                Ok(left) => match away(client, &left).await? {
                    Some(failure) => return Err(failure),
                    None => tokio::time::sleep(LOOK).await,
                },
            },
        }
        if Instant::now() >= until {
            return Err(Failure::new(Kind::TimedOut, format!("not all of project {name} is removed yet"))
                .hint("Its hosts go on; run the command again to see to its end."));
        }
    }
}

/// Why there is nothing to wait for: what is left is on hosts that are offline.
async fn away(client: &Client, left: &Project) -> Result<Option<Failure>, Failure> {
    let replicas = left.services.iter().flat_map(|it| &it.replicas).map(|it| it.host.as_str());
    let places: BTreeSet<&str> = replicas.chain(left.volumes.iter().map(|it| it.host.as_str())).collect();
    let hosts = client.hosts().await?.items;
    let away = |name: &&str| hosts.iter().any(|host| host.name == **name && host.state == "offline");
    if places.is_empty() || !places.iter().all(away) {
        return Ok(None);
    }
    let names = places.into_iter().map(safe).collect::<Vec<_>>();
    let text = format!(
        "nothing of project {} is wanted any more, and what is left of it is on {}, offline",
        safe(&left.name),
        names.join(", ")
    );
    let forget: Vec<_> = names.iter().map(|name| format!("muster hosts rm {name}")).collect();
    Ok(Some(Failure::new(Kind::TimedOut, text).hint(format!(
        "It goes when they are back. If they do not come back: {}; then run this again.",
        forget.join(", ")
    ))))
}
