//! Credentials that agents enrol with. Only the hash of a token's text exists in the server; comparing goes
//! by that hash, which is looked up, so no text is ever compared byte by byte.

use std::fmt;

use opamp_proto::hash::sha256;

use crate::time::UnixMillis;

/// The number of a credential in the database.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CredentialId(pub i64);

impl fmt::Display for CredentialId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// SHA-256 of a secret text: of an enrolment token or of a session's cookie.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct TokenHash(pub [u8; 32]);

impl TokenHash {
    /// The hash of a text that someone presented.
    pub fn of(text: &str) -> Self {
        Self(sha256(text.as_bytes()))
    }
}

impl fmt::Debug for TokenHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TokenHash({:02x}{:02x}…)", self.0[0], self.0[1])
    }
}

/// The text of an enrolment token, shown once: `mst_` and 64 hexadecimal digits.
#[derive(Clone, PartialEq, Eq)]
pub struct EnrolmentToken(String);

impl EnrolmentToken {
    /// What every token begins with, so that scanners for leaked secrets find it.
    pub const PREFIX: &'static str = "mst_";

    /// The token of 32 random bytes.
    pub fn from_random(random: [u8; 32]) -> Self {
        let mut text = String::with_capacity(Self::PREFIX.len() + 64);
        text.push_str(Self::PREFIX);
        for byte in random {
            for digit in [byte >> 4, byte & 0xf] {
                text.push(char::from_digit(u32::from(digit), 16).unwrap_or('0'));
            }
        }
        Self(text)
    }

    /// The text, to be shown once.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// What is stored.
    pub fn hash(&self) -> TokenHash {
        TokenHash::of(&self.0)
    }
}

impl fmt::Debug for EnrolmentToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("EnrolmentToken(mst_…)")
    }
}

/// An enrolment token as the server knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Credential {
    /// Its number.
    pub id: CredentialId,
    /// What the operator called it.
    pub label: String,
    /// When it was made.
    pub created_at: UnixMillis,
    /// From when on it enrols nobody new; agents that it enrolled stay.
    pub expires_at: Option<UnixMillis>,
    /// When it was revoked: it serves nobody any more.
    pub revoked_at: Option<UnixMillis>,
    /// When an agent used it last, to the minute.
    pub last_used_at: Option<UnixMillis>,
    /// How many agents are bound to it.
    pub agents: u64,
}

/// What a credential is good for at a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Validity {
    /// Enrols new agents and serves those that it enrolled.
    Open,
    /// Expired: serves only agents that it enrolled.
    KnownAgentsOnly,
    /// Revoked.
    Revoked,
}

impl Credential {
    /// What it is good for at `now`.
    pub fn validity(&self, now: UnixMillis) -> Validity {
        validity(self.expires_at, self.revoked_at, now)
    }
}

/// What a credential with these marks is good for at `now`.
pub fn validity(expires_at: Option<UnixMillis>, revoked_at: Option<UnixMillis>, now: UnixMillis) -> Validity {
    if revoked_at.is_some() {
        Validity::Revoked
    } else if expires_at.is_some_and(|end| end <= now) {
        Validity::KnownAgentsOnly
    } else {
        Validity::Open
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_a_prefix_and_64_digits_and_its_debug_form_hides_it() {
        let token = EnrolmentToken::from_random([0xa7; 32]);
        assert_eq!(token.as_str(), format!("mst_{}", "a7".repeat(32)));
        assert_eq!(token.hash(), TokenHash::of(token.as_str()));
        assert_eq!(format!("{token:?}"), "EnrolmentToken(mst_…)");
        assert!(!format!("{:?}", token.hash()).contains(&format!("{:02x}", token.hash().0[3]).repeat(2)));
    }

    #[test]
    fn an_expired_credential_serves_known_agents_and_a_revoked_one_nobody() {
        let (now, later) = (UnixMillis(1000), UnixMillis(1001));
        assert_eq!(validity(None, None, now), Validity::Open);
        assert_eq!(validity(Some(later), None, now), Validity::Open);
        assert_eq!(validity(Some(now), None, now), Validity::KnownAgentsOnly);
        assert_eq!(validity(Some(later), Some(now), now), Validity::Revoked);
    }
}
