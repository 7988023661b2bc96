//! Whether a machine that says hello is the host whose token it shows (CONNECT-7, R11 to R14). One [`Admission`] for
//! each host, kept in memory by whoever keeps the host's connection.
//!
//! ```text
//! other machine-id, instance or key ────────────────────────────▶ refused
//! no live connection ───────────────────────────────────────────▶ admitted
//! live, same boot, good secret ─────────────────────────────────▶ admitted, the old one is replaced
//! live, other boot or stale secret ─▶ the old one is probed: silent ▶ admitted, answers ▶ refused
//! ```

use std::time::Duration;

use super::ratchet::{Ratchet, Shown};
use crate::limits::REFUSED_PAUSE;
use crate::message::{CloseCode, ErrorCode, ErrorMessage, Identity};
use crate::moment::Moment;

/// So many changes of boot within [`FLAP_WINDOW`] are no reboots but two machines (R13).
const FLAPS: usize = 3;
/// R13.
const FLAP_WINDOW: Duration = Duration::from_secs(5 * 60);
/// R13.
const FROZEN_FOR: Duration = Duration::from_secs(15 * 60);

/// Who the host is, as it joined.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Known {
    /// `/etc/machine-id`.
    pub machine_id: String,
    /// Made at the first join.
    pub instance_id: String,
    /// WireGuard key in base64.
    pub wg_public_key: String,
}

/// Who says hello, and from where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Newcomer {
    /// What it says.
    pub identity: Identity,
    /// Its address, for people.
    pub address: String,
}

/// What to do about a hello.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Let it in: [`super::Input::Admit`] for the new session, and [`super::Input::Replaced`] for the old one, if there
    /// is one. [`Ratchet::advance`] comes before.
    Admit {
        /// What the operator should know.
        alert: Option<Alert>,
    },
    /// [`super::Input::Probe`] for the old session, then [`Admission::probed`] with its answer. One newcomer at a time:
    /// refuse others meanwhile with [`Refusal::busy`].
    Probe,
    /// [`super::Input::Refuse`] for the new session; the old one lives on.
    Refuse(Refusal),
}

/// Why a newcomer was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// What it is told, and how its socket is closed.
    pub code: CloseCode,
    /// What it is told in words.
    pub error: ErrorMessage,
    /// What the operator should know.
    pub alert: Option<Alert>,
}

/// What the operator should know about who says to be a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Alert {
    /// Another machine shows the token of this host.
    OtherMachine {
        /// Where the host is.
        connected: Option<String>,
        /// Where the other one is.
        newcomer: String,
    },
    /// A copy of this host is running beside it.
    Copy {
        /// Where the host is.
        connected: String,
        /// Where the copy is.
        newcomer: String,
    },
    /// The host's disk is an older one: a snapshot was restored, or its disk is full (R12).
    RolledBack,
    /// Two machines took turns at being this host (R13).
    Flapping {
        /// Where the last one was.
        before: String,
        /// Where the newcomer is.
        newcomer: String,
    },
}

/// The memory of one host's connections.
#[derive(Debug, Default)]
pub struct Admission {
    /// The last one that was admitted.
    last: Option<Seen>,
    connected: bool,
    swaps: Vec<Moment>,
    frozen: Option<(String, Moment)>,
}

#[derive(Debug, Clone)]
struct Seen {
    boot_id: String,
    address: String,
}

impl Admission {
    /// Decides about a hello.
    pub fn decide(&mut self, now: Moment, known: &Known, ratchet: &Ratchet, newcomer: &Newcomer) -> Verdict {
        let identity = &newcomer.identity;
        let same_machine = identity.machine_id == known.machine_id
            && identity.instance_id == known.instance_id
            && identity.wg_public_key == known.wg_public_key;
        if !same_machine {
            let connected = self.live().map(|seen| seen.address.clone());
            let alert = Alert::OtherMachine { connected, newcomer: newcomer.address.clone() };
            let text = "this token is that of another machine: join this one with a token of its own";
            return Verdict::Refuse(duplicate(text, REFUSED_PAUSE, Some(alert)));
        }
        if let Some(left) = self.frozen_for(now, &identity.boot_id) {
            let text = "two machines took turns at being this host: switch the copy off, or join it anew";
            return Verdict::Refuse(duplicate(text, left, None));
        }
        let shown = ratchet.judge(identity.session_secret_prev.as_ref());
        match self.live() {
            Some(live) if live.boot_id != identity.boot_id || shown == Shown::Stale => Verdict::Probe,
            _ => self.admit(now, newcomer, shown),
        }
    }

    /// Decides after the old session was probed; the newcomer is the one that [`Verdict::Probe`] was said to.
    pub fn probed(&mut self, now: Moment, alive: bool, ratchet: &Ratchet, newcomer: &Newcomer) -> Verdict {
        let shown = ratchet.judge(newcomer.identity.session_secret_prev.as_ref());
        match self.live() {
            Some(live) if alive => {
                let alert =
                    Alert::Copy { connected: live.address.clone(), newcomer: newcomer.address.clone() };
                let text = "this host is connected already: a copy of it must join with a token of its own";
                Verdict::Refuse(duplicate(text, REFUSED_PAUSE, Some(alert)))
            }
            _ => self.admit(now, newcomer, shown),
        }
    }

    /// The connection of the machine that was admitted last is over. Not to be said of one that was replaced.
    pub fn disconnected(&mut self) {
        self.connected = false;
    }

    /// Whether a connection of this host stands.
    pub fn is_connected(&self) -> bool {
        self.connected
    }

    fn live(&self) -> Option<&Seen> {
        self.last.as_ref().filter(|_| self.connected)
    }

    fn frozen_for(&self, now: Moment, boot_id: &str) -> Option<Duration> {
        let (frozen, until) = self.frozen.as_ref()?;
        (frozen == boot_id && now < *until).then(|| until.since(now))
    }

    fn admit(&mut self, now: Moment, newcomer: &Newcomer, shown: Shown) -> Verdict {
        let boot_id = &newcomer.identity.boot_id;
        if let Some(last) = self.last.as_ref().filter(|last| last.boot_id != *boot_id) {
            self.swaps.retain(|swap| now.since(*swap) < FLAP_WINDOW);
            self.swaps.push(now);
            if self.swaps.len() >= FLAPS {
                let alert =
                    Alert::Flapping { before: last.address.clone(), newcomer: newcomer.address.clone() };
                self.frozen = Some((boot_id.clone(), now + FROZEN_FOR));
                self.swaps.clear();
                let text = "two machines take turns at being this host: switch the copy off, or join it anew";
                return Verdict::Refuse(duplicate(text, FROZEN_FOR, Some(alert)));
            }
        }
        self.last = Some(Seen { boot_id: boot_id.clone(), address: newcomer.address.clone() });
        self.connected = true;
        Verdict::Admit { alert: (shown == Shown::Stale).then_some(Alert::RolledBack) }
    }
}

impl Refusal {
    /// Another newcomer of the same host is being looked at.
    pub fn busy() -> Self {
        duplicate("another connection of this host is being looked at", Duration::from_secs(10), None)
    }
}

fn duplicate(text: &str, retry_after: Duration, alert: Option<Alert>) -> Refusal {
    let retry_after_ms = Some(u64::try_from(retry_after.as_millis()).unwrap_or(u64::MAX));
    let error = ErrorMessage {
        code: ErrorCode::DuplicateHost,
        message: text.to_owned(),
        fatal: true,
        retry_after_ms,
    };
    Refusal { code: CloseCode::DuplicateHost, error, alert }
}
