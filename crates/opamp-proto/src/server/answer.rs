//! A ServerToAgent of the ordinary kind, encoded without building the message first: a session answers every
//! message it gets, and most answers are twenty bytes long.

use std::sync::Arc;

use bytes::{BufMut, Bytes, BytesMut};
use prost::encoding::{WireType, encode_key, encode_varint};

use super::offer::ConfigOffer;
use crate::capabilities::ServerCapabilities;
use crate::uid::InstanceUid;
use crate::wire::ServerToAgentFlags;

/// What a session answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// UID-12: the instance_uid last received.
    pub uid: InstanceUid,
    /// Asks for everything again (FLAG-2).
    pub full_state: bool,
    /// Sent when not empty (SCAP-4).
    pub capabilities: ServerCapabilities,
    /// The instance_uid that the agent is to take (UID-15).
    pub renamed_to: Option<InstanceUid>,
    /// A configuration that is offered (RCFG-2).
    pub config: Option<Arc<ConfigOffer>>,
}

/// Largest length of an answer without its configuration.
const FIXED: usize = 1 + 18 + 11 + 11 + 20 + 11;

impl Answer {
    /// The encoded ServerToAgent, behind the header of a WebSocket message if `framed` (WS-8).
    pub fn encode(&self, framed: bool) -> Bytes {
        let config = self.config.as_ref().map(|config| config.encoded());
        let mut out = BytesMut::with_capacity(FIXED + config.map_or(0, |config| config.len()));
        if framed {
            out.put_u8(0);
        }
        field(1, self.uid.as_bytes(), &mut out);
        if let Some(config) = config {
            field(3, config, &mut out);
        }
        if self.full_state {
            number(6, ServerToAgentFlags::ReportFullState as u64, &mut out);
        }
        if !self.capabilities.is_unspecified() {
            number(7, self.capabilities.bits(), &mut out);
        }
        if let Some(uid) = self.renamed_to {
            encode_key(8, WireType::LengthDelimited, &mut out);
            encode_varint(18, &mut out);
            field(1, uid.as_bytes(), &mut out);
        }
        out.freeze()
    }
}

fn field(tag: u32, bytes: &[u8], out: &mut BytesMut) {
    encode_key(tag, WireType::LengthDelimited, out);
    encode_varint(bytes.len() as u64, out);
    out.put_slice(bytes);
}

fn number(tag: u32, value: u64, out: &mut BytesMut) {
    encode_key(tag, WireType::Varint, out);
    encode_varint(value, out);
}
