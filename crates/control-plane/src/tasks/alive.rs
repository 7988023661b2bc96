//! Notes each minute that this server is alive, so that agents which a crash cuts off read as disconnected since
//! then; and writes when tokens were used last.

use std::time::Duration;

use super::Tasks;
use crate::clock;

const PERIOD: Duration = Duration::from_secs(60);

pub(super) async fn run(tasks: Tasks) {
    let mut clock = super::every(PERIOD);
    loop {
        clock.tick().await;
        let written = async {
            tasks.store.mark_alive(clock::now()).await?;
            tasks.store.touch_credentials(tasks.credentials.take_uses()).await
        };
        if let Err(error) = written.await {
            tracing::warn!(
                error = &error as &dyn std::error::Error,
                "the server could not note that it is alive"
            );
        }
    }
}
