//! `muster deployments`, and following a deployment to its end.

use std::time::Duration;

use api::services::{DeployedService, Deployment};
use api::{Client, ClientError};
use tokio::time::Instant;

use super::{or_dash, page, watched};
use crate::cli::{
    DeploymentsAbort, DeploymentsArgs, DeploymentsList, DeploymentsShow, DeploymentsVerb, Format, Global,
};
use crate::command::consent::agree;
use crate::command::progress::Shown;
use crate::command::{rollout, runtime};
use crate::context::client;
use crate::failure::{Failure, Kind};
use crate::output::{self, safe};

/// How often a deployment is looked at.
const LOOK: Duration = Duration::from_millis(500);

/// Lists, shows and stops deployments.
pub(crate) fn deployments(args: DeploymentsArgs, global: &Global) -> Result<(), Failure> {
    let runtime = runtime()?;
    match args.verb {
        DeploymentsVerb::List(args) => runtime.block_on(list(&args, global)),
        DeploymentsVerb::Show(args) => runtime.block_on(show(&args, global)),
        DeploymentsVerb::Abort(args) => runtime.block_on(abort(&args, global)),
    }
}

async fn list(args: &DeploymentsList, global: &Global) -> Result<(), Failure> {
    let client = client(&args.connection, global)?;
    watched(&client, args.watch, async || {
        let list = client.deployments(args.project.as_deref(), Some(args.limit)).await?;
        let table = || {
            if list.items.is_empty() {
                return "Nothing was deployed yet. Begin: muster deploy --file compose.yaml".to_owned();
            }
            let head = ["id", "project", "state", "services", "by", "begun", "message"];
            output::table(&head, list.items.iter().map(row))
        };
        let names = || list.items.iter().map(|one| one.id.clone()).collect();
        output::value(args.output.format, &list, table, names)
    })
    .await
}

fn row(one: &Deployment) -> Vec<String> {
    let services: Vec<_> = one.services.iter().map(|service| safe(&service.name)).collect();
    vec![
        one.id.clone(),
        safe(&one.project),
        one.state.clone(),
        services.join(", "),
        safe(&one.created_by),
        one.created_at.clone(),
        safe(&one.message),
    ]
}

async fn show(args: &DeploymentsShow, global: &Global) -> Result<(), Failure> {
    let client = client(&args.connection, global)?;
    let limit = rollout::duration("timeout", &args.timeout)?;
    let one = client.deployment(&args.id).await?;
    let (one, end) = match args.wait {
        true => until_over(&client, one, Instant::now() + limit).await?,
        false => (one, Ok(())),
    };
    output::value(args.output.format, &one, || details(&one), || vec![one.id.clone()])?;
    end
}

fn details(one: &Deployment) -> String {
    let mut lines = vec![
        ("deployment", one.id.clone()),
        ("project", safe(&one.project)),
        ("state", one.state.clone()),
        ("by", safe(&one.created_by)),
        ("message", safe(&one.message)),
        ("begun", one.created_at.clone()),
        ("finished", or_dash(one.finished_at.as_deref())),
    ];
    let reason = one.reason.as_deref().map(indented);
    lines.extend(reason.map(|reason| ("reason", reason)));
    let services = one.services.iter().map(|service| format!("\n  {}", service_line(service, &one.state)));
    page(&lines) + "\n\nservices" + &services.collect::<String>()
}

async fn abort(args: &DeploymentsAbort, global: &Global) -> Result<(), Failure> {
    let client = client(&args.connection, global)?;
    let one = client.deployment(&args.id).await?;
    if one.state != "running" {
        let text = format!("deployment {} is {}: only one that is running can be aborted", one.id, one.state);
        return Err(Failure::new(Kind::Conflict, text));
    }
    let plan = format!(
        "Abort deployment {}: the services of {} go back to what they ran.",
        one.id,
        safe(&one.project)
    );
    if !agree(args.consent, &plan)? {
        return Ok(());
    }
    let one = client.abort_deployment(&one.id).await?;
    output::value(args.output.format, &one, || sentence(&one), || vec![one.id.clone()])
}

