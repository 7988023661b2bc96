//! `/healthz` and `/readyz`, for whoever restarts the server or sends it traffic. Nobody logs in for them.

use std::time::{Duration, Instant};

use axum::extract::State;
use tokio::sync::Mutex;

use super::context::Context;
use super::problem::ApiError;
use crate::clock;

/// How long an answer holds, so that asking often costs nothing.
const HOLDS: Duration = Duration::from_secs(1);
/// With less room than this the next burst of reports may find none.
const MIN_ROOM: u64 = 16 * 1024 * 1024;
/// When to ask again.
const ASK_AGAIN: Duration = Duration::from_secs(5);

/// What was found last.
#[derive(Debug, Default)]
pub(crate) struct Readiness(Mutex<Option<(Instant, Result<(), String>)>>);

/// `GET /healthz`: the process lives.
pub(super) async fn healthz() -> &'static str {
    "ok\n"
}

/// `GET /readyz`: the process can do its work, which is to read and write the database.
pub(super) async fn readyz(State(context): State<Context>) -> Result<&'static str, ApiError> {
    let mut last = context.readiness.0.lock().await;
    let found = match &*last {
        Some((at, found)) if at.elapsed() < HOLDS => found.clone(),
        _ => look(&context).await,
    };
    if !matches!(&*last, Some((at, _)) if at.elapsed() < HOLDS) {
        *last = Some((Instant::now(), found.clone()));
    }
    found.map(|()| "ready\n").map_err(|why| ApiError::unavailable(why, ASK_AGAIN))
}

async fn look(context: &Context) -> Result<(), String> {
    let said = |error: store::StoreError| format!("the database does not work: {error}");
    context.store.setting("ready").await.map_err(said)?;
    if context.server.handler().outgoing.is_failing() {
        return Err("the database takes no writes".to_owned());
    }
    let room = context.store.free_space().await.map_err(said)?;
    if room < MIN_ROOM {
        return Err(format!(
            "the disk that holds the database is full: {} KiB are left, {} are needed",
            room / 1024,
            MIN_ROOM / 1024
        ));
    }
    // The mark that is made each minute in any case. While nothing changes, nothing else would show that writing fails.
    context.store.mark_alive(clock::now()).await.map_err(said)
}
