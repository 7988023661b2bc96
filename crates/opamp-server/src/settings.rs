//! What an operator of a server can set, each with the default that suits a fleet on the internet.

use std::time::Duration;

use opamp_proto::limits::MessageLimit;
use opamp_proto::server::SessionSettings;

/// Settings of a [`crate::Server`].
#[derive(Debug, Clone)]
pub struct Settings {
    /// The path that [`crate::Server::serve`] answers on (MODEL-7, MODEL-8). A mounted service answers on
    /// whatever path it is mounted at.
    pub path: String,
    /// Largest message, after decompression. A longer one is refused with 413 or close code 1009.
    pub max_message: MessageLimit,
    /// How many bytes may be received and decoded at once, over all connections. Small messages are free.
    pub max_in_flight: usize,
    /// How many agents one connection may carry (UID-13).
    pub max_agents_per_connection: usize,
    /// After how much silence a WebSocket is pinged; spread by a tenth either way. Traffic is as good as a pong.
    pub ping_after: Duration,
    /// How many pings may go unanswered, each for as long as `ping_after`.
    pub missed_pings: u32,
    /// How long a peer may take to accept what is written before it is dropped.
    pub write_timeout: Duration,
    /// How long an unused HTTP connection stays open: well above any usual polling interval (S1).
    pub keep_alive: Duration,
    /// How long a new connection may take for TLS, and again for its first request.
    pub first_request: Duration,
    /// After how much silence the session of a polling agent ends (CLOSE-8).
    pub poller_timeout: Duration,
    /// How long the old connection of an instance_uid may take to prove that it is alive when a new one appears.
    pub probe_timeout: Duration,
    /// How many TLS handshakes are computed at once; each costs a third of a millisecond of a core.
    pub max_handshakes: usize,
    /// Whether permessage-deflate is accepted when a client offers it. It costs memory for each message that is
    /// being compressed, not for each connection.
    pub deflate: bool,
    /// What all sessions share.
    pub session: SessionSettings,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            path: "/v1/opamp".to_owned(),
            max_message: MessageLimit::default(),
            max_in_flight: 256 * 1024 * 1024,
            max_agents_per_connection: 10_000,
            ping_after: Duration::from_secs(60),
            missed_pings: 2,
            write_timeout: Duration::from_secs(30),
            keep_alive: Duration::from_secs(180),
            first_request: Duration::from_secs(15),
            poller_timeout: Duration::from_secs(15 * 60),
            probe_timeout: Duration::from_secs(5),
            max_handshakes: 256,
            deflate: false,
            session: SessionSettings::default(),
        }
    }
}
