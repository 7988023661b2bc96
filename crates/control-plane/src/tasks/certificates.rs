//! Renews the server's certificate before it ends, or reads it again when its files change.

use std::sync::Arc;
use std::time::Duration;

use time::OffsetDateTime;

use crate::ca::CertificateSource;

/// A look at two files costs nothing.
const PERIOD: Duration = Duration::from_secs(60);

pub(super) async fn run(certificates: Arc<CertificateSource>) {
    let mut clock = super::every(PERIOD);
    loop {
        clock.tick().await;
        match certificates.refresh(OffsetDateTime::now_utc()) {
            Ok(true) => tracing::info!("the server has a new certificate"),
            Ok(false) => {}
            Err(error) => {
                let error: &(dyn std::error::Error + 'static) = &*error;
                tracing::error!(error, "the server's certificate could not be renewed, the old one stays");
            }
        }
    }
}
