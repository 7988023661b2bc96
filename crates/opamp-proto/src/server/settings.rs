//! What sessions are told from outside: how their agent is connected, and what all of a server's have in common.

use std::time::Duration;

use crate::capabilities::ServerCapabilities;
use crate::wire;

/// How the agent is connected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Transport {
    /// A message can be pushed at any time (WS-14).
    WebSocket,
    /// A message waits for the next request (HTTP-11).
    Http,
}

/// What all sessions of a server share.
#[derive(Debug, Clone)]
pub struct SessionSettings {
    /// What the server says it can do. AcceptsStatus is always added (SCAP-5), bits that this version does
    /// not define are never sent (SCAP-1).
    pub capabilities: ServerCapabilities,
    /// How long an unanswered ReportFullState rests before it is asked again on a WebSocket.
    pub full_state_pause: Duration,
}

impl Default for SessionSettings {
    fn default() -> Self {
        use wire::ServerCapabilities as Bit;
        Self {
            capabilities: [Bit::AcceptsStatus, Bit::OffersRemoteConfig, Bit::AcceptsEffectiveConfig]
                .into_iter()
                .collect(),
            full_state_pause: Duration::from_secs(30),
        }
    }
}

impl SessionSettings {
    /// The bits as they are sent: what is defined, and AcceptsStatus always (SCAP-1, SCAP-5).
    pub fn announced(&self) -> ServerCapabilities {
        let known = self.capabilities.bits() & !self.capabilities.unknown_bits();
        ServerCapabilities::from_bits(known).with(wire::ServerCapabilities::AcceptsStatus)
    }
}
