//! Removes sessions of people that have ended.

use std::time::Duration;

use store::Store;

use crate::clock;

const PERIOD: Duration = Duration::from_secs(600);

pub(super) async fn run(store: Store) {
    let mut clock = super::every(PERIOD);
    loop {
        clock.tick().await;
        if let Err(error) = store.sweep_sessions(clock::now()).await {
            tracing::warn!(error = &error as &dyn std::error::Error, "ended sessions could not be removed");
        }
    }
}
