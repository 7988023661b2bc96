//! Writes an AgentToServer: which fields go in, and what the server is taken to know afterwards.

use bytes::{BufMut, Bytes, BytesMut};
use prost::encoding::{WireType, encode_key, encode_varint};

use super::{AgentSession, Output, Transport};
use crate::moment::Moment;
use crate::raw::{Part, PartSet};
use crate::uid::InstanceUid;
use crate::wire::{AgentCapabilities as Bit, AgentToServerFlags, ServerCapabilities as ServerBit};

/// A message ready to travel.
#[derive(Debug, Clone)]
pub(super) struct Composed {
    instance_uid: InstanceUid,
    payload: Bytes,
}

impl Composed {
    pub(super) fn send(&self) -> Output {
        Output::Send { instance_uid: self.instance_uid, payload: self.payload.clone() }
    }
}

/// Whether this is the last message before the connection ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Farewell {
    No,
    /// With `agent_disconnect` set (CLOSE-1).
    Yes,
}

impl AgentSession {
    /// The parts that may be sent at all: the agent promised them (CAP-17 and its kin, `C14`), and a server
    /// that has said what it can do can use them (INTEROP-3).
    pub(super) fn allowed(&self, part: Part) -> bool {
        let server_lacks = |bit| !self.server.is_unspecified() && !self.server.has(bit);
        let promised = |bit| self.capabilities.value.has(bit);
        match part {
            Part::Description | Part::CustomCapabilities => true,
            Part::Health => promised(Bit::ReportsHealth),
            Part::EffectiveConfig => {
                promised(Bit::ReportsEffectiveConfig) && !server_lacks(ServerBit::AcceptsEffectiveConfig)
            }
            Part::RemoteConfigStatus => promised(Bit::ReportsRemoteConfig),
            Part::PackageStatuses => {
                promised(Bit::ReportsPackageStatuses) && !server_lacks(ServerBit::AcceptsPackagesStatus)
            }
            Part::AvailableComponents => promised(Bit::ReportsAvailableComponents),
            Part::ConnectionSettingsStatus => promised(Bit::ReportsConnectionSettingsStatus),
        }
    }

    /// The parts that the next message carries.
    fn due(&self) -> PartSet {
        let candidates = if self.wanted.full { self.parts.present() } else { self.parts.changed() };
        candidates.iter().filter(|part| self.allowed(*part)).collect()
    }

    /// Whether a message has to go out although no poll and no heartbeat is due.
    pub(super) fn has_news(&self) -> bool {
        self.wanted.full || self.components_due() || self.capabilities.changed || !self.due().is_empty()
    }

    fn components_due(&self) -> bool {
        self.wanted.components && self.allowed(Part::AvailableComponents) && self.parts.components().is_some()
    }

    /// Takes the next sequence number and everything that is due.
    pub(super) fn compose(&mut self, now: Moment, farewell: Farewell) -> Composed {
        let mut buffer = BytesMut::with_capacity(256);
        if self.transport == Transport::WebSocket {
            buffer.put_u8(0);
        }
        let mut due = self.due();
        let full_components = self.components_due();
        if full_components {
            due.insert(Part::AvailableComponents);
        }
        if self.wanted.config_status && self.allowed(Part::RemoteConfigStatus) {
            due.insert(Part::RemoteConfigStatus);
        }
        put_bytes(&mut buffer, 1, self.identity.uid.as_bytes());
        put_number(&mut buffer, 2, self.sequence);
        self.put_part(&mut buffer, due, Part::Description);
        put_number(&mut buffer, 4, self.capabilities.value.bits());
        for part in [Part::Health, Part::EffectiveConfig, Part::RemoteConfigStatus, Part::PackageStatuses] {
            self.put_part(&mut buffer, due, part);
        }
        if farewell == Farewell::Yes {
            put_bytes(&mut buffer, 9, &[]);
        }
        if self.identity.request {
            put_number(&mut buffer, 10, AgentToServerFlags::RequestInstanceUid as u64);
        }
        self.put_part(&mut buffer, due, Part::CustomCapabilities);
        match self.parts.components() {
            Some(all) if full_components => put_bytes(&mut buffer, 14, all),
            _ => self.put_part(&mut buffer, due, Part::AvailableComponents),
        }
        self.put_part(&mut buffer, due, Part::ConnectionSettingsStatus);
        self.note_sent(now, due);
        Composed { instance_uid: self.identity.uid, payload: buffer.freeze() }
    }

    fn put_part(&self, buffer: &mut BytesMut, due: PartSet, part: Part) {
        if let Some(bytes) = self.parts.current(part).filter(|_| due.contains(part)) {
            put_bytes(buffer, field_number(part), bytes);
        }
    }

    fn note_sent(&mut self, now: Moment, sent: PartSet) {
        for part in sent.iter() {
            self.parts.mark_reported(part);
        }
        self.unconfirmed = self.unconfirmed.union(sent);
        self.capabilities.changed = false;
        self.wanted = super::Wanted::default();
        self.sequence += 1;
        self.last_sent = now;
    }
}

const fn field_number(part: Part) -> u32 {
    match part {
        Part::Description => 3,
        Part::Health => 5,
        Part::EffectiveConfig => 6,
        Part::RemoteConfigStatus => 7,
        Part::PackageStatuses => 8,
        Part::CustomCapabilities => 12,
        Part::AvailableComponents => 14,
        Part::ConnectionSettingsStatus => 15,
    }
}

fn put_bytes(buffer: &mut BytesMut, field: u32, bytes: &[u8]) {
    encode_key(field, WireType::LengthDelimited, buffer);
    encode_varint(bytes.len() as u64, buffer);
    buffer.put_slice(bytes);
}

fn put_number(buffer: &mut BytesMut, field: u32, value: u64) {
    if value != 0 {
        encode_key(field, WireType::Varint, buffer);
        encode_varint(value, buffer);
    }
}
