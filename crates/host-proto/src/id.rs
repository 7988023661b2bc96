//! Identifiers: a prefix that says what is named, and 26 characters of a ULID. They are made by the control plane (or,
//! for messages, by the sender) and only compared here, so any text with the right prefix and harmless characters is
//! one: a later version may make them another way.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize};

/// Longest identifier in bytes.
pub const MAX_ID: usize = 64;

/// A text that is no identifier of the kind that was expected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not an identifier that begins with `{prefix}`")]
pub struct BadId {
    /// What it should begin with.
    pub prefix: &'static str,
}

fn check(text: &str, prefix: &'static str) -> Result<(), BadId> {
    let rest = text.strip_prefix(prefix).ok_or(BadId { prefix })?;
    let harmless = rest.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_');
    if rest.is_empty() || text.len() > MAX_ID || !harmless { Err(BadId { prefix }) } else { Ok(()) }
}

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident = $prefix:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
        #[serde(transparent)]
        pub struct $name(String);

        impl $name {
            /// What every identifier of this kind begins with.
            pub const PREFIX: &'static str = $prefix;

            /// The identifier of a moment (milliseconds since 1970) and 80 random bits: identifiers sort by age.
            pub fn generate(unix_ms: u64, random: [u8; 10]) -> Self {
                Self(format!("{}{}", $prefix, ulid(unix_ms, random)))
            }

            /// The text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl FromStr for $name {
            type Err = BadId;

            fn from_str(text: &str) -> Result<Self, BadId> {
                check(text, $prefix)?;
                Ok(Self(text.to_owned()))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = String::deserialize(deserializer)?;
                check(&text, $prefix).map_err(serde::de::Error::custom)?;
                Ok(Self(text))
            }
        }
    )*};
}

ids! {
    /// A host: a machine that joined. Never reused, and never derived from a name or address (R1).
    HostId = "hst_";
    /// One container that should exist: an instance of a service in one release, on one host.
    ReplicaId = "rep_";
    /// A service of a project.
    ServiceId = "svc_";
    /// What a service runs: image and settings, never changed after it was made.
    ReleaseId = "rel_";
    /// A project: what one Compose file describes.
    ProjectId = "prj_";
    /// A network of a project on a host; another one when something about it changes that an engine cannot change (R35).
    NetworkId = "net_";
    /// A volume of a project on a host.
    VolumeId = "vol_";
    /// A file or secret that containers see.
    FileId = "fil_";
    /// A firewall rule.
    RuleId = "fwr_";
    /// A port or name that traffic comes in by.
    RouteId = "rte_";
    /// A certificate.
    CertificateId = "crt_";
    /// A log subscription.
    SubscriptionId = "sub_";
    /// A log query.
    QueryId = "qry_";
    /// A connection, for logs.
    SessionId = "ses_";
}

/// 48 bits of time and 80 of chance in Crockford's base 32.
fn ulid(unix_ms: u64, random: [u8; 10]) -> String {
    const DIGITS: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
    let mut number = u128::from(unix_ms & 0xFFFF_FFFF_FFFF) << 80;
    for (place, byte) in random.iter().enumerate() {
        number |= u128::from(*byte) << (72 - 8 * place);
    }
    let mut text = String::with_capacity(26);
    for place in (0..26).rev() {
        let digit = usize::try_from((number >> (5 * place)) & 31).unwrap_or_default();
        text.push(char::from(DIGITS[digit]));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_sort_by_age_and_keep_their_kind() {
        let older = HostId::generate(1_000, [255; 10]);
        let newer = HostId::generate(1_001, [0; 10]);
        assert!(older < newer);
        assert_eq!(older.as_str().len(), 30);
        assert_eq!(older.as_str().parse::<HostId>(), Ok(older.clone()));
        assert_eq!(older.as_str().parse::<ReplicaId>(), Err(BadId { prefix: "rep_" }));
        for bad in ["hst_", "hst_../x", "hst_a b", "", &format!("hst_{}", "x".repeat(61))] {
            assert!(bad.parse::<HostId>().is_err(), "{bad}");
        }
    }
}