/// Ends a command that may have begun a deployment: waits for its end if that was asked for, prints how it is then.
/// Exit code 1 when it went back, 5 when another one took its place, 6 when the time is over.
pub(super) async fn finish(
    client: &Client,
    format: Format,
    begun: Option<Deployment>,
    nothing: &str,
    limit: Option<Duration>,
) -> Result<(), Failure> {
    let Some(one) = begun else {
        return output::value(format, &None::<Deployment>, || nothing.to_owned(), Vec::new);
    };
    let (one, end) = match limit {
        Some(limit) => until_over(client, one, Instant::now() + limit).await?,
        None => (one, Ok(())),
    };
    output::value(format, &one, || sentence(&one), || vec![one.id.clone()])?;
    end
}

/// Looks until a deployment is over or the time is; how it was seen last, and how that ends the command.
pub(super) async fn until_over(
    client: &Client,
    mut one: Deployment,
    until: Instant,
) -> Result<(Deployment, Result<(), Failure>), Failure> {
    let mut shown = Shown::new();
    shown.show_all(&progress(&one));
    loop {
        if let Some(end) = ended(&one) {
            return Ok((one, end));
        }
        if Instant::now() >= until {
            let waits: Vec<_> = one
                .services
                .iter()
                .filter_map(|service| {
                    service
                        .waits_for
                        .as_ref()
                        .map(|what| format!("{} waits for {}", safe(&service.name), safe(what)))
                })
                .collect();
            let why = if waits.is_empty() { one.state.clone() } else { waits.join("; ") };
            let failure = Failure::new(Kind::TimedOut, format!("deployment {} is not over: {why}", one.id));
            let hint = format!("It goes on without this command: muster deployments show {} --wait", one.id);
            return Ok((one, Err(failure.hint(hint))));
        }
        tokio::time::sleep(LOOK).await;
        match client.deployment(&one.id).await {
            Ok(now) => {
                one = now;
                shown.show_all(&progress(&one));
            }
            // A server that is being restarted comes back, and the deployment with it.
            Err(error @ ClientError::Unreachable { .. }) => shown.away(&error.to_string()),
            Err(error) => return Err(error.into()),
        }
    }
}

/// How a deployment that is over ends a command; `None`: it goes on.
fn ended(one: &Deployment) -> Option<Result<(), Failure>> {
    let failed = |kind, text: String| Some(Err(Failure::new(kind, text)));
    match one.state.as_str() {
        "done" => Some(Ok(())),
        "rolled back" => {
            let why = one.reason.as_deref().map_or_else(|| "no reason is known".to_owned(), indented);
            failed(Kind::Failed, format!("deployment {} was rolled back: {why}", one.id))
        }
        "superseded" => {
            failed(Kind::Partly, format!("another deployment took the place of deployment {}", one.id))
        }
        _ => None,
    }
}

fn progress(one: &Deployment) -> Vec<String> {
    let head = format!("deployment/{} of {}: {}", one.id, safe(&one.project), one.state);
    let lines = one.services.iter().map(|service| format!("  {}", service_line(service, &one.state)));
    std::iter::once(head).chain(lines).collect()
}

