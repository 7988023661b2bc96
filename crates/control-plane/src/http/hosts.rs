//! /api/v1/hosts and /api/v1/join-tokens.

use std::time::Duration;

use api::hosts::{
    ChangeHost, CreatedJoinToken, Host as HostJson, HostList, HostLog, HostLogLine, JoinToken as TokenJson,
    JoinTokenList, NewJoinToken,
};
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use host_proto::id::HostId;
use host_proto::message::{DockerFacts, LeftVolume};
use model::hosting::{Host, HostMode, JoinToken, JoinTokenId, Phase, ProjectWorld, Replica};
use model::{LabelChange, Role, TokenHash, UnixMillis};
use scheduler::Presence;
use store::{HostChange, HostRemoved, Unless};

use super::caller::Caller;
use super::context::Context;
use super::problem::ApiError;
use super::request::{Body, Parameters, PathPart};
use super::service_json::HostSeen;
use super::version::{IfMatch, Tagged};
use crate::clock::{self, rfc3339};
use crate::hosts::{Look, OFFLINE_AFTER};

/// A join token lives so long unless somebody says otherwise (JOIN-9).
const LIFE: Duration = Duration::from_secs(60 * 60);
/// And so long at most.
const MAX_LIFE: u64 = 7 * DAY;
/// In seconds.
const DAY: u64 = 24 * 60 * 60;
/// So many items of a host that are not as they should be are told one by one.
const ITEMS_TOLD: usize = 100;
/// A clock that is off by more is a problem (R9).
const SKEW_MS: i64 = 5_000;
/// A disk with less room than this share of it is a problem…
const DISK_FREE_PERCENT: u64 = 10;
/// …if there is less than this in bytes too: a tenth of a large disk is plenty.
const DISK_FREE_BYTES: u64 = 5 << 30;

/// Lists hosts.
#[utoipa::path(get, path = "/hosts", operation_id = "list_hosts", tag = "hosts",
    responses((status = OK, description = "Every host, by name.", body = HostList)))]
pub(super) async fn list(State(context): State<Context>, _: Caller) -> Result<Json<HostList>, ApiError> {
    let mut items = Vec::new();
    for host in context.store.hosts().await? {
        items.push(told(&context, host).await?);
    }
    Ok(Json(HostList { items }))
}

/// Shows a host.
#[utoipa::path(get, path = "/hosts/{host}", operation_id = "show_host", tag = "hosts",
    params(("host" = String, Path, description = "The host's name or id.")),
    responses((status = OK, description = "The host.", body = HostJson)))]
pub(super) async fn show(
    State(context): State<Context>,
    _: Caller,
    PathPart(name): PathPart,
) -> Result<Response, ApiError> {
    let host = find(&context, &name).await?;
    let version = host.version;
    Ok(Tagged(version, Json(told(&context, host).await?)).into_response())
}

/// Changes what operators say about a host. For operators; paths that containers may see are for administrators.
#[utoipa::path(patch, path = "/hosts/{host}", operation_id = "change_host", tag = "hosts", request_body = ChangeHost,
    params(("host" = String, Path, description = "The host's name or id.")),
    responses((status = OK, description = "The host as it is now.", body = HostJson)))]
pub(super) async fn change(
    State(context): State<Context>,
    caller: Caller,
    PathPart(name): PathPart,
    IfMatch(expected): IfMatch,
    Body(body): Body<ChangeHost>,
) -> Result<Response, ApiError> {
    caller.require(if body.allowed_paths.is_some() { Role::Admin } else { Role::Operator })?;
    let host = find(&context, &name).await?;
    let change = checked(body)?;
    let entry = caller.entry("host.change", format!("host/{}", host.name));
    let host = context.store.change_host(host.id, change, expected, entry).await?;
    context.services.live.state_changed(&host.id);
    context.services.place_again();
    context.hub.hosts_changed([host.id.to_string()]);
    Ok(Tagged(host.version, Json(told(&context, host).await?)).into_response())
}

