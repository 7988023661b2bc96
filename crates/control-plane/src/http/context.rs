//! What the handlers work with: made once when the server begins to serve.

use std::sync::Arc;
use std::time::Instant;

use opamp_server::Server;
use store::Store;
use tokio::sync::watch;

use super::client_address::TrustedProxies;
use super::health::Readiness;
use super::streams::Streams;
use crate::auth::{LoginThrottle, Passwords};
use crate::ca::CertificateSource;
use crate::configs::Configs;
use crate::events::Hub;
use crate::fleet::Fleet;
use crate::hosts::install::Agents;
use crate::opamp::{Credentials, Endpoint};
use crate::secrets::Sealer;
use crate::services::Services;

/// Shared by all handlers; clones are cheap.
#[derive(Debug, Clone)]
pub(crate) struct Context(Arc<Inner>);

/// What a context holds.
#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) store: Store,
    pub(crate) fleet: Fleet,
    pub(crate) server: Server<Endpoint>,
    pub(crate) credentials: Arc<Credentials>,
    pub(crate) sealer: Sealer,
    pub(crate) hub: Arc<Hub>,
    pub(crate) configs: Arc<Configs>,
    pub(crate) services: Arc<Services>,
    pub(crate) agents: Arc<Agents>,
    pub(crate) passwords: Passwords,
    pub(crate) throttle: LoginThrottle,
    pub(crate) proxies: TrustedProxies,
    pub(crate) streams: Arc<Streams>,
    pub(crate) readiness: Readiness,
    pub(crate) public_metrics: bool,
    pub(crate) certificates: Option<Arc<CertificateSource>>,
    pub(crate) started: Instant,
    /// Rises whenever someone may do less than before: streams then look at their caller again.
    pub(crate) less_access: watch::Sender<u64>,
    /// Turns true when the server stops: streams end then.
    pub(crate) stopping: watch::Receiver<bool>,
    pub(crate) about: About,
}

/// What the server says of itself.
#[derive(Debug, Clone)]
pub(crate) struct About {
    pub(crate) version: String,
    /// When the data was restored from a back-up, RFC 3339.
    pub(crate) restored_at: Option<String>,
    pub(crate) ca_fingerprint: Option<String>,
    /// The certificate of our own authority.
    pub(crate) authority_pem: Option<String>,
    pub(crate) opamp_endpoint: String,
    pub(crate) public_url: String,
    /// Whether the console is reached over TLS: cookies are then `Secure`.
    pub(crate) secure: bool,
}

impl Context {
    pub(crate) fn new(inner: Inner) -> Self {
        Self(Arc::new(inner))
    }

    /// Tells streams that someone may do less than before.
    pub(crate) fn access_was_taken(&self) {
        self.less_access.send_modify(|count| *count += 1);
    }
}

impl std::ops::Deref for Context {
    type Target = Inner;

    fn deref(&self) -> &Inner {
        &self.0
    }
}
