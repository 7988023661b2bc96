//! `muster hosts`: look at hosts and change what operators say about them. Adding one is [`super::join`].

use api::hosts::{ChangeHost, Host, JoinToken};

use super::{bytes, counted, join, or_dash, page, watched};
use crate::cli::{
    Global, HostTokensArgs, HostTokensList, HostTokensRevoke, HostTokensVerb, HostsArgs, HostsList, HostsLog,
    HostsRm, HostsSet, HostsShow, HostsVerb,
};
use crate::command::consent::{agree, confirm};
use crate::command::{labels, runtime};
use crate::context::client;
use crate::failure::{Failure, Kind};
use crate::output::{self, safe};

/// Adds, shows, changes and removes hosts.
pub(crate) fn hosts(args: HostsArgs, global: &Global) -> Result<(), Failure> {
    let runtime = runtime()?;
    match args.verb {
        HostsVerb::Add(args) => runtime.block_on(join::add(args, global)),
        HostsVerb::List(args) => runtime.block_on(list(&args, global)),
        HostsVerb::Show(args) => runtime.block_on(show(&args, global)),
        HostsVerb::Set(args) => runtime.block_on(set(args, global)),
        HostsVerb::Rm(args) => runtime.block_on(rm(&args, global)),
        HostsVerb::Log(args) => runtime.block_on(log(&args, global)),
        HostsVerb::Tokens(HostTokensArgs { verb: HostTokensVerb::List(args) }) => {
            runtime.block_on(tokens(&args, global))
        }
        HostsVerb::Tokens(HostTokensArgs { verb: HostTokensVerb::Revoke(args) }) => {
            runtime.block_on(revoke(&args, global))
        }
    }
}

async fn list(args: &HostsList, global: &Global) -> Result<(), Failure> {
    let client = client(&args.connection, global)?;
    watched(&client, args.watch, async || {
        let hosts = client.hosts().await?;
        let table = || {
            if hosts.items.is_empty() {
                return "There is no host. Make a machine one: muster hosts add".to_owned();
            }
            let head = [
                "name",
                "state",
                "replicas",
                "engine",
                "cpu",
                "memory",
                "disk free",
                "agent",
                "last seen",
                "problem",
            ];
            output::table(&head, hosts.items.iter().map(row))
        };
        let names = || hosts.items.iter().map(|host| host.name.clone()).collect();
        output::value(args.output.format, &hosts, table, names)
    })
    .await
}

fn row(host: &Host) -> Vec<String> {
    vec![
        safe(&host.name),
        state(host),
        format!("{}/{}", host.ready, host.replicas),
        or_dash(host.engine.as_deref()),
        host.cpu_used.map_or_else(|| "-".to_owned(), |share| format!("{:.0} %", share * 100.0)),
        memory(host),
        bytes(host.disk_free_bytes),
        or_dash(Some(&host.agent_version)),
        last_seen(host),
        or_dash(host.problems.first().map(String::as_str)),
    ]
}

