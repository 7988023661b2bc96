//! Every step of a script has a deadline, so that a test that waits in vain fails with a sentence instead of
//! hanging.

use std::future::Future;
use std::time::Duration;

/// How long any step of a script may take, even on a busy machine.
pub const DEADLINE: Duration = Duration::from_secs(20);

/// Waits for a step, and fails the test with `what` when it does not come.
pub async fn soon<T>(what: &str, step: impl Future<Output = T>) -> T {
    match tokio::time::timeout(DEADLINE, step).await {
        Ok(value) => value,
        Err(_) => panic!("waited in vain: {what}"),
    }
}
