//! The commands about hosts and what runs on them. Reading order: [`sources`] (Compose files of this machine),
//! [`deploy`] (plan, consent, deployment), [`deployments`] (following one to its end); then a module for each noun.

mod deploy;
mod deployments;
mod hosts;
mod join;
mod logs;
mod projects;
mod registries;
mod scale;
mod secrets;
mod services;
mod sources;

use std::time::Duration;

use api::Client;

pub(crate) use deploy::{deploy, diff};
pub(crate) use deployments::deployments;
pub(crate) use hosts::hosts;
pub(crate) use logs::logs;
pub(crate) use projects::projects;
pub(crate) use registries::registries;
pub(crate) use secrets::secrets;
pub(crate) use services::{ps, services};

use crate::cli::Attending;
use crate::failure::Failure;
use crate::output::{self, counted};

/// How long to wait for a deployment; `None`: not at all.
fn limit(attending: &Attending) -> Result<Option<Duration>, Failure> {
    let limit = super::rollout::duration("timeout", &attending.timeout)?;
    Ok((!attending.no_wait).then_some(limit))
}

/// The two names of `PROJECT/NAME`.
fn parts<'t>(text: &'t str, what: &str) -> Result<(&'t str, &'t str), Failure> {
    match text.split_once('/') {
        Some((project, name)) if !project.is_empty() && !name.is_empty() && !name.contains('/') => {
            Ok((project, name))
        }
        _ => Err(Failure::usage(format!(
            "{text:?} names no {what}, write it as PROJECT/{}",
            what.to_uppercase()
        ))),
    }
}

/// Prints once, or again whenever something changes.
async fn watched(
    client: &Client,
    watch: bool,
    mut print: impl AsyncFnMut() -> Result<(), Failure>,
) -> Result<(), Failure> {
    if !watch {
        return print().await;
    }
    loop {
        // The stream is opened first, so that nothing is missed between reading and listening.
        let mut events = client.events().await?;
        print().await?;
        while events.changed().await {
            output::line("")?;
            print().await?;
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}

/// What is there, or a dash.
fn or_dash(text: Option<&str>) -> String {
    text.filter(|text| !text.is_empty()).map_or_else(|| "-".to_owned(), output::safe)
}

/// Names with their values, one below the other.
fn page(lines: &[(&str, String)]) -> String {
    let width = lines.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    lines
        .iter()
        .map(|(name, value)| format!("{name:<width$}  {value}").trim_end().to_owned())
        .collect::<Vec<_>>()
        .join("\n")
}

/// Bytes for people.
fn bytes(count: u64) -> String {
    const STEPS: [(&str, u64); 3] = [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];
    match STEPS.iter().find(|(_, size)| count >= *size) {
        Some((unit, size)) => {
            let tenths = count.saturating_mul(10) / size;
            format!("{}.{} {unit}", tenths / 10, tenths % 10)
        }
        None => format!("{count} B"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thing_of_a_project_is_named_with_its_project() {
        assert_eq!(parts("shop/web", "service"), Ok(("shop", "web")));
        for text in ["web", "/web", "shop/", "shop/web/1", ""] {
            let said = parts(text, "service").unwrap_err().to_string();
            assert!(said.contains("PROJECT/SERVICE"), "{text}: {said}");
        }
    }

    #[test]
    fn sizes_are_written_for_people() {
        assert_eq!(bytes(0), "0 B");
        assert_eq!(bytes(1023), "1023 B");
        assert_eq!(bytes(1536), "1.5 KiB");
        assert_eq!(bytes(8 << 30), "8.0 GiB");
    }
}
