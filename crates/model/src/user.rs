//! People who sign in, and their sessions. Passwords are hashed by the control plane; here they are opaque.

use std::fmt;
use std::str::FromStr;

use crate::credential::TokenHash;
use crate::time::UnixMillis;

/// The number of a user in the database.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct UserId(pub i64);

/// What a user or an API token may do. Each role may do what those before it may.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// Look.
    Viewer,
    /// Change what agents get: configurations, assignments, labels, views, enrolment tokens.
    Operator,
    /// Everything: users, the API tokens of others, the audit trail's export.
    Admin,
}

impl Role {
    /// All of them, the least first.
    pub const ALL: [Self; 3] = [Self::Viewer, Self::Operator, Self::Admin];

    /// The word in the API and the database.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Viewer => "viewer",
            Self::Operator => "operator",
            Self::Admin => "admin",
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A word that is no role.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no role, use viewer, operator or admin")]
pub struct UnknownRole(pub String);

impl FromStr for Role {
    type Err = UnknownRole;

    fn from_str(text: &str) -> Result<Self, UnknownRole> {
        Self::ALL
            .into_iter()
            .find(|role| role.as_str() == text)
            .ok_or_else(|| UnknownRole(text.chars().take(64).collect()))
    }
}

/// A user.
#[derive(Clone, PartialEq, Eq)]
pub struct User {
    /// The number.
    pub id: UserId,
    /// The name to sign in with.
    pub name: String,
    /// What the user may do.
    pub role: Role,
    /// The password's hash in PHC form (argon2id).
    pub password_hash: String,
    /// When the user was made.
    pub created_at: UnixMillis,
    /// Since when the user may not sign in.
    pub disabled_at: Option<UnixMillis>,
    /// Counts the changes to the user.
    pub version: u64,
}

impl fmt::Debug for User {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("User")
            .field("id", &self.id)
            .field("name", &self.name)
            .field("role", &self.role)
            .finish_non_exhaustive()
    }
}

/// A session of a user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    /// SHA-256 of the cookie or bearer token.
    pub hash: TokenHash,
    /// Whose it is.
    pub user: UserId,
    /// The name of that user.
    pub user_name: String,
    /// What that user may do now.
    pub role: Role,
    /// SHA-256 of the CSRF token that goes with it.
    pub csrf_hash: TokenHash,
    /// When it began.
    pub created_at: UnixMillis,
    /// When it ends.
    pub expires_at: UnixMillis,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_role_may_do_what_the_lesser_ones_may_and_reads_back() {
        assert!(Role::Viewer < Role::Operator && Role::Operator < Role::Admin);
        for role in Role::ALL {
            assert_eq!(role.as_str().parse(), Ok(role));
        }
        assert!("root".parse::<Role>().is_err());
    }
}
