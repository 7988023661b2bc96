//! Reads what the server sends. Each field that the agent understands and has the capability for is acted on;
//! the rest is left out (CAP-6). Connection settings beyond the heartbeat interval, packages and custom
//! messages have their place in `take_offers`.

use std::time::Duration;

use prost::Message;

use super::link::Answer;
use super::{AgentSession, Event, Transport};
use crate::capabilities::ServerCapabilities;
use crate::moment::Moment;
use crate::uid::InstanceUid;
use crate::wire::{
    AgentCapabilities as Bit, CommandType, ServerErrorResponse, ServerErrorResponseType, ServerToAgent,
    ServerToAgentFlags, server_error_response,
};

impl AgentSession {
    /// A payload from the server.
    pub(super) fn received(&mut self, now: Moment, payload: &[u8]) {
        if !self.link.listens() {
            return self.farewell_answered(now);
        }
        match self.decode(payload) {
            // Ambiguity 16: one bad frame says nothing about the next.
            Err(reason) => match self.transport {
                Transport::WebSocket => self.event(Event::Ignored { reason }),
                Transport::Http => self.failed(now, &super::Failure::Protocol(reason)),
            },
            Ok(message) if !self.is_for_us(&message) => {
                let reason = "a message was addressed to another instance_uid".to_owned();
                self.event(Event::Ignored { reason });
                // On HTTP it is the only answer that this request gets.
                if self.transport == Transport::Http {
                    self.answered(now, &Answer::Accepted);
                }
            }
            Ok(message) => self.take(now, message),
        }
    }

    fn decode(&self, payload: &[u8]) -> Result<ServerToAgent, String> {
        let data = match self.transport {
            Transport::WebSocket => crate::frame::data(payload).map_err(|error| error.to_string())?,
            Transport::Http => payload,
        };
        ServerToAgent::decode(data).map_err(|error| line(&format!("ServerToAgent is malformed: {error}")))
    }

    /// UID-13. An empty value is taken as ours, because we are the only agent here (Ambiguity 19).
    fn is_for_us(&self, message: &ServerToAgent) -> bool {
        let uid = message.instance_uid.as_ref();
        let previous = self.identity.previous.as_ref();
        uid.is_empty()
            || uid == self.identity.uid.as_bytes()
            || previous.is_some_and(|old| uid == old.as_bytes())
    }

    fn take(&mut self, now: Moment, message: ServerToAgent) {
        if message.capabilities != 0 {
            self.server = ServerCapabilities::from_bits(message.capabilities);
        }
        let answer = match &message.error_response {
            Some(error) => self.refused(error),
            None => Answer::Accepted,
        };
        self.answered(now, &answer);
        // ERR-1: whatever else stands beside an error was not meant.
        if answer == Answer::Accepted && !self.take_command(&message) {
            self.take_offers(message);
        }
    }

    fn refused(&mut self, error: &ServerErrorResponse) -> Answer {
        let text = line(&error.error_message);
        let kind =
            ServerErrorResponseType::try_from(error.r#type).unwrap_or(ServerErrorResponseType::Unknown);
        if kind != ServerErrorResponseType::Unavailable {
            let reason = match kind {
                ServerErrorResponseType::BadRequest => format!("bad request: {text}"),
                _ => format!("error without a known cause: {text}"),
            };
            self.event(Event::MessageRefused { reason });
            return Answer::Refused;
        }
        let retry_after = match &error.details {
            Some(server_error_response::Details::RetryInfo(info)) if info.retry_after_nanoseconds > 0 => {
                Some(Duration::from_nanos(info.retry_after_nanoseconds))
            }
            _ => None,
        };
        Answer::Unavailable { retry_after, text }
    }

    /// CMD-2: a command that the agent carries out is all that counts in its message.
    fn take_command(&mut self, message: &ServerToAgent) -> bool {
        let Some(command) = &message.command else { return false };
        let restart = CommandType::try_from(command.r#type) == Ok(CommandType::Restart);
        if restart && self.capabilities.value.has(Bit::AcceptsRestartCommand) {
            self.event(Event::RestartRequested);
            return true;
        }
        let reason = "a command came that the agent does not support".to_owned();
        self.event(Event::Ignored { reason });
        false
    }

    fn take_offers(&mut self, message: ServerToAgent) {
        if let Some(identification) = &message.agent_identification {
            self.take_identity(&identification.new_instance_uid);
        }
        if message.flags & ServerToAgentFlags::ReportFullState as u64 != 0 {
            self.wanted.full = true;
            self.event(Event::FullStateRequested);
        }
        if message.flags & ServerToAgentFlags::ReportAvailableComponents as u64 != 0 {
            self.wanted.components = true;
        }
        if let Some(opamp) = message.connection_settings.and_then(|offers| offers.opamp) {
            // Ambiguity 27: the interval counts for every agent that has heartbeats.
            if self.capabilities.value.has(Bit::ReportsHeartbeat) {
                self.offered_heartbeat = Some(opamp.heartbeat_interval_seconds);
            }
        }
        if let Some(offer) = message.remote_config {
            self.offered_config(offer);
        }
    }

    /// UID-15. Stored before it is used, so that a crash cannot bring the old value back.
    fn take_identity(&mut self, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        match InstanceUid::try_from_slice(bytes) {
            Err(error) => self.event(Event::Ignored { reason: format!("new_instance_uid: {error}") }),
            Ok(new) => {
                self.identity.request = false;
                let old = std::mem::replace(&mut self.identity.uid, new);
                // Also when it is the temporary value that the server confirmed.
                self.persist();
                if old != new {
                    self.identity.previous = Some(old);
                    self.event(Event::InstanceUidChanged { old, new });
                }
            }
        }
    }
}

/// The peer's words, cut to one line that fits a log.
pub(super) fn line(text: &str) -> String {
    let mut line: String = text.chars().take(300).map(|c| if c.is_control() { ' ' } else { c }).collect();
    line.truncate(line.trim_end().len());
    line
}
