//! Following a log. The engine's own following stops at a rotation, at a truncation and when it starts again; so the log is
//! opened anew after a silence and after every end, and what was seen already is left out (R45).

use std::cmp::Ordering;
use std::sync::Arc;
use std::time::Duration;

use bollard::container::LogOutput;
use bollard::query_parameters::InspectContainerOptions;
use futures_util::StreamExt;
use host_proto::id::ReplicaId;
use host_proto::limits::LOG_TAIL_LINES;
use host_proto::message::LogLine;

use super::{Filter, Frames, frame};
use crate::docker::Engine;
use crate::docker::trouble::status_of;

/// After this long without a line the log is opened anew: perhaps the engine has stopped reading it.
const SILENCE: Duration = Duration::from_secs(60);
/// Pause before a log that ended is opened again.
const PAUSE: Duration = Duration::from_secs(1);
const INSPECT: Duration = Duration::from_secs(10);

/// What following gives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Followed {
    /// A line.
    Line(LogLine),
    /// The container is gone; there will be no more.
    Gone,
}

/// Follows the log of one container until it is removed, also while it is started again and again.
pub struct Follower {
    engine: Arc<Engine>,
    replica: ReplicaId,
    container: String,
    filter: Filter,
    tail: u32,
    frames: Option<Frames>,
    ready: std::collections::VecDeque<LogLine>,
    place: Place,
    /// What came last.
    before: Option<LogOutput>,
}

impl Follower {
    /// Begins with the last `tail` lines, none older than `since_us`.
    pub fn new(
        engine: Arc<Engine>,
        replica: ReplicaId,
        container: String,
        (tail, since_us): (u32, Option<u64>),
        filter: Filter,
    ) -> Self {
        let place = Place::from(since_us);
        let tail = tail.min(LOG_TAIL_LINES);
        let ready = std::collections::VecDeque::new();
        Self { engine, replica, container, filter, tail, frames: None, ready, place, before: None }
    }

    /// The next line that the filter wants. May be dropped while it waits: nothing is lost.
    pub async fn next(&mut self) -> Followed {
        loop {
            if let Some(line) = self.ready.pop_front() {
                return Followed::Line(line);
            }
            if self.frames.is_none() {
                self.open();
            }
            let Some(frames) = &mut self.frames else { continue };
            match tokio::time::timeout(SILENCE, frames.next()).await {
                Ok(Some(Ok(piece))) => self.take(piece),
                Ok(Some(Err(_)) | None) => {
                    if self.is_gone().await {
                        return Followed::Gone;
                    }
                    tokio::time::sleep(PAUSE).await;
                    self.frames = None;
                }
                Err(_) => self.frames = None,
            }
        }
    }

    fn take(&mut self, piece: LogOutput) {
        if self.before.as_ref().is_some_and(|before| frame::is_repeated(before, &piece)) {
            return;
        }
        for line in frame::lines(&self.replica, piece.clone()) {
            if self.place.is_new(line.ts_us) && self.filter.wants(&line) {
                self.ready.push_back(line);
            }
        }
        self.before = Some(piece);
    }

    fn open(&mut self) {
        self.before = None;
        let again = self.place.at_last > 0;
        let tail = if again { "all".to_owned() } else { self.tail.to_string() };
        self.place.reopen();
        self.frames =
            Some(self.engine.frames(&self.container, &self.filter, true, self.place.last_us, &tail));
    }

    /// Only an engine that says so makes a container gone (R29).
    async fn is_gone(&mut self) -> bool {
        let call = self.engine.docker.inspect_container(&self.container, None::<InspectContainerOptions>);
        match tokio::time::timeout(INSPECT, call).await {
            Ok(Err(error)) => status_of(&error) == Some(404),
            Ok(Ok(_)) | Err(_) => false,
        }
    }
}

/// How far a log was read. A log is in order of time, so a time and the number of lines with just that time say it. Only
/// what is read again is compared: the two streams of a container may be a moment out of order as they come.
#[derive(Debug, Clone, Default)]
struct Place {
    last_us: Option<u64>,
    at_last: usize,
    /// Lines before this time were seen, and so many of just this time; absent when nothing is read again.
    again: Option<(u64, usize)>,
}

impl Place {
    /// Begins here; nothing older is wanted.
    fn from(since_us: Option<u64>) -> Self {
        Self { last_us: since_us, at_last: 0, again: since_us.map(|since| (since, 0)) }
    }

    /// The log is opened anew.
    fn reopen(&mut self) {
        self.again = self.last_us.map(|last| (last, self.at_last));
    }

    /// Whether a line was not seen yet; it is then.
    fn is_new(&mut self, ts_us: u64) -> bool {
        if let Some((last, seen)) = &mut self.again {
            match ts_us.cmp(last) {
                Ordering::Less => return false,
                Ordering::Equal if *seen > 0 => {
                    *seen -= 1;
                    return false;
                }
                Ordering::Equal => {}
                Ordering::Greater => self.again = None,
            }
        }
        match self.last_us {
            Some(last) if ts_us < last => {}
            Some(last) if ts_us == last => self.at_last += 1,
            _ => (self.last_us, self.at_last) = (Some(ts_us), 1),
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r45_what_was_seen_is_left_out_when_a_log_is_opened_anew() {
        let mut place = Place::from(Some(5));
        let seen = |place: &mut Place, times: &[u64]| -> Vec<bool> {
            times.iter().map(|time| place.is_new(*time)).collect()
        };
        assert_eq!(seen(&mut place, &[4, 5, 6, 8, 7, 8]), [false, true, true, true, true, true]);
        place.reopen();
        assert_eq!(seen(&mut place, &[5, 6, 8, 7, 8, 8, 9]), [false, false, false, false, false, true, true]);
    }
}
