//! An AgentToServer as it came: numbers are read, sub-messages stay encoded.
//!
//! A server compares most sub-messages with what it has, and stores or relays the rest; both work on bytes.
//! Nothing is copied, and fields that this version does not know survive inside each part (INTEROP-4).

mod files;
mod shape;

use std::borrow::Cow;

use prost::Message;
use prost::encoding::{WireType, decode_key, decode_varint};

use crate::limits::MAX_CONFIG_FILES;
use crate::wire;

/// The sub-messages that status compression can omit (COMP-3), in the order of their field numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Part {
    /// `agent_description`, 3.
    Description,
    /// `health`, 5.
    Health,
    /// `effective_config`, 6.
    EffectiveConfig,
    /// `remote_config_status`, 7.
    RemoteConfigStatus,
    /// `package_statuses`, 8.
    PackageStatuses,
    /// `custom_capabilities`, 12.
    CustomCapabilities,
    /// `available_components`, 14.
    AvailableComponents,
    /// `connection_settings_status`, 15.
    ConnectionSettingsStatus,
}

impl Part {
    /// Every part.
    pub const ALL: [Self; 8] = [
        Self::Description,
        Self::Health,
        Self::EffectiveConfig,
        Self::RemoteConfigStatus,
        Self::PackageStatuses,
        Self::CustomCapabilities,
        Self::AvailableComponents,
        Self::ConnectionSettingsStatus,
    ];

    /// The field's name in AgentToServer.
    pub const fn field(self) -> &'static str {
        match self {
            Self::Description => "agent_description",
            Self::Health => "health",
            Self::EffectiveConfig => "effective_config",
            Self::RemoteConfigStatus => "remote_config_status",
            Self::PackageStatuses => "package_statuses",
            Self::CustomCapabilities => "custom_capabilities",
            Self::AvailableComponents => "available_components",
            Self::ConnectionSettingsStatus => "connection_settings_status",
        }
    }

    /// The shape of the parts that come often.
    const fn shape(self) -> Option<&'static shape::Shape> {
        Some(match self {
            Self::Description => &shape::DESCRIPTION,
            Self::Health => &shape::HEALTH,
            Self::EffectiveConfig => &shape::EFFECTIVE_CONFIG,
            Self::RemoteConfigStatus | Self::ConnectionSettingsStatus => &shape::STATUS,
            Self::CustomCapabilities => &shape::CUSTOM_CAPABILITIES,
            Self::PackageStatuses | Self::AvailableComponents => return None,
        })
    }

    const fn of_field(number: u32) -> Option<Self> {
        Some(match number {
            3 => Self::Description,
            5 => Self::Health,
            6 => Self::EffectiveConfig,
            7 => Self::RemoteConfigStatus,
            8 => Self::PackageStatuses,
            12 => Self::CustomCapabilities,
            14 => Self::AvailableComponents,
            15 => Self::ConnectionSettingsStatus,
            _ => return None,
        })
    }

    /// The most bytes that are taken. A message of tiny elements takes some 60 times its size once it is decoded, and
    /// none of these parts is long in earnest. An effective configuration is, but has few files: those are counted.
    pub const fn max_bytes(self) -> Option<usize> {
        match self {
            Self::Description
            | Self::RemoteConfigStatus
            | Self::CustomCapabilities
            | Self::ConnectionSettingsStatus => Some(1024 * 1024),
            Self::Health | Self::PackageStatuses | Self::AvailableComponents => Some(4 * 1024 * 1024),
            Self::EffectiveConfig => None,
        }
    }

    /// Whether the bytes are a message of this part's type.
    fn check(self, bytes: &[u8]) -> Result<(), prost::DecodeError> {
        if self.shape().is_some_and(|shape| shape::fits(shape, bytes)) {
            return Ok(());
        }
        match self {
            Self::Description => wire::AgentDescription::decode(bytes).map(drop),
            Self::Health => wire::ComponentHealth::decode(bytes).map(drop),
            Self::EffectiveConfig => wire::EffectiveConfig::decode(bytes).map(drop),
            Self::RemoteConfigStatus => wire::RemoteConfigStatus::decode(bytes).map(drop),
            Self::PackageStatuses => wire::PackageStatuses::decode(bytes).map(drop),
            Self::CustomCapabilities => wire::CustomCapabilities::decode(bytes).map(drop),
            Self::AvailableComponents => wire::AvailableComponents::decode(bytes).map(drop),
            Self::ConnectionSettingsStatus => wire::ConnectionSettingsStatus::decode(bytes).map(drop),
        }
    }
}

/// A set of parts.
#[derive(Clone, Copy, PartialEq, Eq, Default, Hash)]
pub struct PartSet(u8);

impl std::fmt::Debug for PartSet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

impl PartSet {
    /// No part.
    pub const EMPTY: Self = Self(0);
    /// All parts.
    pub const ALL: Self = Self(0xff);

    /// Adds a part.
    pub const fn insert(&mut self, part: Part) {
        self.0 |= 1 << part as u8;
    }

    /// Whether the part is in the set.
    pub const fn contains(self, part: Part) -> bool {
        self.0 & (1 << part as u8) != 0
    }

    /// Whether no part is in the set.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Both sets together.
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The parts in the set.
    pub fn iter(self) -> impl Iterator<Item = Part> {
        Part::ALL.into_iter().filter(move |part| self.contains(*part))
    }
}

impl FromIterator<Part> for PartSet {
    fn from_iter<I: IntoIterator<Item = Part>>(parts: I) -> Self {
        parts.into_iter().fold(Self::EMPTY, |mut set, part| {
            set.insert(part);
            set
        })
    }
}

