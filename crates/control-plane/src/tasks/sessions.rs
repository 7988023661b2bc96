//! Removes sessions of people that have ended, and kept answers that are too old.

use std::time::Duration;

use store::Store;

use crate::clock;
use crate::http::ANSWERS_KEPT;

const PERIOD: Duration = Duration::from_secs(600);

pub(super) async fn run(store: Store) {
    let mut clock = super::every(PERIOD);
    loop {
        clock.tick().await;
        let now = clock::now();
        let swept = match store.sweep_sessions(now).await {
            Ok(_) => store.sweep_answers(now.before(ANSWERS_KEPT)).await,
            Err(error) => Err(error),
        };
        if let Err(error) = swept {
            tracing::warn!(error = &error as &dyn std::error::Error, "ended sessions could not be removed");
        }
    }
}