/// How far a service is, in one line, in a deployment of this state.
fn service_line(service: &DeployedService, deployment: &str) -> String {
    let DeployedService { name, from, to, state, reason, waits_for, ready, wanted, old_ready } = service;
    // Nothing waits in a deployment that is over.
    let left = match deployment {
        "rolled back" => Some("as before"),
        "superseded" => Some("left to another deployment"),
        _ => None,
    };
    if let Some(left) = left.filter(|_| state == "waiting") {
        let release = from.map_or_else(|| "not deployed".to_owned(), |from| format!("release {from}"));
        return format!("{}: {left}, {release}", safe(name));
    }
    let releases = match (from, to) {
        (Some(from), Some(to)) if from == to => format!("release {to}"),
        (Some(from), Some(to)) => format!("release {from} to {to}"),
        (None, Some(to)) => format!("release {to}"),
        (_, None) if state == "done" => "removed".to_owned(),
        (Some(from), None) => format!("release {from} is removed"),
        (None, None) => "is removed".to_owned(),
    };
    let counts = match (from, to) {
        (Some(from), Some(to)) if from != to && *old_ready > 0 => {
            format!(", old release {from} serves, {ready} of {wanted} new ready")
        }
        (_, Some(_)) => format!(", {ready} of {wanted} ready"),
        (_, None) => String::new(),
    };
    let why = match (reason, waits_for) {
        (Some(reason), _) => format!(": {}", safe(reason.lines().next().unwrap_or_default())),
        (None, Some(what)) => format!(", waits for {}", safe(what)),
        (None, None) => String::new(),
    };
    format!("{}: {state}, {releases}{counts}{why}", safe(name))
}

fn sentence(one: &Deployment) -> String {
    format!("deployment/{} of {} is {}", one.id, safe(&one.project), one.state)
}

/// A reason with the lines that a container printed last below it.
fn indented(reason: &str) -> String {
    reason.lines().map(safe).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(state: &str) -> Deployment {
        Deployment {
            id: "7".to_owned(),
            project: "shop".to_owned(),
            state: state.to_owned(),
            reason: Some("web: it ended with exit code 1\n  no \u{1b}database".to_owned()),
            services: Vec::new(),
            created_by: "ann".to_owned(),
            message: String::new(),
            created_at: String::new(),
            finished_at: None,
        }
    }

    #[test]
    fn a_deployment_that_is_over_says_how_and_why() {
        assert_eq!(ended(&one("running")), None);
        assert_eq!(ended(&one("rolling back")), None);
        assert_eq!(ended(&one("done")), Some(Ok(())));
        let text = "deployment 7 was rolled back: web: it ended with exit code 1\n  no \u{fffd}database";
        assert_eq!(ended(&one("rolled back")), Some(Err(Failure::new(Kind::Failed, text))));
        let text = "another deployment took the place of deployment 7";
        assert_eq!(ended(&one("superseded")), Some(Err(Failure::new(Kind::Partly, text))));
    }

    #[test]
    fn a_line_says_what_a_service_waits_for_or_why_it_failed() {
        let service = DeployedService {
            name: "web".to_owned(),
            from: Some(3),
            to: Some(4),
            state: "waiting".to_owned(),
            reason: None,
            waits_for: Some("the health of web-1".to_owned()),
            ready: 1,
            wanted: 2,
            old_ready: 0,
        };
        let service_line = |service: &DeployedService| service_line(service, "running");
        assert_eq!(
            service_line(&service),
            "web: waiting, release 3 to 4, 1 of 2 ready, waits for the health of web-1"
        );
        let still = DeployedService { old_ready: 1, ready: 0, waits_for: None, ..service.clone() };
        assert_eq!(
            service_line(&still),
            "web: waiting, release 3 to 4, old release 3 serves, 0 of 2 new ready"
        );
        assert_eq!(super::service_line(&still, "rolled back"), "web: as before, release 3");
        let new = DeployedService { from: None, ..still };
        assert_eq!(super::service_line(&new, "superseded"), "web: left to another deployment, not deployed");
        let failed = DeployedService {
            state: "failed".to_owned(),
            reason: Some("no image\n x".to_owned()),
            ..service.clone()
        };
        assert_eq!(service_line(&failed), "web: failed, release 3 to 4, 1 of 2 ready: no image");
        let gone = DeployedService { to: None, waits_for: None, ..service };
        assert_eq!(service_line(&gone), "web: waiting, release 3 is removed");
        let done = DeployedService { state: "done".to_owned(), from: None, ..gone };
        assert_eq!(service_line(&done), "web: done, removed");
    }
}
