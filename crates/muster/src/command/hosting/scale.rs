//! `muster services scale|rollback|rm`: deployments that need no files.

use api::services::{Release, Rollback, Scale, Service};

use super::services::full_name;
use super::{counted, deployments, limit, parts};
use crate::cli::{Global, ServicesRm, ServicesRollback, ServicesScale};
use crate::command::consent::agree;
use crate::context::client;
use crate::failure::{Failure, Kind};
use crate::output::{self, safe};

pub(super) async fn scale(args: &ServicesScale, global: &Global) -> Result<(), Failure> {
    let limit = limit(&args.attending)?;
    let wanted = args.counts.iter().map(|text| wanted(text)).collect::<Result<Vec<_>, _>>()?;
    if limit.is_none() && wanted.len() > 1 {
        return Err(Failure::usage(
            "several services are scaled one after the other, so leave out --no-wait",
        ));
    }
    let client = client(&args.connection, global)?;
    let mut plan = Vec::new();
    for (project, name, count) in &wanted {
        let service = client.service(project, name).await?;
        plan.push(scaled(&service, *count));
        if let Some(words) = shared(&service, *count) {
            output::warning(&words);
        }
    }
    if !agree(args.consent, &plan.join("\n"))? {
        return Ok(());
    }
    for (project, name, count) in wanted {
        let begun = client.scale(project, name, Scale { replicas: count }).await?;
        let nothing = format!("{project}/{name} has {} already", replicas(count));
        deployments::finish(&client, args.output.format, begun, &nothing, limit).await?;
    }
    Ok(())
}

/// Reads `PROJECT/SERVICE=COUNT`.
fn wanted(text: &str) -> Result<(&str, &str, u32), Failure> {
    let wrong = || Failure::usage(format!("{text:?} is no number of replicas, write PROJECT/SERVICE=COUNT"));
    let (service, count) = text.split_once('=').ok_or_else(wrong)?;
    let (project, name) = parts(service, "service")?;
    Ok((project, name, count.parse().map_err(|_| wrong())?))
}

fn replicas(count: u32) -> String {
    counted(usize::try_from(count).unwrap_or(usize::MAX), "replica", "replicas")
}

fn scaled(service: &Service, count: u32) -> String {
    format!("Scale {} from {} to {}.", full_name(service), service.wanted, replicas(count))
}

/// What more replicas have to do with each other.
fn shared(service: &Service, count: u32) -> Option<String> {
    let volumes: Vec<&str> = service.volumes.iter().map(String::as_str).collect();
    let host = service.replicas.first().map(|replica| replica.host.as_str());
    let words = model::service::shared_volumes(count, &volumes, host).filter(|_| count > service.wanted)?;
    Some(safe(&format!("{}: {words}", full_name(service))))
}

pub(super) async fn rollback(args: ServicesRollback, global: &Global) -> Result<(), Failure> {
    let limit = limit(&args.attending)?;
    let (project, name) = parts(&args.service, "service")?;
    let client = client(&args.connection, global)?;
    let releases = client.releases(project, name).await?.items;
    let current = releases.iter().find(|release| release.current);
    let target = match args.to {
        Some(number) => releases.iter().find(|release| release.number == number),
        None => earlier(&releases).find(|release| release.served),
    };
    let target = target.ok_or_else(|| {
        let (what, next) = match args.to {
            Some(number) => (format!("release {number}"), "lists them."),
            None => (
                "earlier release that served".to_owned(),
                "lists all; --to goes to one of them all the same. Or deploy other files.",
            ),
        };
        Failure::new(Kind::NotFound, format!("{project}/{name} has no {what}"))
            .hint(format!("muster services releases {project}/{name} {next}"))
    })?;
    let from = current.map_or_else(String::new, |release| format!(" from {}", told(release)));
    let plan = format!("Roll {project}/{name} back{from} to {}{}.", told(target), never(&releases, target));
    if !agree(args.consent, &plan)? {
        return Ok(());
    }
    let to = Rollback { to: Some(target.number), message: args.message.unwrap_or_default() };
    let begun = client.roll_back(project, name, &to).await?;
    let nothing = format!("{project}/{name} runs {} already", told(target));
    deployments::finish(&client, args.output.format, begun, &nothing, limit).await
}

/// The releases before the current one, newest first.
fn earlier(releases: &[Release]) -> impl Iterator<Item = &Release> {
    let current = releases.iter().find(|release| release.current).map_or(u32::MAX, |release| release.number);
    releases.iter().filter(move |release| release.number < current)
}

/// Which releases are gone past because they never served, or that the target is such a one.
fn never(releases: &[Release], target: &Release) -> String {
    if !target.served {
        return ", which never served".to_owned();
    }
    let passed = earlier(releases).filter(|it| it.number > target.number && !it.served);
    let numbers: Vec<_> = passed.map(|release| release.number.to_string()).collect();
    match numbers.len() {
        0 => String::new(),
        1 => format!("; release {} never served", numbers.join("")),
        _ => format!("; releases {} never served", numbers.join(", ")),
    }
}

fn told(release: &Release) -> String {
    let (image, replicas) = (safe(&release.image), replicas(release.replicas));
    format!("release {} ({image}, {replicas}, {})", release.number, release.created_at)
}

pub(super) async fn rm(args: &ServicesRm, global: &Global) -> Result<(), Failure> {
    let limit = limit(&args.attending)?;
    let (project, name) = parts(&args.service, "service")?;
    let client = client(&args.connection, global)?;
    let service = client.service(project, name).await?;
    let plan = format!(
        "Remove {}: its {} stop; its volumes stay. If the project's files still name it, the next deployment brings it \
         back.",
        full_name(&service),
        replicas(service.wanted)
    );
    if !agree(args.consent, &plan)? {
        return Ok(());
    }
    let begun = client.remove_service(project, name).await?;
    deployments::finish(&client, args.output.format, begun, "nothing of it runs", limit).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_of_replicas_belongs_to_a_service_of_a_project() {
        assert_eq!(wanted("shop/web=3"), Ok(("shop", "web", 3)));
        for text in ["shop/web", "web=3", "shop/web=", "shop/web=-1", "shop/web=many"] {
            let failure = wanted(text).unwrap_err().to_string();
            assert!(failure.contains("PROJECT/SERVICE"), "{text}: {failure}");
        }
    }
}