fn checked(body: ChangeHost) -> Result<HostChange, ApiError> {
    let ChangeHost { name, labels, mode, allowed_paths, adopting } = body;
    let field = |name: &str, text: String| ApiError::unprocessable(Some(name.to_owned()), text);
    if name.as_ref().is_some_and(|name| *name != super::host_door::host_name(name)) {
        let text = "a host's name has small letters, digits, - and . inside, and at most 63 characters";
        return Err(field("name", text.to_owned()));
    }
    if let Some(labels) = &labels {
        LabelChange::replacing(labels.clone()).map_err(|error| field("labels", error.to_string()))?;
    }
    let mode = match mode {
        Some(word) => Some(
            HostMode::of(&word)
                .ok_or_else(|| field("mode", format!("mode is {word:?}, it must be normal or cordoned")))?,
        ),
        None => None,
    };
    if let Some(path) = allowed_paths.iter().flatten().find(|path| !is_plain(path)) {
        let text = format!("{path:?} is no absolute path without .. and control characters");
        return Err(field("allowed_paths", text));
    }
    Ok(HostChange { name, labels, mode, allowed_paths, adopting })
}

fn is_plain(path: &str) -> bool {
    path.starts_with('/')
        && path.len() <= 4096
        && !path.split('/').any(|part| part == "..")
        && !path.chars().any(char::is_control)
}

/// Removes a host on which nothing is meant to run any more. Its containers are left alone. For operators; with `force=true`
/// for administrators, since volumes that are there begin empty elsewhere.
#[utoipa::path(delete, path = "/hosts/{host}", operation_id = "remove_host", tag = "hosts",
    params(("host" = String, Path, description = "The host's name or id."),
        ("force" = Option<bool>, Query, description = "Also when services or volumes are meant to be there: they are \
            taken as lost, and services go on elsewhere.")),
    responses((status = NO_CONTENT, description = "It is no host any more; its token is worth nothing.")))]
pub(super) async fn remove(
    State(context): State<Context>,
    caller: Caller,
    PathPart(name): PathPart,
    parameters: Parameters,
) -> Result<StatusCode, ApiError> {
    let force = parameters.only(&["force"])?.parse("force", "true or false", |text| text.parse().ok())?;
    let force: bool = force.unwrap_or(false);
    caller.require(if force { Role::Admin } else { Role::Operator })?;
    let host = find(&context, &name).await?;
    let live = &context.services.live;
    let is_gone = live.presence(&host.id) == Presence::Gone;
    let unless = match (force, is_gone) {
        (true, _) => Unless::Never,
        (false, true) => Unless::Meant,
        (false, false) => Unless::Used,
    };
    let entry = caller.entry("host.remove", format!("host/{}", host.name));
    match context.store.remove_host(host.id.clone(), unless, entry).await? {
        HostRemoved::Removed(host, projects) => {
            live.forget(&host.id, &format!("removed by {}", caller.name()));
            context.hub.hosts_changed([host.id.to_string()]);
            projects.into_iter().for_each(|project| context.services.look_at(project));
            Ok(StatusCode::NO_CONTENT)
        }
        HostRemoved::InUse(users) => {
            let (name, users) = (&host.name, users.join(", "));
            Err(ApiError::conflict(format!(
                "{name} still has {users}: remove these first, or, if it does not come back, take them as lost: \
                 muster hosts rm {name} --force"
            )))
        }
    }
}

/// Shows the last lines of a host's own log: errors and steps of deployments, also of one that is away.
#[utoipa::path(get, path = "/hosts/{host}/log", operation_id = "show_host_log", tag = "hosts",
    params(("host" = String, Path, description = "The host's name or id."),
        ("limit" = Option<u32>, Query, description = "At most so many lines, 1 to 500.")),
    responses((status = OK, description = "The last lines.", body = HostLog)))]
pub(super) async fn log(
    State(context): State<Context>,
    _: Caller,
    PathPart(name): PathPart,
    parameters: Parameters,
) -> Result<Json<HostLog>, ApiError> {
    let limit = parameters.only(&["limit"])?.limit()?;
    let host = find(&context, &name).await?;
    let lines = context.store.host_log(host.id, limit).await?;
    let items = lines.into_iter().map(|line| HostLogLine {
        at: clock::rfc3339_micros(line.ts_us),
        level: word(&line.level),
        source: word(&line.source),
        text: line.text,
    });
    Ok(Json(HostLog { items: items.collect() }))
}

/// A word of the protocol, as it is written.
pub(super) fn word<T: serde::Serialize>(value: &T) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(word)) => word,
        _ => String::new(),
    }
}

