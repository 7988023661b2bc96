//! The host's own last lines (REQ-9): errors, warnings and the steps of deployments, with every known secret masked. The
//! server keeps them for hosts that are away; here the last 500 wait until it has them.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use host_proto::desired::DesiredState;
use host_proto::id::{ReleaseId, ReplicaId};
use host_proto::limits::{HOST_LOG_LINES, HOST_LOG_TEXT};
use host_proto::message::{HostLogLevel, HostLogLine, HostLogSource, HostLogsTail};
use tokio::sync::Notify;
use zeroize::Zeroize as _;

use crate::clock::wall_us;

/// Shorter values are in too many harmless words to be masked.
const SHORTEST_SECRET: usize = 6;

/// So many secrets that no state has any more are remembered.
const FORMER_SECRETS: usize = 256;

/// The log; cheap to clone.
#[derive(Clone, Default)]
pub(crate) struct HostLog {
    ring: Arc<Mutex<Ring>>,
    urgent: Arc<Notify>,
}

#[derive(Default)]
struct Ring {
    lines: VecDeque<HostLogLine>,
    /// The number of the line after the newest.
    next: u64,
    /// Those of the state.
    secrets: Vec<String>,
    /// Those of states before, the newest first.
    former: Vec<String>,
}

/// What a line is about.
#[derive(Debug, Clone, Default)]
pub(crate) struct About {
    /// Which replica.
    pub(crate) replica: Option<ReplicaId>,
    /// Which release.
    pub(crate) release: Option<ReleaseId>,
}

impl HostLog {
    /// Takes a line in.
    pub(crate) fn push(&self, level: HostLogLevel, source: HostLogSource, about: About, text: &str) {
        let mut ring = self.lock();
        let text = ring.masked(text).chars().take(HOST_LOG_TEXT).collect();
        let About { replica, release } = about;
        let line =
            HostLogLine { ts_us: wall_us(), level, source, replica_id: replica, release_id: release, text };
        ring.lines.push_back(line);
        ring.next += 1;
        if ring.lines.len() > HOST_LOG_LINES {
            ring.lines.pop_front();
        }
        drop(ring);
        if level == HostLogLevel::Deploy {
            self.urgent.notify_one();
        }
    }

    /// The lines from this number on, counted from 1; `None` when there are none.
    pub(crate) fn since(&self, number: u64) -> Option<HostLogsTail> {
        let ring = self.lock();
        let first = ring.next + 1 - ring.lines.len() as u64;
        let skip = usize::try_from(number.saturating_sub(first)).unwrap_or(usize::MAX);
        let lines: Vec<HostLogLine> = ring.lines.iter().skip(skip).cloned().collect();
        let seq = first.max(number);
        (!lines.is_empty()).then_some(HostLogsTail { seq, lines })
    }

    /// Waits for a line that should go out at once.
    pub(crate) async fn urgent(&self) {
        self.urgent.notified().await;
    }

    /// Masks the secrets of this state from now on, and these. What they replace is masked too, as far back as there is
    /// room: a container may print its secret after it has been given another.
    pub(crate) fn know(&self, state: &DesiredState, others: &[&str]) {
        let mut secrets: Vec<String> = others.iter().map(|&other| other.to_owned()).collect();
        for file in state.files.iter().filter(|file| file.secret) {
            let content =
                file.inline_b64.as_ref().and_then(|text| BASE64_STANDARD.decode(text.expose()).ok());
            let text = content.and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or_default();
            secrets.extend(text.lines().map(|line| line.trim().to_owned()));
        }
        secrets.extend(state.registry.auth.iter().map(|auth| auth.password.expose().to_owned()));
        secrets.retain(|secret| secret.len() >= SHORTEST_SECRET);
        secrets.sort_unstable();
        secrets.dedup();
        let mut ring = self.lock();
        let mut former = std::mem::replace(&mut ring.secrets, secrets);
        former.append(&mut ring.former);
        for mut secret in former {
            let is_known = ring.secrets.contains(&secret) || ring.former.contains(&secret);
            match is_known || ring.former.len() == FORMER_SECRETS {
                true => secret.zeroize(),
                false => ring.former.push(secret),
            }
        }
    }

    /// A text without known secrets.
    pub(crate) fn masked(&self, text: &str) -> String {
        self.lock().masked(text)
    }

    fn lock(&self) -> MutexGuard<'_, Ring> {
        self.ring.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Ring {
    fn masked(&self, text: &str) -> String {
        let known = self.secrets.iter().chain(&self.former);
        let mut found: Vec<&String> = known.filter(|secret| text.contains(secret.as_str())).collect();
        // A secret that holds another one is masked as a whole.
        found.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        found.into_iter().fold(text.to_owned(), |text, secret| text.replace(secret.as_str(), "***"))
    }
}

#[cfg(test)]
mod tests {
    use host_proto::Secret;
    use host_proto::desired::File;

    use super::*;

    fn say(log: &HostLog, text: &str) {
        log.push(HostLogLevel::Error, HostLogSource::Agent, About::default(), text);
    }

    #[test]
    fn req_9_the_last_500_lines_are_kept_and_numbered() {
        let log = HostLog::default();
        assert_eq!(log.since(1), None);
        for number in 1..=700 {
            say(&log, &format!("line {number}"));
        }
        let tail = log.since(1).unwrap();
        assert_eq!((tail.seq, tail.lines.len()), (201, 500));
        assert_eq!(tail.lines[0].text, "line 201");
        let tail = log.since(699).unwrap();
        assert_eq!((tail.seq, tail.lines.len(), tail.lines[1].text.as_str()), (699, 2, "line 700"));
        assert_eq!(log.since(701), None);
    }

    fn with_secret(text: &str) -> DesiredState {
        let mut state = DesiredState::empty("e", 1);
        state.files.push(File {
            id: "fil_1".parse().unwrap(),
            sha256: String::new(),
            size_bytes: 0,
            inline_b64: Some(Secret::new(BASE64_STANDARD.encode(text))),
            mode: 0o400,
            uid: 0,
            gid: 0,
            secret: true,
        });
        state
    }

    #[test]
    fn req_9_a_secret_is_masked_when_the_state_has_another_already() {
        let log = HostLog::default();
        for text in ["correct horse battery", "correct horse", "staple"] {
            log.know(&with_secret(text), &[]);
        }
        assert_eq!(log.masked("correct horse battery, correct horse, staple, horse"), "***, ***, ***, horse");
        // As far back as there is room.
        for number in 0..FORMER_SECRETS {
            log.know(&with_secret(&format!("secret {number:04}")), &[]);
        }
        assert_eq!(log.masked("staple, secret 0000"), "***, ***");
        log.know(&DesiredState::empty("e", 2), &[]);
        assert_eq!(log.masked("correct horse, staple, secret 0000"), "correct horse, staple, ***");
    }

    #[test]
    fn req_9_known_secrets_are_masked() {
        let log = HostLog::default();
        let state = with_secret("correct horse\nx\n");
        log.know(&state, &["mst_host_token"]);
        say(&log, "x: login with correct horse and mst_host_token failed");
        assert_eq!(log.since(1).unwrap().lines[0].text, "x: login with *** and *** failed");
    }
}
