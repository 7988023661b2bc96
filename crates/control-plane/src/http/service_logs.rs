//! Lines that the replicas of a service print: the last ones, or all that come.

use std::collections::BTreeMap;
use std::time::Duration;

use api::services::Logs;
use axum::Json;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use futures_util::StreamExt;
use futures_util::stream::{self, BoxStream};
use serde_json::json;

use super::caller::Caller;
use super::context::Context;
use super::problem::ApiError;
use super::request::{Parameters, PathParts};
use super::service_json;
use super::services::one;
use crate::auth::Access;
use crate::clock;
use crate::hosts::logs::{Followed, Following, Wanted, told};

/// A stream that says nothing for so long says that it is alive.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// Shows what the replicas of a service printed last, or follows it (`follow=true`), as lines of JSON.
#[utoipa::path(get, path = "/services/{project}/{service}/logs", operation_id = "show_logs", tag = "services",
    params(("project" = String, Path, description = "The project's name."),
        ("service" = String, Path, description = "The service's name."),
        ("replica" = Option<u32>, Query, description = "Only of the replica with this number."),
        ("limit" = Option<u32>, Query, description = "The last so many lines, 1 to 500; 100 when absent."),
        ("since" = Option<String>, Query, description = "Not before this moment, RFC 3339."),
        ("contains" = Option<String>, Query, description = "Only lines with this text."),
        ("follow" = Option<bool>, Query, description = "Go on with lines as they come.")),
    responses((status = OK, description = "The lines; with follow each is an object of its own (application/x-ndjson).",
        body = Logs)))]
pub(super) async fn show(
    State(context): State<Context>,
    caller: Caller,
    PathParts((project, name)): PathParts<(String, String)>,
    parameters: Parameters,
) -> Result<Response, ApiError> {
    let parameters = parameters.only(&["replica", "limit", "since", "contains", "follow"])?;
    let follow: bool =
        parameters.parse("follow", "true or false", |text| text.parse().ok())?.unwrap_or(false);
    let wanted = wanted(&context, &project, &name, &parameters).await?;
    if follow {
        return following(context, caller, wanted);
    }
    let found = context.services.query_logs(&wanted).await?;
    let hosts = service_json::hosts(&context).await?;
    let missing = found.silent.iter().map(|id| {
        let name = hosts.get(id).map_or_else(|| id.to_string(), |host| host.name.clone());
        format!("{name} is not connected: its lines are missing")
    });
    let items = found.lines.iter().map(|line| told(line, &wanted.names)).collect();
    Ok(Json(Logs { items, missing: missing.collect() }).into_response())
}

async fn wanted(
    context: &Context,
    project: &str,
    name: &str,
    parameters: &Parameters,
) -> Result<Wanted, ApiError> {
    let (world, service) = one(context, project, name).await?;
    let hosts = service_json::hosts(context).await?;
    let number: Option<u32> = parameters.parse("replica", "a number", |text| text.parse().ok())?;
    let since = parameters.parse("since", "a moment in RFC 3339", clock::parse)?;
    let mut wanted = Wanted {
        replicas: BTreeMap::new(),
        names: BTreeMap::new(),
        since_us: since.map(|at| u64::try_from(at.0).unwrap_or(0).saturating_mul(1000)),
        until_us: None,
        contains: parameters.get("contains").map(str::to_owned),
        limit: parameters.limit()?,
    };
    for replica in world.replicas_of(&service.id).filter(|it| number.is_none_or(|number| it.number == number))
    {
        let host = service_json::host_name(&hosts, &replica.host_id);
        wanted.names.insert(replica.id.to_string(), (format!("{name}-{}", replica.number), host));
        wanted.replicas.entry(replica.host_id.clone()).or_default().push(replica.id.clone());
    }
    Ok(wanted)
}

/// A stream of lines, each a JSON object. It ends with the session that opened it.
fn following(context: Context, caller: Caller, wanted: Wanted) -> Result<Response, ApiError> {
    let permit = context.streams.open(caller.user_name())?;
    let mut all: Vec<BoxStream<'static, Bytes>> = Vec::new();
    for (host, replicas) in &wanted.replicas {
        let live = context.services.live.clone();
        let begun = Following::begin(live, host.clone(), replicas.clone(), wanted.limit, &wanted)?;
        match begun {
            Some(following) => all.push(lines(following, wanted.names.clone()).boxed()),
            None => all.push(stream::once(std::future::ready(note("a host is not connected"))).boxed()),
        }
    }
    let lines = stream::select_all(all);
    let presented = caller.presented().clone();
    let stopping = context.stopping.clone();
    let state = (lines, context, presented, stopping, permit);
    let body = stream::unfold(state, |(mut lines, context, presented, mut stopping, permit)| async move {
        let chunk = tokio::select! {
            line = lines.next() => line?,
            () = crate::tasks::stopped(&mut stopping) => return None,
            () = tokio::time::sleep(KEEP_ALIVE) => {
                let access = Access::of(&context.store, &presented, clock::now()).await;
                if !access.is_ok_and(|access| access.is_some()) {
                    return None;
                }
                Bytes::from_static(b"\n")
            }
        };
        Some((Ok::<_, std::convert::Infallible>(chunk), (lines, context, presented, stopping, permit)))
    });
    let mut response = Response::new(Body::from_stream(body));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/x-ndjson"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    Ok(response)
}

fn lines(
    following: Following,
    names: BTreeMap<String, (String, String)>,
) -> impl futures_util::Stream<Item = Bytes> {
    stream::unfold((following, names, false), |(mut following, names, ended)| async move {
        if ended {
            return None;
        }
        match following.next().await {
            Followed::Lines(lines, dropped) => {
                let mut text = String::new();
                if dropped > 0 {
                    text.push_str(
                        &json!({ "note": format!("{dropped} lines were lost: they came too fast") })
                            .to_string(),
                    );
                    text.push('\n');
                }
                for line in &lines {
                    text.push_str(&serde_json::to_string(&told(line, &names)).unwrap_or_default());
                    text.push('\n');
                }
                Some((Bytes::from(text), (following, names, false)))
            }
            Followed::Ended => Some((note("no more lines come from a host"), (following, names, true))),
        }
    })
}

fn note(text: &str) -> Bytes {
    Bytes::from(format!("{}\n", json!({ "note": text })))
}
