//! `muster deploy` and `muster diff`: what Compose files would do, and doing it.

use api::services::{Deploy, Plan};
use api::{Client, ClientError};

use super::sources::{self, Sources, wrong};
use super::{deployments, limit};
use crate::cli::{DeployArgs, DiffArgs, Format, Global};
use crate::command::consent::agree_as;
use crate::command::runtime;
use crate::context::client;
use crate::failure::{Failure, Kind};
use crate::output::{self, safe};

/// Deploys Compose files.
pub(crate) fn deploy(args: DeployArgs, global: &Global) -> Result<(), Failure> {
    runtime()?.block_on(deploy_files(args, global))
}

/// Shows what deploying them would do.
pub(crate) fn diff(args: DiffArgs, global: &Global) -> Result<(), Failure> {
    runtime()?.block_on(plan_files(&args, global))
}

async fn deploy_files(args: DeployArgs, global: &Global) -> Result<(), Failure> {
    let format = args.output.format;
    let limit = limit(&args.attending)?;
    let client = client(&args.connection, global)?;
    let Sources { project, deploy } = sources::read(&args.compose)?;
    let deploy = Deploy { message: args.message.unwrap_or_default(), ..deploy };
    let plan = planned(&client, &project, &deploy).await?;
    if !plan.refusals.is_empty() {
        if args.consent.dry_run {
            show(format, &plan)?;
        }
        return Err(refused(&plan));
    }
    if !agree_as(args.consent, format, &plan, &text(&plan))? {
        return Ok(());
    }
    let begun = client.deploy(&project, &deploy).await.map_err(of_files)?;
    let nothing = format!("project/{} is as its files say: nothing to do", safe(&project));
    deployments::finish(&client, format, begun, &nothing, limit).await
}

async fn plan_files(args: &DiffArgs, global: &Global) -> Result<(), Failure> {
    let client = client(&args.connection, global)?;
    let Sources { project, deploy } = sources::read(&args.compose)?;
    let plan = planned(&client, &project, &deploy).await?;
    show(args.output.format, &plan)?;
    if plan.refusals.is_empty() { Ok(()) } else { Err(refused(&plan)) }
}

/// The server's plan; its warnings are told beside it.
async fn planned(client: &Client, project: &str, deploy: &Deploy) -> Result<Plan, Failure> {
    let plan = client.plan(project, deploy).await.map_err(of_files)?;
    plan.warnings.iter().for_each(|warning| {
        // Those about a place in a file have the word already.
        match warning.contains(": warning: ") {
            true => output::note(&safe(warning)),
            false => output::warning(&safe(warning)),
        }
    });
    Ok(plan)
}

fn show(format: Format, plan: &Plan) -> Result<(), Failure> {
    // What is refused as a whole has no plan to show.
    if format == Format::Table && plan.text.is_empty() && !plan.refusals.is_empty() {
        return Ok(());
    }
    let changed = plan.services.iter().filter(|service| service.change != "unchanged");
    output::value(format, plan, || text(plan), || changed.map(|service| service.name.clone()).collect())
}

fn text(plan: &Plan) -> String {
    let is_nothing = plan.services.iter().all(|service| service.change == "unchanged");
    if is_nothing && plan.refusals.is_empty() {
        return format!("project/{} is as its files say: nothing to do", safe(&plan.project));
    }
    let head = format!("project/{}:", safe(&plan.project));
    let lines = plan.text.iter().map(|line| format!("  {}", safe(line)));
    std::iter::once(head).chain(lines).collect::<Vec<_>>().join("\n")
}

fn refused(plan: &Plan) -> Failure {
    let reasons: Vec<_> = plan.refusals.iter().map(|reason| safe(reason)).collect();
    Failure::new(
        Kind::Conflict,
        format!("{} cannot be deployed: {}", safe(&plan.project), reasons.join("; ")),
    )
}

/// What a server finds in files that are right here: it is newer, or older.
fn of_files(error: ClientError) -> Failure {
    match &error {
        ClientError::Problem(problem) if !problem.problems.is_empty() => {
            problem.problems.iter().for_each(|one| output::note(&output::problem(one)));
            wrong(problem.problems.iter().filter(|one| one.severity == "error").count())
        }
        _ => error.into(),
    }
}
