//! The remote configuration that was received last and what became of it (RCFG-3 to RCFG-9). It applies
//! nothing: the application does, and says how it went.

use bytes::Bytes;

use super::{AgentSession, Event, Output, SavedConfig};
use crate::hash::config_hash;
use crate::wire::{self, AgentCapabilities as Bit, RemoteConfigStatuses};

/// How applying a remote configuration went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConfigOutcome {
    /// The agent runs on it (RCFG-3).
    Applied,
    /// It does not; the text is for the operator (RCFG-5, RCFG-9).
    Failed(String),
}

/// A configuration that ended this many processes while it was applied is not asked for again.
const MAX_INTERRUPTIONS: u32 = 2;

/// Longest error text that travels, in bytes: an operator reads it, and a thousand lines help nobody.
const MAX_ERROR: usize = 4096;

#[derive(Debug, Default)]
pub(super) struct RemoteConfig {
    last: Option<SavedConfig>,
    /// What tells one configuration from the next: the server's hash, or the content's where it sent none.
    identity: Option<Bytes>,
    /// The hash that earlier processes did not survive, and how many of them.
    interrupted: Option<(Bytes, u32)>,
}

impl RemoteConfig {
    /// Takes up where an earlier process ended. The status, if there is one, belongs into the first report.
    ///
    /// A process that ended while it applied a configuration cannot know how far it came. It reports no hash,
    /// so that the server offers the configuration once more; after two such ends it reports FAILED instead,
    /// because a configuration that kills the agent would otherwise come back for ever.
    pub(super) fn resume(saved: Option<SavedConfig>) -> (Self, Option<wire::RemoteConfigStatus>) {
        let Some(mut saved) = saved else { return (Self::default(), None) };
        if saved.status == RemoteConfigStatuses::Applying {
            saved.interruptions += 1;
            if saved.interruptions < MAX_INTERRUPTIONS {
                let interrupted = Some((saved.hash, saved.interruptions));
                let asking = wire::RemoteConfigStatus::default();
                return (Self { interrupted, ..Self::default() }, Some(asking));
            }
            saved.status = RemoteConfigStatuses::Failed;
            saved.error =
                format!("the agent ended {} times while it applied this configuration", saved.interruptions);
        }
        let status = status_message(&saved);
        (Self { identity: Some(saved.hash.clone()), last: Some(saved), interrupted: None }, Some(status))
    }

    pub(super) fn saved(&self) -> Option<SavedConfig> {
        self.last.clone()
    }

    fn interruptions(&self, hash: &Bytes) -> u32 {
        self.interrupted
            .as_ref()
            .filter(|(interrupted, _)| interrupted == hash)
            .map_or(0, |(_, count)| *count)
    }
}

fn status_message(saved: &SavedConfig) -> wire::RemoteConfigStatus {
    wire::RemoteConfigStatus {
        last_remote_config_hash: saved.hash.clone(),
        status: saved.status.into(),
        error_message: saved.error.clone(),
    }
}

impl AgentSession {
    /// An offer of the server. The one that we have already is no news (STAT-12), but a server that offers it does
    /// not know that we have it: the next message repeats the status. It is not hurried, because some servers
    /// offer with every answer.
    pub(super) fn offered_config(&mut self, offer: wire::AgentRemoteConfig) {
        if !self.capabilities.value.has(Bit::AcceptsRemoteConfig) {
            let reason =
                "remote_config was offered, but the agent does not accept remote configuration".to_owned();
            return self.event(Event::Ignored { reason });
        }
        let wire::AgentRemoteConfig { config, config_hash: hash } = offer;
        let identity = match (&config, hash.is_empty()) {
            (Some(config), true) => config_hash(config),
            _ => hash.clone(),
        };
        if self.config.identity.as_ref() == Some(&identity) {
            self.wanted.config_status = true;
            return;
        }
        self.config.identity = Some(identity);
        let interruptions = self.config.interruptions(&hash);
        let Some(config) = config else {
            let error = "the offer has a new hash but no configuration".to_owned();
            return self.config_status(SavedConfig {
                hash,
                status: RemoteConfigStatuses::Failed,
                error,
                interruptions,
            });
        };
        let status = RemoteConfigStatuses::Applying;
        self.config_status(SavedConfig { hash: hash.clone(), status, error: String::new(), interruptions });
        self.outputs.push_back(Output::ApplyConfig { hash, config });
    }

    /// The application's word on it. About a configuration that was superseded there is nothing to report.
    pub(super) fn config_applied(&mut self, hash: &Bytes, outcome: ConfigOutcome) {
        let Some(last) = self.config.last.as_ref().filter(|last| last.hash == *hash) else { return };
        let (status, error) = match outcome {
            ConfigOutcome::Applied => (RemoteConfigStatuses::Applied, String::new()),
            ConfigOutcome::Failed(error) => (RemoteConfigStatuses::Failed, cut(error)),
        };
        let next = SavedConfig { hash: hash.clone(), status, error, interruptions: 0 };
        if *last != next {
            self.config_status(next);
        }
    }

    fn config_status(&mut self, next: SavedConfig) {
        self.parts.set_remote_config_status(&status_message(&next));
        self.config.last = Some(next);
        self.persist();
    }
}

fn cut(mut text: String) -> String {
    if text.len() > MAX_ERROR {
        text.truncate(text.floor_char_boundary(MAX_ERROR));
    }
    text
}
