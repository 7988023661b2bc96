//! Every step of a test has a deadline, so that a test that waits in vain fails with a sentence instead of hanging.
//! A test waits for a state, never for a moment: where nothing tells of the state, it looks again and again.

use std::future::Future;
use std::time::Duration;

/// How long any step may take, even on a busy machine.
pub const DEADLINE: Duration = Duration::from_secs(20);

/// Between two looks.
const PAUSE: Duration = Duration::from_millis(5);

/// Waits for a step.
///
/// # Panics
/// With `what` when it does not come within [`DEADLINE`].
pub async fn soon<T>(what: &str, step: impl Future<Output = T>) -> T {
    within(DEADLINE, what, step).await
}

/// Looks until a condition holds.
///
/// # Panics
/// With `what` when it does not hold within [`DEADLINE`].
pub async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    found(what, async || holds().then_some(())).await;
}

/// Looks until a condition holds that is asked for.
///
/// # Panics
/// With `what` when it does not hold within [`DEADLINE`].
pub async fn until_async(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    found(what, async || holds().await.then_some(())).await;
}

/// Looks until there is something to be found, and gives it.
///
/// # Panics
/// With `what` when it is not there within [`DEADLINE`].
pub async fn found<T>(what: &str, look: impl AsyncFnMut() -> Option<T>) -> T {
    within(DEADLINE, what, look_for(look)).await
}

/// Looks until there is something to be found; without an end, so put it into [`within`].
pub async fn look_for<T>(mut look: impl AsyncFnMut() -> Option<T>) -> T {
    loop {
        if let Some(found) = look().await {
            return found;
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// Waits for a step that may take longer than others.
///
/// # Panics
/// With `what` when it does not come in time.
pub async fn within<T>(limit: Duration, what: &str, step: impl Future<Output = T>) -> T {
    // On the heap: what a test waits for may be a whole agent, too large to be copied from frame to frame.
    match tokio::time::timeout(limit, Box::pin(step)).await {
        Ok(value) => value,
        Err(_) => panic!("waited {limit:?} in vain for {what}"),
    }
}