/// Lists join tokens.
#[utoipa::path(get, path = "/join-tokens", operation_id = "list_join_tokens", tag = "hosts",
    responses((status = OK, description = "The newest first, at most 500.", body = JoinTokenList)))]
pub(super) async fn tokens(
    State(context): State<Context>,
    _: Caller,
) -> Result<Json<JoinTokenList>, ApiError> {
    let now = clock::now();
    let mut items = Vec::new();
    for token in context.store.join_tokens(500).await? {
        items.push(told_token(&context, token, now).await?);
    }
    Ok(Json(JoinTokenList { items }))
}

/// Makes a join token, and the command that joins a machine with it. For operators.
#[utoipa::path(post, path = "/join-tokens", operation_id = "create_join_token", tag = "hosts",
    request_body = NewJoinToken,
    responses((status = CREATED, description = "The token and the command, shown only now.",
        body = CreatedJoinToken)))]
pub(super) async fn create_token(
    State(context): State<Context>,
    caller: Caller,
    Body(new): Body<NewJoinToken>,
) -> Result<(StatusCode, Json<CreatedJoinToken>), ApiError> {
    caller.require(Role::Operator)?;
    let NewJoinToken { host_name, expires_in_seconds, for_host } = new;
    let field = |name: &str, text: String| ApiError::unprocessable(Some(name.to_owned()), text);
    if expires_in_seconds.is_some_and(|seconds| !(1..=MAX_LIFE).contains(&seconds)) {
        let text =
            format!("a join token lives for a second at least, and for {} days at most", MAX_LIFE / DAY);
        return Err(field("expires_in_seconds", text));
    }
    let name = host_name.unwrap_or_default();
    if !name.is_empty() && name != super::host_door::host_name(&name) {
        let text = "a host's name has small letters, digits, - and . inside, and at most 63 characters";
        return Err(field("host_name", text.to_owned()));
    }
    if !name.is_empty() && context.store.host(name.clone()).await?.is_some() {
        let text = format!("there is a host {name} already: choose another name, or replace that host");
        return Err(ApiError::conflict(text));
    }
    let for_host = match for_host {
        Some(name) => Some(find(&context, &name).await?.id),
        None => None,
    };
    let random = crate::random::bytes::<32>().map_err(|error| ApiError::internal(&error))?;
    let text = format!("mst_join_{}", hex::encode(random));
    let created_at = clock::now();
    let life = expires_in_seconds.map_or(LIFE, Duration::from_secs);
    let new = store::NewJoinToken {
        sha256: TokenHash::of(&text),
        host_name: name,
        for_host,
        created_by: caller.name(),
        created_at,
        expires_at: created_at.after(life),
    };
    let token = context.store.create_join_token(new, caller.entry("join-token.create", "join-token")).await?;
    let (agents, about) = (context.agents.clone(), context.about.clone());
    let for_command = text.clone();
    let command = tokio::task::spawn_blocking(move || {
        agents.command(&about.public_url, about.authority_pem.as_deref(), &for_command)
    });
    let command = command.await.map_err(|error| ApiError::internal(&error))?;
    let item = told_token(&context, token, created_at).await?;
    Ok((StatusCode::CREATED, Json(CreatedJoinToken { item, token: text, command })))
}

/// Takes a join token back. A host that joined with it stays. For operators.
#[utoipa::path(delete, path = "/join-tokens/{id}", operation_id = "revoke_join_token", tag = "hosts",
    params(("id" = String, Path, description = "The token's id.")),
    responses((status = NO_CONTENT, description = "It is worth nothing any more.")))]
pub(super) async fn revoke_token(
    State(context): State<Context>,
    caller: Caller,
    PathPart(id): PathPart,
) -> Result<StatusCode, ApiError> {
    caller.require(Role::Operator)?;
    let number: i64 =
        id.parse().map_err(|_| ApiError::parameter("id", "the id of a join token is a number"))?;
    let entry = caller.entry("join-token.revoke", format!("join-token/{number}"));
    let revoked = context.store.revoke_join_token(JoinTokenId(number), clock::now(), entry).await?;
    match revoked {
        Some(_) => Ok(StatusCode::NO_CONTENT),
        None => Err(ApiError::not_found(format!("there is no join token {number}"))),
    }
}

pub(super) async fn find(context: &Context, name: &str) -> Result<Host, ApiError> {
    let host = context.store.host(name).await?;
    host.ok_or_else(|| ApiError::not_found(format!("there is no host {name}")))
}