/// Why bytes are no AgentToServer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RawError {
    /// The outer message is broken.
    #[error("AgentToServer is malformed: {0}")]
    Message(String),
    /// A sub-message is broken.
    #[error("{field} is malformed: {reason}")]
    Field {
        /// Its name in AgentToServer.
        field: &'static str,
        /// What the decoder says, cut to a line.
        reason: String,
    },
}

/// A decoder's text can spell out a path of a hundred levels; a line is enough for a log or an answer.
fn line(error: &prost::DecodeError) -> String {
    let text = error.to_string();
    match text.char_indices().nth(160) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

fn broken(error: &prost::DecodeError) -> RawError {
    RawError::Message(line(error))
}

/// An AgentToServer whose sub-messages are still encoded.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RawAgentToServer<'a> {
    /// As sent, whatever its length.
    pub instance_uid: &'a [u8],
    /// 0 when unset.
    pub sequence_num: u64,
    /// 0 when unset.
    pub capabilities: u64,
    /// 0 when unset.
    pub flags: u64,
    /// Whether `agent_disconnect` is set.
    pub agent_disconnect: bool,
    /// `connection_settings_request`, encoded.
    pub connection_settings_request: Option<Cow<'a, [u8]>>,
    /// `custom_message`, encoded.
    pub custom_message: Option<Cow<'a, [u8]>>,
    parts: [Option<Cow<'a, [u8]>>; 8],
}

impl<'a> RawAgentToServer<'a> {
    /// Reads the outer message. Sub-messages are only cut out: see [`Self::check`].
    pub fn decode(bytes: &'a [u8]) -> Result<Self, RawError> {
        let mut message = Self::default();
        let mut rest = bytes;
        while !rest.is_empty() {
            let (number, wire_type) = decode_key(&mut rest).map_err(|e| broken(&e))?;
            match wire_type {
                WireType::Varint => {
                    let value = decode_varint(&mut rest).map_err(|e| broken(&e))?;
                    message.take_number(number, value)?;
                }
                WireType::LengthDelimited => {
                    let field = take(&mut rest)?;
                    message.take_bytes(number, field)?;
                }
                _ => skip(number, wire_type, &mut rest)?,
            }
        }
        Ok(message)
    }

    fn take_number(&mut self, number: u32, value: u64) -> Result<(), RawError> {
        match number {
            2 => self.sequence_num = value,
            4 => self.capabilities = value,
            10 => self.flags = value,
            1 | 3 | 5..=9 | 11..=15 => return Err(RawError::Message(format!("field {number} is a number"))),
            _ => {}
        }
        Ok(())
    }

    fn take_bytes(&mut self, number: u32, field: &'a [u8]) -> Result<(), RawError> {
        match number {
            1 => self.instance_uid = field,
            9 => self.agent_disconnect = true,
            11 => merge(&mut self.connection_settings_request, field),
            13 => merge(&mut self.custom_message, field),
            2 | 4 | 10 => return Err(RawError::Message(format!("field {number} is no number"))),
            _ => {
                if let Some(part) = Part::of_field(number) {
                    merge(&mut self.parts[part as usize], field);
                }
            }
        }
        Ok(())
    }

    /// The encoded sub-message, if the agent sent it.
    pub fn part(&self, part: Part) -> Option<&[u8]> {
        self.parts[part as usize].as_deref()
    }

    /// The parts that the agent sent.
    pub fn present(&self) -> PartSet {
        Part::ALL.into_iter().filter(|part| self.parts[*part as usize].is_some()).collect()
    }

    /// Whether nothing but instance_uid is set: a poll by the letter (HTTP-6).
    pub fn is_bare(&self) -> bool {
        self.sequence_num == 0
            && self.capabilities == 0
            && self.flags == 0
            && !self.agent_disconnect
            && self.connection_settings_request.is_none()
            && self.custom_message.is_none()
            && self.present().is_empty()
    }

    /// Whether a sub-message is well formed and within the limits. Done only for parts that changed, since what was
    /// stored was checked.
    pub fn check(&self, part: Part) -> Result<(), RawError> {
        let Some(bytes) = self.part(part) else { return Ok(()) };
        let refuse = |reason| Err(RawError::Field { field: part.field(), reason });
        if let Some(max) = part.max_bytes().filter(|max| bytes.len() > *max) {
            return refuse(format!("it has {} bytes, at most {max} are taken", bytes.len()));
        }
        if part == Part::EffectiveConfig && files::are_more_than(MAX_CONFIG_FILES, bytes) {
            return refuse(format!("it has more files than the {MAX_CONFIG_FILES} that are taken"));
        }
        part.check(bytes).or_else(|error| refuse(line(&error)))
    }
}

/// A singular message that occurs twice is the merge of both, and the merge of encodings is their concatenation.
fn merge<'a>(slot: &mut Option<Cow<'a, [u8]>>, field: &'a [u8]) {
    match slot {
        None => *slot = Some(Cow::Borrowed(field)),
        Some(first) => first.to_mut().extend_from_slice(field),
    }
}

fn take<'a>(rest: &mut &'a [u8]) -> Result<&'a [u8], RawError> {
    let length = decode_varint(rest).map_err(|e| broken(&e))?;
    let length = usize::try_from(length).ok().filter(|length| *length <= rest.len());
    let length = length.ok_or_else(|| RawError::Message("a field is longer than the message".to_owned()))?;
    let (field, after) = rest.split_at(length);
    *rest = after;
    Ok(field)
}

fn skip(number: u32, wire_type: WireType, rest: &mut &[u8]) -> Result<(), RawError> {
    if number <= 15 {
        return Err(RawError::Message(format!("field {number} has the wrong type")));
    }
    let context = prost::encoding::DecodeContext::default();
    prost::encoding::skip_field(wire_type, number, rest, context).map_err(|e| broken(&e))
}
