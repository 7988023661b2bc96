//! /api/v1/events: hints of what changed, as server-sent events. A stream ends with the session or the API token
//! that opened it.

use std::convert::Infallible;
use std::time::Duration;

use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::sse::{Event, Sse};
use axum::response::{IntoResponse, Response};
use serde_json::json;
use tokio::sync::watch;

use super::caller::Caller;
use super::context::Context;
use super::problem::ApiError;
use super::streams::Stream;
use crate::auth::{Access, Presented};
use crate::clock;
use crate::events::{EventId, Next};
use crate::tasks::stopped;

/// A comment is sent when nothing else was for so long, so that both ends notice a dead connection; the session is
/// looked at as often.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// Follows changes as server-sent events: hints of what to read again.
#[utoipa::path(get, path = "/events", operation_id = "follow_events", tag = "server",
    params(("last-event-id" = Option<String>, Header, description = "The last event that was received.")),
    responses((status = OK, description = "A stream that ends with the session.",
        content_type = "text/event-stream", body = String)))]
pub(super) async fn follow(
    State(context): State<Context>,
    caller: Caller,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let permit = context.streams.open(caller.user_name())?;
    let (newest, now) = context.hub.listen();
    let last = headers.get("last-event-id").and_then(|id| id.to_str().ok());
    let after = match last {
        None => now,
        // An id that is none of ours stands for a past that we do not know.
        Some(text) => text.parse().unwrap_or(EventId { epoch: 0, seq: 0 }),
    };
    let (stopping, less_access) = (context.stopping.clone(), context.less_access.subscribe());
    let presented = caller.presented().clone();
    let follower =
        Follower { context, newest, stopping, less_access, after, presented, is_new: true, _permit: permit };
    let mut response = Sse::new(events(follower)).into_response();
    // Proxies that buffer would turn a live stream into a late one.
    response.headers_mut().insert("x-accel-buffering", HeaderValue::from_static("no"));
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(response)
}

struct Follower {
    context: Context,
    newest: watch::Receiver<u64>,
    stopping: watch::Receiver<bool>,
    less_access: watch::Receiver<u64>,
    after: EventId,
    presented: Presented,
    is_new: bool,
    _permit: Stream,
}

fn events(follower: Follower) -> impl futures_util::Stream<Item = Result<Event, Infallible>> {
    futures_util::stream::unfold(follower, |mut follower| async move {
        let event = follower.next().await?;
        Some((Ok(event), follower))
    })
}

impl Follower {
    /// The next event; `None` ends the stream.
    async fn next(&mut self) -> Option<Event> {
        if std::mem::take(&mut self.is_new) {
            // At once, so that the client knows that it is connected and where it stands.
            return Some(Event::default().comment("hello").retry(Duration::from_secs(2)));
        }
        loop {
            self.newest.borrow_and_update();
            if let Some(next) = self.context.hub.next(self.after) {
                return Some(self.tell(next));
            }
            tokio::select! {
                changed = self.newest.changed() => changed.ok()?,
                () = stopped(&mut self.stopping) => return None,
                _ = self.less_access.changed() => self.is_still_open().await.then_some(())?,
                () = tokio::time::sleep(KEEP_ALIVE) => {
                    return self.is_still_open().await.then(|| Event::default().comment("keep-alive"));
                }
            }
        }
    }

    /// Whether what the client showed still opens anything. A login that was reset at the machine, by another
    /// process, is noticed with the next sign of life.
    async fn is_still_open(&self) -> bool {
        let access = Access::of(&self.context.store, &self.presented, clock::now()).await;
        access.is_ok_and(|access| access.is_some())
    }

    fn tell(&mut self, next: Next) -> Event {
        match next {
            Next::Agents(id, uids) => {
                self.after = id;
                let uids: Vec<String> = uids.iter().map(ToString::to_string).collect();
                Event::default().event("agents").id(id.to_string()).data(json!({ "uids": uids }).to_string())
            }
            Next::Assignments(id, ids) => {
                self.after = id;
                let ids: Vec<String> = ids.iter().map(ToString::to_string).collect();
                Event::default()
                    .event("assignments")
                    .id(id.to_string())
                    .data(json!({ "ids": ids }).to_string())
            }
            Next::Named(id, noun, names) => {
                self.after = id;
                Event::default()
                    .event(noun.as_str())
                    .id(id.to_string())
                    .data(json!({ "names": *names }).to_string())
            }
            Next::Reset(id) => {
                self.after = id;
                Event::default().event("reset").id(id.to_string()).data("{}")
            }
        }
    }
}