async fn told_token(context: &Context, token: JoinToken, now: UnixMillis) -> Result<TokenJson, ApiError> {
    let state = token.state(now).as_str().to_owned();
    let name = async |id: &host_proto::id::HostId| -> Result<String, ApiError> {
        let host = context.store.host(id.as_str()).await?;
        Ok(host.map_or_else(|| id.to_string(), |host| host.name))
    };
    let for_host = match &token.for_host {
        Some(id) => Some(name(id).await?),
        None => None,
    };
    let used_by = match &token.used {
        Some((_, id)) => Some(name(id).await?),
        None => None,
    };
    Ok(TokenJson {
        id: token.id.0.to_string(),
        state,
        host_name: token.host_name,
        for_host,
        created_by: token.created_by,
        created_at: rfc3339(token.created_at),
        expires_at: rfc3339(token.expires_at),
        used_at: token.used.as_ref().map(|(at, _)| rfc3339(*at)),
        used_by,
    })
}

async fn told(context: &Context, host: Host) -> Result<HostJson, ApiError> {
    let look = context.services.live.look(&host.id);
    let mut replicas = Vec::new();
    let left = context.services.left_volumes(std::iter::once(&host.id)).await?.remove(&host.id);
    let left = left.unwrap_or_default();
    let mut volumes: Vec<String> = left_unknown(&left).into_iter().collect();
    for rows in context.store.projects_on(host.id.clone()).await? {
        volumes.extend(left_beside(&rows, &host.id, &left));
        replicas.extend(rows.replicas.into_iter().filter(|it| it.host_id == host.id));
    }
    let meant = replicas.iter().filter(|it| it.stays()).count();
    // Of a host that is away, or whose engine is, nobody knows what works.
    let is_known = HostSeen::new(&context.services.live, &host.id, host.name.clone()).is_known();
    let works = |it: &&Replica| is_known && it.phase == Phase::Serving && it.is_ready();
    let ready = replicas.iter().filter(works).count();
    let disk = host.facts.disk.iter().max_by_key(|disk| disk.total_bytes);
    let engine = engine(&host, &look).map(|it| it.version.clone());
    let since = look.connected_at.or(host.last_seen).map(rfc3339);
    Ok(HostJson {
        state: state(&host, &look).to_owned(),
        since,
        mode: host.mode.as_str().to_owned(),
        adopting: host.adopting,
        mesh_ip: host.mesh_ip.to_string(),
        address: look.address.map(|ip| ip.to_string()),
        os: host.facts.os_release.clone(),
        kernel: host.facts.kernel.clone(),
        arch: host.facts.arch.clone(),
        cpus: host.facts.cpu_count,
        memory_bytes: host.facts.memory_bytes,
        memory_available_bytes: look
            .metrics
            .as_ref()
            .map(|it| it.host.mem_available_bytes.min(host.facts.memory_bytes)),
        cpu_used: look.cpu_used,
        disk_total_bytes: disk.map_or(0, |it| it.total_bytes),
        disk_free_bytes: disk.map_or(0, |it| it.free_bytes),
        engine,
        replicas: small(meant),
        ready: small(ready),
        generation: look.generation,
        in_sync: look.in_sync,
        problems: problems(&host, &look, &replicas).into_iter().chain(volumes).collect(),
        clock_skew_ms: look.skew_ms,
        joined_at: rfc3339(host.joined_at),
        last_seen: look.heard_at.or(host.last_seen).map(rfc3339),
        version: host.version,
        id: host.id.to_string(),
        name: host.name,
        labels: host.labels,
        allowed_paths: host.allowed_paths,
        agent_version: host.agent_version,
        machine_id: host.machine_id,
    })
}

/// Volumes that are there and that belong to nothing here.
fn left_unknown(left: &[LeftVolume]) -> Option<String> {
    let ours: Vec<&str> = left.iter().filter(|it| it.host_id.is_none()).map(|it| it.name.as_str()).collect();
    let (first, rest) = ours.split_first()?;
    let named = match rest.len() {
        0 => format!("the volume {first}"),
        1 => format!("the volumes {first} and {}", rest[0]),
        more => format!("the volume {first} and {more} more"),
    };
    Some(format!(
        "it has {named}, which this server does not know: a project that is deployed again takes its own over, docker volume rm \
         ends one that nobody needs"
    ))
}

