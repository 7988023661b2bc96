//! Forgets agents that have been gone for long, and texts that nobody refers to any more.

use std::time::Duration;

use store::StoreError;

use super::Tasks;
use crate::clock;

const PERIOD: Duration = Duration::from_secs(600);
/// In one transaction, so that agents that report meanwhile do not wait.
const AT_ONCE: u32 = 500;

pub(super) async fn run(tasks: Tasks) {
    let mut clock = super::every(PERIOD);
    loop {
        clock.tick().await;
        if let Err(error) = turn(&tasks).await {
            tracing::warn!(error = &error as &dyn std::error::Error, "old agents could not be removed");
        }
    }
}

async fn turn(tasks: &Tasks) -> Result<(), StoreError> {
    if let Some(expiry) = tasks.agent_expiry {
        loop {
            let gone = tasks.store.expire_agents(clock::now().before(expiry), AT_ONCE).await?;
            if gone.is_empty() {
                break;
            }
            tracing::info!(
                agents = gone.len(),
                "{} agents were gone for too long and are forgotten",
                gone.len()
            );
            tasks.census.leave(gone.len() as u64);
            tasks.configs.forget_labels(&gone).await;
            tasks.hub.changed(gone);
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
    while tasks.store.sweep_blobs(AT_ONCE).await? > 0 {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    Ok(())
}