/// What is true of it, in the words of API and console.
fn state(host: &Host) -> String {
    let cordoned = (host.mode != "normal").then_some(host.mode.as_str());
    let adopting = host.adopting.then_some("adopting");
    [Some(host.state.as_str()), cordoned, adopting].into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// Of a host that is connected it is known that it answers. One that was a moment ago is online still.
fn last_seen(host: &Host) -> String {
    match host.address {
        Some(_) => "now".to_owned(),
        None => or_dash(host.last_seen.as_deref()),
    }
}

fn memory(host: &Host) -> String {
    match host.memory_available_bytes {
        Some(free) => format!("{} of {} free", bytes(free), bytes(host.memory_bytes)),
        None => bytes(host.memory_bytes),
    }
}

async fn show(args: &HostsShow, global: &Global) -> Result<(), Failure> {
    let host = client(&args.connection, global)?.host(&args.host).await?.value;
    output::value(args.output.format, &host, || details(&host), || vec![host.name.clone()])
}

fn details(host: &Host) -> String {
    let since = host.since.as_deref().map_or_else(String::new, |since| format!(" since {since}"));
    let sync = if host.in_sync {
        "has applied all that it was told"
    } else {
        "has not applied what it was told last"
    };
    let mut lines = vec![
        ("name", safe(&host.name)),
        ("id", host.id.clone()),
        ("state", format!("{}{since}", state(host))),
        ("replicas", format!("{} of {} ready", host.ready, host.replicas)),
        ("sync", format!("{sync} (generation {})", host.generation)),
        ("address", or_dash(host.address.as_deref())),
        ("agent", or_dash(Some(&host.agent_version))),
        ("engine", or_dash(host.engine.as_deref())),
        ("system", format!("{}, kernel {}, {}", safe(&host.os), safe(&host.kernel), safe(&host.arch))),
        ("processors", host.cpus.to_string()),
        ("memory", memory(host)),
        ("disk", format!("{} of {} free", bytes(host.disk_free_bytes), bytes(host.disk_total_bytes))),
        ("labels", or_dash(Some(&labels::labels_text(&host.labels)))),
        ("allowed paths", or_dash(Some(&host.allowed_paths.join(", ")))),
        ("joined", host.joined_at.clone()),
        ("last seen", last_seen(host)),
        ("machine id", safe(&host.machine_id)),
    ];
    lines.extend(host.clock_skew_ms.map(|skew| ("clock", format!("{skew} ms off"))));
    let problems = host.problems.iter().map(|problem| format!("\n  {}", safe(problem)));
    match host.problems.is_empty() {
        true => page(&lines),
        false => page(&lines) + "\n\nproblems" + &problems.collect::<String>(),
    }
}

async fn set(args: HostsSet, global: &Global) -> Result<(), Failure> {
    let client = client(&args.connection, global)?;
    let answer = client.host(&args.host).await?;
    let host = &answer.value;
    let change = change(&args, host)?;
    let mut plan = format!("Change host {}.", safe(&host.name));
    if change.adopting == Some(false) {
        let known = host.problems.iter().find(|problem| problem.contains("--adopting=false"));
        let known = known.map_or_else(String::new, |text| format!(" ({})", safe(text)));
        plan = format!(
            "Let host {} remove every container of ours that this server does not know{known}.",
            safe(&host.name)
        );
    }
    // Only what removes something is worth a question.
    let consent =
        crate::cli::Consent { yes: args.consent.yes || change.adopting != Some(false), ..args.consent };
    if !agree(consent, &plan)? {
        return Ok(());
    }
    let host = client.change_host(&host.id, answer.tag.as_deref(), &change).await?;
    let table = || format!("host/{} is changed", safe(&host.name));
    output::value(args.output.format, &host, table, || vec![host.name.clone()])
}

/// What the flags mean for a host as it is.
fn change(args: &HostsSet, host: &Host) -> Result<ChangeHost, Failure> {
    let labels = match args.labels.is_empty() {
        true => None,
        false => {
            let change = labels::change(&args.labels)?;
            let mut labels = host.labels.clone();
            labels.extend(change.set);
            labels.retain(|key, _| !change.remove.contains(key));
            Some(labels)
        }
    };
    let has_paths = !args.allow_path.is_empty() || !args.forbid_path.is_empty();
    let allowed_paths = has_paths.then(|| {
        let mut paths = host.allowed_paths.clone();
        paths.extend(args.allow_path.iter().filter(|path| !host.allowed_paths.contains(path)).cloned());
        paths.retain(|path| !args.forbid_path.contains(path));
        paths
    });
    let mode = match (args.cordon, args.uncordon) {
        (true, _) => Some("cordoned".to_owned()),
        (_, true) => Some("normal".to_owned()),
        _ => None,
    };
    Ok(ChangeHost { name: args.name.clone(), labels, mode, allowed_paths, adopting: args.adopting })
}

async fn rm(args: &HostsRm, global: &Global) -> Result<(), Failure> {
    let client = client(&args.connection, global)?;
    let host = client.host(&args.host).await?.value;
    let count = counted(usize::try_from(host.replicas).unwrap_or(usize::MAX), "replica", "replicas");
    if host.replicas > 0 && !args.force {
        let name = safe(&host.name);
        let verb = if host.replicas == 1 { "is" } else { "are" };
        let text = format!("{count} {verb} meant to run on {name}: it cannot be removed");
        return Err(Failure::new(Kind::Conflict, text).hint(format!(
            "See them with muster ps; remove their services, or deploy them elsewhere after muster hosts set {name} \
             --cordon. If {name} does not come back: muster hosts rm {name} --force"
        )));
    }
    let lost = match args.force {
        true => format!(
            " Its {count} go on elsewhere where they can; volumes that are there are taken as lost and begin empty elsewhere."
        ),
        false => String::new(),
    };
    let plan = format!(
        "Remove host {} ({}): its token is worth nothing any more, and containers that are there are left alone.{lost}",
        safe(&host.name),
        state(&host)
    );
    if agree(args.consent, &plan)? {
        client.remove_host(&host.id, args.force).await?;
        output::line(&format!("host/{} is removed", safe(&host.name)))?;
    }
    Ok(())
}

async fn log(args: &HostsLog, global: &Global) -> Result<(), Failure> {
    let log = client(&args.connection, global)?.host_log(&args.host, Some(args.tail)).await?;
    let table = || {
        if log.items.is_empty() {
            return "This host has said nothing.".to_owned();
        }
        let line = |line: &api::hosts::HostLogLine| {
            format!("{}  {:<6}  {:<7}  {}", line.at, safe(&line.level), safe(&line.source), safe(&line.text))
        };
        log.items.iter().map(line).collect::<Vec<_>>().join("\n")
    };
    output::value(args.output.format, &log, table, || log.items.iter().map(|line| safe(&line.text)).collect())
}

async fn tokens(args: &HostTokensList, global: &Global) -> Result<(), Failure> {
    let tokens = client(&args.connection, global)?.join_tokens().await?;
    let table = || {
        if tokens.items.is_empty() {
            return "There is no join token. Make one: muster hosts add".to_owned();
        }
        let head = ["id", "state", "for", "by", "expires", "joined"];
        output::table(&head, tokens.items.iter().map(token_row))
    };
    output::value(args.output.format, &tokens, table, || {
        tokens.items.iter().map(|token| token.id.clone()).collect()
    })
}

fn token_row(token: &JoinToken) -> Vec<String> {
    let meant = match (&token.for_host, token.host_name.as_str()) {
        (Some(host), _) => format!("in place of {}", safe(host)),
        (None, name) => or_dash(Some(name)),
    };
    vec![
        token.id.clone(),
        token.state.clone(),
        meant,
        safe(&token.created_by),
        token.expires_at.clone(),
        or_dash(token.used_by.as_deref()),
    ]
}

async fn revoke(args: &HostTokensRevoke, global: &Global) -> Result<(), Failure> {
    let client = client(&args.connection, global)?;
    let tokens = client.join_tokens().await?;
    let token = tokens.items.iter().find(|token| token.id == args.id);
    let token = token.ok_or_else(|| {
        Failure::new(Kind::NotFound, format!("there is no join token {}", safe(&args.id)))
            .hint("muster hosts tokens list shows which there are.")
    })?;
    if !args.yes {
        let id = &token.id;
        confirm(&format!(
            "Revoke join token {id}, which is {}: no machine can join with it any more.",
            token.state
        ))?;
    }
    client.revoke_join_token(&args.id).await?;
    output::line(&format!("Join token {} is revoked.", safe(&args.id)))
}