/// Volumes of a project that lie beside one of the same name, which was made there for another host.
fn left_beside(rows: &ProjectWorld, host: &HostId, left: &[LeftVolume]) -> Vec<String> {
    let project = &rows.project.name;
    let here = rows.volumes.iter().filter(|it| it.host_id == *host && !it.doomed);
    let beside = here.filter_map(|it| {
        let other = scheduler::left::of_another(project, &it.spec.name, left)?;
        Some(format!(
            "the volume {} of {project} began empty beside {}, which was made there when the machine was another host: that one \
             may have the data",
            it.spec.name, other.name
        ))
    });
    beside.collect()
}

/// The word that people see for a host.
fn state(host: &Host, look: &Look) -> &'static str {
    match (look.connected_at.is_some() || look.online, host.last_seen) {
        (true, _) => "online",
        (false, None) => "joining",
        (false, Some(_)) => "offline",
    }
}

/// The engine of a host: what is known now, or was last when it is not connected.
fn engine<'a>(host: &'a Host, look: &'a Look) -> Option<&'a DockerFacts> {
    match look.connected_at {
        Some(_) => look.engine.as_ref(),
        None => host.facts.docker.as_ref(),
    }
}

/// What is wrong with a host, the worst first.
fn problems(host: &Host, look: &Look, replicas: &[Replica]) -> Vec<String> {
    let mut problems = look.alerts.clone();
    match (look.connected_at, host.last_seen) {
        (Some(_), _) => {}
        // It mostly comes back at once; it is called online until then.
        (None, Some(_)) if look.online => {
            problems.push("its connection ended less than a minute ago: its containers run on".to_owned());
        }
        (None, Some(_)) => {
            problems.push("it is not connected: its containers run on as they were".to_owned());
        }
        (None, None) if clock::now().since(host.joined_at) < OFFLINE_AFTER => {}
        (None, None) => {
            problems
                .push("it joined and has not connected since: does its agent run? See its log".to_owned());
        }
    }
    let has_connected = look.connected_at.is_some() || host.last_seen.is_some();
    if has_connected && engine(host, look).is_none() {
        problems.push("no container engine answers there: start it, or install Docker".to_owned());
    }
    if host.adopting {
        // What it runs is known when it has said so.
        let unknown = match (look.connected_at, look.unknown) {
            (None, _) => String::new(),
            (Some(_), 1) => " (1 container is unknown here)".to_owned(),
            (Some(_), count) => format!(" ({count} containers are unknown here)"),
        };
        problems.push(format!(
            "it removes nothing, as this server is older than what it runs{unknown}: muster hosts set {} --adopting=false \
             lets it remove them",
            host.name
        ));
    }
    if look.degraded {
        problems
            .push("its connection answers and its work does not go on: look at the agent's log".to_owned());
    }
    for item in look.items.iter().take(ITEMS_TOLD) {
        let why = item.error.as_deref().unwrap_or("it waits");
        problems.push(format!("{}: {why}", item.name));
    }
    if look.items.len() > ITEMS_TOLD {
        problems.push(format!("{} more like these", look.items.len() - ITEMS_TOLD));
    }
    if let Some(skew) = look.skew_ms.filter(|skew| skew.abs() > SKEW_MS) {
        let (seconds, way) = (skew.abs() / 1000, if skew > 0 { "ahead" } else { "behind" });
        problems.push(format!("its clock is {seconds} s {way}"));
    }
    let full = host.facts.disk.iter().filter(|it| it.total_bytes > 0);
    let little = |it: &&host_proto::message::Disk| {
        it.free_bytes.saturating_mul(100) / it.total_bytes < DISK_FREE_PERCENT
            && it.free_bytes < DISK_FREE_BYTES
    };
    for disk in full.filter(little) {
        #[expect(clippy::cast_precision_loss, reason = "one digit after the point is shown")]
        let gibibytes = disk.free_bytes as f64 / f64::from(1 << 30);
        problems.push(format!("only {gibibytes:.1} GiB of {} is free", disk.mount));
    }
    let ill = replicas.iter().filter(|it| it.phase == Phase::Serving && !it.is_ready()).count();
    match ill {
        0 => {}
        1 => problems.push("one of its replicas does not work".to_owned()),
        _ => problems.push(format!("{ill} of its replicas do not work")),
    }
    problems
}

fn small(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}
