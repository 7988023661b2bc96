//! What waits for the socket, in order of urgency (R24): control, then the newest desired state, then requests. One
//! text is on its way at a time, so that a ping overtakes a state that still waits.

use std::collections::VecDeque;
use std::time::Duration;

use crate::frame::Frame;
use crate::message::ToAgent;
use crate::moment::Moment;

/// More waiting requests than this: the host does not read.
const MAX_WAITING: usize = 1024;
/// A text that the socket did not take for so long: the host does not read either. The longest message needs 134
/// seconds on a way of one megabit per second.
const STUCK_AFTER: Duration = Duration::from_secs(180);

#[derive(Debug, Default)]
pub(super) struct Outbox {
    control: VecDeque<String>,
    state: Option<String>,
    requests: VecDeque<String>,
    writing_since: Option<Moment>,
}

impl Outbox {
    pub(super) fn push(&mut self, frame: &Frame<ToAgent>) {
        // Encoding cannot fail for the messages of this crate; one that did would be of no use to the host.
        let Ok(text) = frame.encode() else { return };
        match frame.body {
            ToAgent::LogsQuery(_)
            | ToAgent::LogsCancel(_)
            | ToAgent::LogsSubscribe(_)
            | ToAgent::LogsAck(_)
            | ToAgent::LogsUnsubscribe(_) => self.requests.push_back(text),
            _ => self.control.push_back(text),
        }
    }

    /// The newest state takes the place of one that still waits.
    pub(super) fn state(&mut self, text: String) {
        self.state = Some(text);
    }

    pub(super) fn next(&mut self, now: Moment) -> Option<String> {
        if self.writing_since.is_some() {
            return None;
        }
        let text =
            self.control.pop_front().or_else(|| self.state.take()).or_else(|| self.requests.pop_front())?;
        self.writing_since = Some(now);
        Some(text)
    }

    pub(super) fn sent(&mut self) {
        self.writing_since = None;
    }

    pub(super) fn deadline(&self) -> Option<Moment> {
        self.writing_since.map(|since| since + STUCK_AFTER)
    }

    /// Whether the host does not take what is sent.
    pub(super) fn is_stuck(&self, now: Moment) -> bool {
        self.deadline().is_some_and(|deadline| now >= deadline)
            || self.control.len() + self.requests.len() > MAX_WAITING
    }
}
