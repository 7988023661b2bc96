//! The words for an agent's connection, and the rule that says when a connected agent has gone silent.
//! Pings, timers and the table of sessions are `opamp-server`'s.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// How an agent is connected, as operators read it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ConnectionState {
    /// A WebSocket is open, or a poller comes when it should.
    Connected,
    /// Still connected as far as the server knows, but overdue: see [`Liveness::silent_after`].
    Silent,
    /// It said so, its connection ended, or its server did.
    Disconnected,
}

impl ConnectionState {
    /// Every state.
    pub const ALL: [Self; 3] = [Self::Connected, Self::Silent, Self::Disconnected];

    /// The word in the API, the console and the command line.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Connected => "connected",
            Self::Silent => "silent",
            Self::Disconnected => "disconnected",
        }
    }
}

impl fmt::Display for ConnectionState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A word that is no connection state.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no connection state, use connected, silent or disconnected")]
pub struct UnknownState(pub String);

impl FromStr for ConnectionState {
    type Err = UnknownState;

    fn from_str(text: &str) -> Result<Self, UnknownState> {
        Self::ALL
            .into_iter()
            .find(|state| state.as_str() == text)
            .ok_or_else(|| UnknownState(text.chars().take(64).collect()))
    }
}

/// What an agent speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Transport {
    /// A WebSocket.
    WebSocket,
    /// Plain HTTP: the agent polls.
    Http,
}

impl Transport {
    /// The word in the API: `websocket` or `http`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::WebSocket => "websocket",
            Self::Http => "http",
        }
    }
}

impl fmt::Display for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// No poller is called silent sooner: 30 s is the usual polling interval (HTTP-9, HB-3), and one lost poll is ordinary.
pub const MIN_SILENCE: Duration = Duration::from_secs(90);

/// What is known of an agent's rhythm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Liveness {
    /// What it speaks.
    pub transport: Transport,
    /// The heartbeat interval that this server set and the agent took (HB-15); `None` when we set none,
    /// for then no interval may be assumed (HB-5). Zero means that we switched heartbeats off (HB-17).
    pub interval_set: Option<Duration>,
    /// The gap that a poller keeps, see [`PollGap`].
    pub usual_gap: Option<Duration>,
}

impl Liveness {
    /// How long after its last message the agent counts as silent; `None`: never by its messages alone.
    ///
    /// An interval that we set may be missed by two intervals, so that the agent is silent three intervals
    /// after its last message. Other WebSocket agents are judged by ping. A poller is silent three of its usual gaps after its last
    /// poll, at least [`MIN_SILENCE`].
    pub fn silent_after(&self) -> Option<Duration> {
        let by_interval =
            self.interval_set.filter(|interval| !interval.is_zero()).map(|interval| interval * 3);
        match self.transport {
            Transport::WebSocket => by_interval,
            Transport::Http => {
                let by_gap = self.usual_gap.map(|gap| gap * 3);
                Some(by_interval.or(by_gap).unwrap_or(MIN_SILENCE).max(MIN_SILENCE))
            }
        }
    }

    /// Whether an agent whose last message is this long ago is silent.
    pub fn is_silent(&self, since_last_message: Duration) -> bool {
        self.silent_after().is_some_and(|limit| since_last_message > limit)
    }
}

/// The gap that a poller keeps, learnt from its polls: rises at once, falls slowly, so that one early poll
/// does not make the next one late. Four bytes per agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PollGap(u32);

impl PollGap {
    /// A gap is believed up to one hour; a longer one was an outage.
    pub const MAX: Duration = Duration::from_secs(3600);

    /// Takes the gap between two polls.
    pub fn observe(&mut self, gap: Duration) {
        if gap > Self::MAX {
            return;
        }
        let gap = u32::try_from(gap.as_millis()).unwrap_or(u32::MAX);
        self.0 = if gap >= self.0 { gap } else { self.0 - (self.0 - gap) / 8 };
    }

    /// The gap; `None` before the second poll.
    pub fn usual(self) -> Option<Duration> {
        (self.0 > 0).then(|| Duration::from_millis(u64::from(self.0)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: fn(u64) -> Duration = Duration::from_secs;

    fn liveness(transport: Transport, interval: Option<u64>, gap: Option<u64>) -> Liveness {
        Liveness { transport, interval_set: interval.map(S), usual_gap: gap.map(S) }
    }

    #[test]
    fn hb_13_an_agent_is_silent_when_two_of_our_intervals_late() {
        let agent = liveness(Transport::WebSocket, Some(30), None);
        assert!(!agent.is_silent(S(90)));
        assert!(agent.is_silent(Duration::from_millis(90_001)));
        assert_eq!(liveness(Transport::WebSocket, Some(5), None).silent_after(), Some(S(15)));
    }

    #[test]
    fn hb_5_a_websocket_agent_without_our_interval_is_never_silent_by_its_messages() {
        assert_eq!(liveness(Transport::WebSocket, None, Some(30)).silent_after(), None);
        assert_eq!(liveness(Transport::WebSocket, Some(0), None).silent_after(), None);
    }

    #[test]
    fn close_8_a_poller_is_judged_by_its_gap_and_not_before_90_seconds() {
        assert_eq!(liveness(Transport::Http, None, None).silent_after(), Some(S(90)));
        assert_eq!(liveness(Transport::Http, None, Some(10)).silent_after(), Some(S(90)));
        assert_eq!(liveness(Transport::Http, None, Some(300)).silent_after(), Some(S(900)));
        assert_eq!(liveness(Transport::Http, Some(60), Some(300)).silent_after(), Some(S(180)));
    }

    #[test]
    fn close_8_the_gap_rises_at_once_and_falls_slowly_and_an_outage_is_no_gap() {
        let mut gap = PollGap::default();
        assert_eq!(gap.usual(), None);
        gap.observe(S(30));
        gap.observe(S(1));
        assert!(gap.usual() > Some(S(26)));
        gap.observe(S(7200));
        assert!(gap.usual() < Some(S(30)));
        for _ in 0..100 {
            gap.observe(S(1));
        }
        assert!(gap.usual() < Some(S(2)));
    }

    #[test]
    fn a_state_word_reads_back_and_another_word_is_refused() {
        for state in ConnectionState::ALL {
            assert_eq!(state.to_string().parse(), Ok(state));
        }
        let error = "asleep".parse::<ConnectionState>().unwrap_err();
        assert_eq!(
            error.to_string(),
            "\"asleep\" is no connection state, use connected, silent or disconnected"
        );
    }
}
