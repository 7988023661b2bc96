//! What runs on a clock, one job in each module. Each ends when the server stops.

mod alive;
mod certificates;
mod expiry;
mod hints;
mod sessions;
mod silence;

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use opamp_server::Server;
use store::Store;
use tokio::sync::watch;

use crate::ca::CertificateSource;
use crate::configs::{Configs, Rollouts};
use crate::events::Hub;
use crate::opamp::{Census, Credentials, Endpoint};

/// Resolves when the server stops. The guard that `wait_for` gives must not live over an await.
pub(crate) async fn stopped(stopping: &mut watch::Receiver<bool>) {
    let _ = stopping.wait_for(|stop| *stop).await;
}

/// What the jobs work with.
#[derive(Debug, Clone)]
pub(crate) struct Tasks {
    pub(crate) store: Store,
    pub(crate) server: Server<Endpoint>,
    pub(crate) credentials: Arc<Credentials>,
    pub(crate) certificates: Option<Arc<CertificateSource>>,
    pub(crate) census: Arc<Census>,
    pub(crate) hub: Arc<Hub>,
    pub(crate) configs: Arc<Configs>,
    pub(crate) agent_expiry: Option<Duration>,
    pub(crate) rollout_patience: Option<Duration>,
}

impl Tasks {
    /// Starts all jobs.
    pub(crate) fn start(&self, shutdown: &watch::Receiver<bool>) {
        tokio::spawn(until(shutdown.clone(), hints::run(self.hub.clone())));
        tokio::spawn(until(shutdown.clone(), silence::run(self.server.clone())));
        tokio::spawn(until(shutdown.clone(), alive::run(self.clone())));
        tokio::spawn(until(shutdown.clone(), sessions::run(self.store.clone())));
        if let Some(certificates) = self.certificates.clone() {
            tokio::spawn(until(shutdown.clone(), certificates::run(certificates)));
        }
        tokio::spawn(until(shutdown.clone(), expiry::run(self.clone())));
        let rollouts = Rollouts::new(
            self.configs.clone(),
            self.server.clone(),
            self.store.clone(),
            self.hub.clone(),
            self.rollout_patience,
        );
        tokio::spawn(until(shutdown.clone(), rollouts.run()));
    }
}

/// Runs a job until the server stops.
async fn until(mut shutdown: watch::Receiver<bool>, job: impl Future<Output = ()>) {
    tokio::select! {
        () = job => {}
        () = stopped(&mut shutdown) => {}
    }
}

/// A clock for a job. Turns that were missed are not made up for.
fn every(period: Duration) -> tokio::time::Interval {
    let mut interval = tokio::time::interval(period);
    interval.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    interval
}
