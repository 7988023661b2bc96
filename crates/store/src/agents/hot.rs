//! The part of an agent's row that changes while it lives, and how a write changes it.

use model::{RemoteConfigState, SessionEpoch, UnixMillis};
use opamp_proto::Part;
use opamp_proto::wire::{self, Message as _};

use super::attributes::cut;
use super::row::transport_number;
use super::write::{AgentWrite, Mark};

/// The longest status text and error text in a row, in bytes; the whole texts are in the report.
const MAX_STATUS: usize = 256;
pub(super) const MAX_ERROR: usize = 1024;

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Hot {
    pub(super) epoch: SessionEpoch,
    pub(super) last_seen: UnixMillis,
    pub(super) connected_since: i64,
    pub(super) silent_since: Option<i64>,
    pub(super) disconnected_at: Option<i64>,
    pub(super) transport: i64,
    pub(super) peer_address: String,
    pub(super) sequence_num: u64,
    pub(super) capabilities: u64,
    pub(super) healthy: Option<bool>,
    pub(super) health_status: String,
    pub(super) remote_config: RemoteConfigColumns,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct RemoteConfigColumns {
    pub(super) status: Option<i32>,
    pub(super) hash: Option<Vec<u8>>,
    pub(super) error: String,
}

impl RemoteConfigColumns {
    /// What a row says of an encoded status. What cannot be decoded was refused by the session already.
    pub(super) fn of(bytes: &[u8]) -> Option<Self> {
        let wire = wire::RemoteConfigStatus::decode(bytes).ok()?;
        let number = wire.status;
        let RemoteConfigState { status: _, hash, error } = wire.into();
        Some(Self {
            status: Some(number),
            hash: (!hash.is_empty()).then_some(hash),
            error: cut(&error, MAX_ERROR).to_owned(),
        })
    }
}

impl Hot {
    /// A row of which nothing is known yet.
    pub(super) fn new(epoch: SessionEpoch, last_seen: UnixMillis) -> Self {
        Self {
            epoch,
            last_seen,
            connected_since: last_seen.0,
            silent_since: None,
            disconnected_at: None,
            transport: transport_number(model::Transport::WebSocket),
            peer_address: String::new(),
            sequence_num: 0,
            capabilities: 0,
            healthy: None,
            health_status: String::new(),
            remote_config: RemoteConfigColumns::default(),
        }
    }

    /// Makes the changes that a write asks for.
    pub(super) fn take(&mut self, write: &AgentWrite) {
        let AgentWrite { uid: _, epoch, last_seen: _, sequence_num, capabilities, session, mark, parts } =
            write;
        if self.epoch < *epoch {
            self.epoch = *epoch;
            // Marks of an older session say nothing of this one.
            (self.silent_since, self.disconnected_at) = (None, None);
        }
        self.sequence_num = *sequence_num;
        if let Some(session) = session {
            self.transport = transport_number(session.transport);
            self.peer_address.clone_from(&session.peer_address);
            self.connected_since = session.since.0;
            (self.silent_since, self.disconnected_at) = (None, None);
        }
        match mark {
            None => {}
            Some(Mark::Silent(at)) => self.silent_since = Some(at.0),
            Some(Mark::Heard) => self.silent_since = None,
            Some(Mark::Disconnected(at)) => self.disconnected_at = Some(at.0),
        }
        if let Some(capabilities) = capabilities {
            self.capabilities = capabilities.bits();
        }
        if let Some(bytes) = parts.get(Part::Health) {
            self.take_health(bytes);
        }
        if let Some(status) = parts.get(Part::RemoteConfigStatus) {
            self.take_remote_config(status);
        }
    }

    fn take_health(&mut self, bytes: &[u8]) {
        let (healthy, status) = health_of(bytes);
        self.healthy = Some(healthy);
        let status = cut(status, MAX_STATUS);
        if self.health_status != status {
            status.clone_into(&mut self.health_status);
        }
    }

    fn take_remote_config(&mut self, bytes: &[u8]) {
        if let Some(columns) = RemoteConfigColumns::of(bytes) {
            self.remote_config = columns;
        }
    }

    /// Whether the row must be written. The last message's time and number alone are no reason: else every
    /// heartbeat would be a write.
    pub(super) fn differs(&self, stored: &Self) -> bool {
        let Self {
            epoch,
            last_seen: _,
            connected_since,
            silent_since,
            disconnected_at,
            transport,
            peer_address,
            sequence_num: _,
            capabilities,
            healthy,
            health_status,
            remote_config,
        } = self;
        *epoch != stored.epoch
            || *connected_since != stored.connected_since
            || *silent_since != stored.silent_since
            || *disconnected_at != stored.disconnected_at
            || *transport != stored.transport
            || *peer_address != stored.peer_address
            || *capabilities != stored.capabilities
            || *healthy != stored.healthy
            || *health_status != stored.health_status
            || *remote_config != stored.remote_config
    }
}

/// `healthy` and `status` of an encoded ComponentHealth. Read by hand: decoding the tree of components for two
/// fields would cost more than writing the row.
fn health_of(bytes: &[u8]) -> (bool, &str) {
    use prost::encoding::{DecodeContext, WireType, decode_key, decode_varint, skip_field};
    let (mut healthy, mut status, mut rest) = (false, "", bytes);
    while !rest.is_empty() {
        let Ok((number, wire_type)) = decode_key(&mut rest) else { break };
        match (number, wire_type) {
            (1, WireType::Varint) => match decode_varint(&mut rest) {
                Ok(value) => healthy = value != 0,
                Err(_) => break,
            },
            (_, WireType::LengthDelimited) => {
                let Ok(length) = decode_varint(&mut rest) else { break };
                let Some((field, after)) =
                    usize::try_from(length).ok().and_then(|at| rest.split_at_checked(at))
                else {
                    break;
                };
                if number == 4 {
                    status = std::str::from_utf8(field).unwrap_or("");
                }
                rest = after;
            }
            _ if skip_field(wire_type, number, &mut rest, DecodeContext::default()).is_err() => break,
            _ => {}
        }
    }
    (healthy, status)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn health_1_reading_two_fields_agrees_with_the_decoder() {
        let part = wire::ComponentHealth { status: "inner".into(), ..Default::default() };
        let health = wire::ComponentHealth {
            healthy: true,
            start_time_unix_nano: 7,
            last_error: "none".into(),
            status: "StatusOK".into(),
            status_time_unix_nano: 8,
            component_health_map: [("a".to_owned(), part)].into(),
            attributes: Vec::new(),
        };
        assert_eq!(health_of(&health.encode_to_vec()), (true, "StatusOK"));
        assert_eq!(health_of(&[]), (false, ""));
        assert_eq!(health_of(&[0x08]), (false, ""));
        assert_eq!(health_of(&[0x22, 0xff]), (false, ""));
    }
}
