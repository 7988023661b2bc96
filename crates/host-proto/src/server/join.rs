//! Whether a machine becomes a host (JOIN-3, JOIN-7, JOIN-8): the decision alone. The caller looks up what it needs in
//! one transaction with what it writes, so that two joins at once cannot both be the first.

use crate::id::HostId;
use crate::join::JoinError;

/// What is known about a join token. One that is not known at all is [`JoinError::JoinTokenInvalid`] before this.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenRecord {
    /// The operator took it back.
    pub revoked: bool,
    /// Its time is over, by the server's clock.
    pub expired: bool,
    /// For which host it was made, when it is for one that exists (R3).
    pub for_host: Option<HostId>,
    /// Who used it.
    pub used_by: Option<Machine>,
}

/// A machine that became a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Machine {
    /// Which host it is.
    pub host: HostId,
    /// `/etc/machine-id`.
    pub machine_id: String,
    /// WireGuard key in base64.
    pub wg_public_key: String,
    /// Made once by its agent.
    pub instance_id: String,
}

/// What to do about a join.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JoinVerdict {
    /// Make a host; the token is used up.
    Create,
    /// The same machine again, whose answer was lost: the same host, a fresh token (JOIN-8).
    Repeat(HostId),
    /// The host exists and gets another machine or key: `id`, name and mesh address stay, token, key and ratchet are
    /// replaced (R3); the join token is used up.
    Rejoin(HostId),
    /// No.
    Refuse {
        /// Why.
        error: JoinError,
        /// Whose the token or the machine is (JOIN-7).
        existing: Option<HostId>,
    },
}

/// A machine that asks to be a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Asking<'a> {
    /// `/etc/machine-id`.
    pub machine_id: &'a str,
    /// WireGuard key in base64.
    pub wg_public_key: &'a str,
    /// Made once by its agent, and there before it asks for the first time.
    pub instance_id: &'a str,
}

impl Asking<'_> {
    /// Another agent on the machine, or one that forgot who it was, is not the one whose answer was lost: a repetition
    /// ends the token of the first, which may be in use.
    fn is(&self, machine: &Machine) -> bool {
        let Self { machine_id, wg_public_key, instance_id } = *self;
        let Machine { host: _, machine_id: m, wg_public_key: k, instance_id: i } = machine;
        (machine_id, wg_public_key, instance_id) == (m, k, i)
    }
}

/// Decides about a join. `others` are the hosts with the machine-id or the key of who asks.
pub fn decide(token: &TokenRecord, asking: Asking<'_>, others: &[Machine]) -> JoinVerdict {
    let refuse =
        |error, existing: Option<&HostId>| JoinVerdict::Refuse { error, existing: existing.cloned() };
    if let Some(user) = &token.used_by {
        return match (asking.is(user), token.revoked, token.expired) {
            (_, true, _) => refuse(JoinError::JoinTokenInvalid, None),
            (false, ..) => refuse(JoinError::DuplicateHost, Some(&user.host)),
            (true, false, true) => refuse(JoinError::JoinTokenExpired, Some(&user.host)),
            (true, false, false) => JoinVerdict::Repeat(user.host.clone()),
        };
    }
    if token.revoked {
        return refuse(JoinError::JoinTokenInvalid, None);
    }
    if token.expired {
        return refuse(JoinError::JoinTokenExpired, None);
    }
    match others.iter().find(|other| Some(&other.host) != token.for_host.as_ref()) {
        Some(other) => refuse(JoinError::DuplicateHost, Some(&other.host)),
        None => token.for_host.clone().map_or(JoinVerdict::Create, JoinVerdict::Rejoin),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(last: &str) -> HostId {
        format!("hst_{last}").parse().unwrap()
    }

    fn machine(last: &str, key: &str) -> Machine {
        Machine {
            host: host(last),
            machine_id: format!("m{last}"),
            wg_public_key: key.to_owned(),
            instance_id: "i".to_owned(),
        }
    }

    fn decide(token: &TokenRecord, machine_id: &str, wg_public_key: &str, others: &[Machine]) -> JoinVerdict {
        super::decide(token, Asking { machine_id, wg_public_key, instance_id: "i" }, others)
    }

    fn token(used_by: Option<Machine>) -> TokenRecord {
        TokenRecord { revoked: false, expired: false, for_host: None, used_by }
    }

    #[test]
    fn join_3_and_join_8_a_token_makes_one_host_and_the_same_machine_gets_the_same() {
        assert_eq!(decide(&token(None), "m1", "k1", &[]), JoinVerdict::Create);
        let used = token(Some(machine("1", "k1")));
        assert_eq!(decide(&used, "m1", "k1", &[machine("1", "k1")]), JoinVerdict::Repeat(host("1")));
        let late = TokenRecord { expired: true, ..used };
        let refused = JoinVerdict::Refuse { error: JoinError::JoinTokenExpired, existing: Some(host("1")) };
        assert_eq!(decide(&late, "m1", "k1", &[]), refused);
    }

    #[test]
    fn join_7_the_token_of_another_machine_or_key_is_a_duplicate_host() {
        let used = token(Some(machine("1", "k1")));
        let duplicate = JoinVerdict::Refuse { error: JoinError::DuplicateHost, existing: Some(host("1")) };
        assert_eq!(decide(&used, "m2", "k1", &[]), duplicate);
        assert_eq!(decide(&used, "m1", "k2", &[]), duplicate);
        let other_agent = Asking { machine_id: "m1", wg_public_key: "k1", instance_id: "other" };
        assert_eq!(super::decide(&used, other_agent, &[machine("1", "k1")]), duplicate);
        let other_token = decide(&token(None), "m1", "k9", &[machine("1", "k1")]);
        assert_eq!(other_token, duplicate, "the machine is a host already");
    }

    #[test]
    fn a_token_for_a_host_replaces_its_machine() {
        let record = TokenRecord { for_host: Some(host("1")), ..token(None) };
        assert_eq!(decide(&record, "m1", "k2", &[machine("1", "k1")]), JoinVerdict::Rejoin(host("1")));
        let other = JoinVerdict::Refuse { error: JoinError::DuplicateHost, existing: Some(host("2")) };
        assert_eq!(decide(&record, "m2", "k3", &[machine("2", "k2")]), other);
    }

    #[test]
    fn revoked_and_expired_tokens_are_told_apart() {
        let revoked = TokenRecord { revoked: true, ..token(Some(machine("1", "k1"))) };
        let invalid = JoinVerdict::Refuse { error: JoinError::JoinTokenInvalid, existing: None };
        assert_eq!(decide(&revoked, "m1", "k1", &[]), invalid);
        let expired = TokenRecord { expired: true, ..token(None) };
        let late = JoinVerdict::Refuse { error: JoinError::JoinTokenExpired, existing: None };
        assert_eq!(decide(&expired, "m1", "k1", &[]), late);
    }
}
