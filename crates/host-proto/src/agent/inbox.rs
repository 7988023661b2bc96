//! What the server says, once the connection stands.

use super::session::{Link, Session};
use super::{Event, Output};
use crate::desired::DesiredState;
use crate::frame::Frame;
use crate::generation::Mark;
use crate::message::{ErrorMessage, HelloAck, StateApplied, ToAgent, ToServer, TokenRotate, TokenRotated};
use crate::moment::Moment;
use crate::report::{Outcome, RefusedReason};
use crate::strikes::Sentence;

impl Session {
    pub(super) fn received(&mut self, now: Moment, text: &str) {
        if !matches!(self.link, Link::Greeting { .. } | Link::Open { .. }) {
            return;
        }
        self.liveness.heard(now);
        let frame = match Frame::<ToAgent>::decode(text) {
            Ok(frame) => frame,
            Err(fault) => {
                let sentence = self.strikes.judge(&fault);
                return self.execute(now, sentence);
            }
        };
        if let Some(fault) = self.out_of_place(&frame.body) {
            let sentence = self.strikes.bad(frame.id, fault.to_owned());
            return self.execute(now, sentence);
        }
        self.strikes.good();
        self.message(now, frame);
    }

    fn out_of_place(&self, body: &ToAgent) -> Option<&'static str> {
        match (&self.link, body) {
            (Link::Open { .. }, ToAgent::HelloAck(_)) => Some("hello was answered already"),
            (Link::Open { .. }, _) => None,
            (
                _,
                ToAgent::HelloAck(_)
                | ToAgent::Error(_)
                | ToAgent::Goodbye(_)
                | ToAgent::HostRemoved(_)
                | ToAgent::Ping(_)
                | ToAgent::Pong(_),
            ) => None,
            _ => Some("hello was not answered yet"),
        }
    }

    fn execute(&mut self, now: Moment, sentence: Sentence) {
        match sentence {
            Sentence::Drop => {}
            Sentence::Answer { re, error } => self.outbox.push(Frame::answering(re, ToServer::Error(error))),
            Sentence::Close { code, error } => {
                let reason = error.message.clone();
                self.say_at_last(&Frame::plain(ToServer::Error(error)));
                self.leave(now, code, format!("the server's messages are none of ours: {reason}"));
            }
        }
    }

    fn message(&mut self, now: Moment, frame: Frame<ToAgent>) {
        match frame.body {
            ToAgent::HelloAck(ack) => self.welcomed(now, ack),
            ToAgent::Ping(ping) => self.outputs.push_back(Output::Probe(ping)),
            ToAgent::Pong(_) => self.liveness.answered(),
            ToAgent::Goodbye(goodbye) => {
                let after = goodbye.reconnect_after_ms.map(std::time::Duration::from_millis);
                self.words.reconnect_after = after;
            }
            ToAgent::Error(error) => self.error(error),
            ToAgent::TokenRotate(rotate) => self.rotate(frame.id, rotate),
            ToAgent::DesiredState(state) => self.desired(state),
            ToAgent::HostRemoved(removed) => self.removed(removed.reason),
            body => {
                let frame = Frame { id: frame.id, re: frame.re, body };
                self.outputs.push_back(Output::Request(Box::new(frame)));
            }
        }
    }

    fn welcomed(&mut self, now: Moment, ack: HelloAck) {
        self.liveness.tune(now, &ack.intervals);
        self.words.spread = std::time::Duration::from_millis(ack.reconnect_spread_ms.min(60_000));
        self.secret = Some(ack.session_secret.clone());
        self.outputs.push_back(Output::PersistSecret(ack.session_secret.clone()));
        self.previous_tried = false;
        self.link = Link::Open { since: now };
        self.outputs.push_back(Output::Event(Event::Online(Box::new(ack))));
    }

    fn error(&mut self, error: ErrorMessage) {
        if error.fatal {
            self.words.error = Some(error.clone());
        }
        self.outputs.push_back(Output::Event(Event::Error(error)));
    }

    fn rotate(&mut self, id: Option<String>, rotate: TokenRotate) {
        self.rotating = Some(id);
        self.outputs.push_back(Output::PersistToken(rotate.host_token));
    }

    /// The new token is on the disk, or not. Only now the server hears of it (TOKEN-3).
    pub(super) fn token_persisted(&mut self, result: Result<(), String>) {
        let Some(re) = self.rotating.take() else { return };
        self.has_previous |= result.is_ok();
        let answer = TokenRotated { ok: result.is_ok(), error: result.err() };
        self.outbox.push(Frame::answering(re, ToServer::TokenRotated(answer)));
    }

    /// STATE-6, R32.
    fn desired(&mut self, state: Box<DesiredState>) {
        let mark = Mark::new(state.epoch.clone(), state.generation);
        let known = self.position.as_ref().filter(|position| position.mark.epoch == mark.epoch);
        if let Some(known) = known.filter(|known| mark.generation <= known.mark.generation) {
            let applied = known.mark.clone();
            return self.refuse(&mark, applied);
        }
        let adopting = state.adopt || known.is_none();
        self.position = Some(super::Position { mark, adopting });
        self.fresh = true;
        self.outputs.push_back(Output::Apply { state, adopt: adopting });
    }

    fn refuse(&mut self, offered: &Mark, applied: Mark) {
        let event = Event::StaleState { generation: offered.generation, applied: applied.generation };
        self.outputs.push_back(Output::Event(event));
        let answer = StateApplied {
            epoch: applied.epoch,
            generation: applied.generation,
            result: Outcome::Refused,
            refused_reason: Some(RefusedReason::StaleGeneration),
            sections: std::collections::BTreeMap::new(),
            items: Vec::new(),
            replicas: Vec::new(),
            removed: Vec::new(),
            net_selftest: None,
            blocks: None,
            left_volumes: None,
            duration_ms: 0,
        };
        self.outbox.push(Frame::plain(ToServer::StateApplied(Box::new(answer))));
    }
}
