//! Tokens for programs that call the API. Each belongs to the user who made it, or on whose behalf it was made, and
//! never may do more than that user.

use std::fmt;

use crate::credential::TokenHash;
use crate::time::UnixMillis;
use crate::user::Role;

/// The number of an API token in the database.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ApiTokenId(pub i64);

impl fmt::Display for ApiTokenId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The text of an API token, shown once: `muster_api_` and 64 hexadecimal digits.
#[derive(Clone, PartialEq, Eq)]
pub struct ApiTokenText(String);

impl ApiTokenText {
    /// What every token begins with, so that it is known for what it is without asking the database, and scanners
    /// for leaked secrets find it.
    pub const PREFIX: &'static str = "muster_api_";

    /// The token of 32 random bytes.
    pub fn from_random(random: [u8; 32]) -> Self {
        let digits = random.iter().map(|byte| format!("{byte:02x}"));
        Self(Self::PREFIX.to_owned() + &digits.collect::<String>())
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

impl fmt::Debug for ApiTokenText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ApiTokenText(muster_api_…)")
    }
}

/// An API token as the server knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiToken {
    /// Its number.
    pub id: ApiTokenId,
    /// What its maker called it.
    pub label: String,
    /// What it was made for.
    pub role: Role,
    /// The user that it belongs to.
    pub owner: String,
    /// When it was made.
    pub created_at: UnixMillis,
    /// When it ends by itself.
    pub expires_at: Option<UnixMillis>,
    /// When it was revoked.
    pub revoked_at: Option<UnixMillis>,
    /// When it was used last, to the minute.
    pub last_used_at: Option<UnixMillis>,
}

impl ApiToken {
    /// Its name in the audit trail: labels need not be unique.
    pub fn name(&self) -> String {
        format!("{}#{}", self.label, self.id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_a_prefix_and_64_digits_and_its_debug_form_hides_it() {
        let token = ApiTokenText::from_random([0x0b; 32]);
        assert_eq!(token.as_str(), format!("muster_api_{}", "0b".repeat(32)));
        assert_eq!(token.hash(), TokenHash::of(token.as_str()));
        assert_eq!(format!("{token:?}"), "ApiTokenText(muster_api_…)");
    }
}
