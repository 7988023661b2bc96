//! The application's handle: every call says something and returns at once; the runner does the rest.

use bytes::Bytes;
use opamp_proto::agent::{ConfigOutcome, Input, Status};
use opamp_proto::{AgentCapabilities, InstanceUid, wire};
use tokio::sync::{mpsc, watch};

use crate::Builder;

/// A running client. Clones speak for the same agent; when the last one is dropped, the client says goodbye
/// to the server and ends in the background.
#[derive(Debug, Clone)]
pub struct Client {
    pub(crate) commands: mpsc::UnboundedSender<Input>,
    pub(crate) uid: watch::Receiver<InstanceUid>,
    pub(crate) running: watch::Receiver<()>,
}

impl Client {
    /// Begins to describe a client for the server at `url` (`ws`, `wss`, `http` or `https`).
    pub fn builder(url: impl Into<String>) -> Builder {
        Builder::new(url.into())
    }

    /// The agent's present instance_uid.
    pub fn instance_uid(&self) -> InstanceUid {
        *self.uid.borrow()
    }

    /// Who the agent is and where it runs.
    pub fn set_description(&self, description: wire::AgentDescription) {
        self.set(Status::Description(description));
    }

    /// How the agent is. Travels only with the capability ReportsHealth.
    pub fn set_health(&self, health: wire::ComponentHealth) {
        self.set(Status::Health(health));
    }

    /// What the agent runs on now. Travels only with the capability ReportsEffectiveConfig.
    pub fn set_effective_config(&self, config: wire::AgentConfigMap) {
        self.set(Status::EffectiveConfig(config));
    }

    /// Any part of the agent's status, as it is now. A value equal to the last one sends nothing.
    pub fn set(&self, status: Status) {
        self.command(Input::SetStatus(status));
    }

    /// What the agent can do from now on (CAP-4).
    pub fn set_capabilities(&self, capabilities: AgentCapabilities) {
        self.command(Input::SetCapabilities(capabilities));
    }

    /// The agent runs on the configuration of that [`crate::Event::RemoteConfig`].
    pub fn config_applied(&self, hash: Bytes) {
        self.command(Input::ConfigApplied { hash, outcome: ConfigOutcome::Applied });
    }

    /// The agent could not use the configuration of that [`crate::Event::RemoteConfig`]; `error` is shown to
    /// the server's operator.
    pub fn config_failed(&self, hash: Bytes, error: impl Into<String>) {
        self.command(Input::ConfigApplied { hash, outcome: ConfigOutcome::Failed(error.into()) });
    }

    /// Leaves the server in good order and connects again at once.
    pub fn reconnect(&self) {
        self.command(Input::Reconnect);
    }

    /// Tells the server that the agent goes, closes and waits until that is done: at most
    /// [`crate::Timing::stop`]. Can be called anywhere, also while events are handled, and more than once.
    pub async fn stop(&self) {
        self.command(Input::Stop);
        let mut running = self.running.clone();
        // An error is what is waited for: the runner has let go of its end.
        while running.changed().await.is_ok() {}
    }

    fn command(&self, input: Input) {
        // A client that has stopped has nobody to tell.
        let _ = self.commands.send(input);
    }
}
