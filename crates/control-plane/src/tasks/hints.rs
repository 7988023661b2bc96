//! Ends a collection of live hints every quarter of a second.

use std::sync::Arc;

use crate::events::{COALESCE, Hub};

pub(super) async fn run(hub: Arc<Hub>) {
    let mut clock = super::every(COALESCE);
    loop {
        clock.tick().await;
        hub.flush();
    }
}
