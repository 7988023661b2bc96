//! The enrolment tokens, in memory: every connection and every plain request is checked against them. Loaded at
//! start and kept in step by whoever makes or revokes one. Found by SHA-256, so no secret is compared byte by byte.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

use arc_swap::ArcSwap;
use http::{HeaderMap, header};
use model::{Credential, CredentialId, TokenHash, UnixMillis};

/// No token of ours is longer.
const MAX_TOKEN: usize = 256;

/// One token.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) id: CredentialId,
    revoked: AtomicBool,
    /// The last use that is not written yet; 0: none.
    used: AtomicI64,
}

impl Entry {
    /// Whether it is worth nothing any more.
    pub(crate) fn is_revoked(&self) -> bool {
        self.revoked.load(Ordering::Acquire)
    }

    /// Notes a use.
    pub(crate) fn touch(&self, now: UnixMillis) {
        self.used.fetch_max(now.0, Ordering::Relaxed);
    }
}

/// All tokens.
#[derive(Debug, Default)]
pub(crate) struct Credentials {
    by_hash: ArcSwap<HashMap<TokenHash, Arc<Entry>>>,
}

impl Credentials {
    /// Adds a token that the store has.
    pub(crate) fn add(&self, hash: TokenHash, credential: &Credential) {
        let entry = Arc::new(Entry {
            id: credential.id,
            revoked: AtomicBool::new(credential.revoked_at.is_some()),
            used: AtomicI64::new(0),
        });
        self.by_hash.rcu(|old| {
            let mut new = HashMap::clone(old);
            new.insert(hash, entry.clone());
            new
        });
    }

    /// Marks a token as revoked, at once.
    pub(crate) fn revoke(&self, id: CredentialId) {
        for entry in self.by_hash.load().values().filter(|entry| entry.id == id) {
            entry.revoked.store(true, Ordering::Release);
        }
    }

    /// The token that a request presents, unless it is revoked.
    pub(crate) fn find(&self, headers: &HeaderMap) -> Option<Arc<Entry>> {
        let token = presented(headers)?;
        let entry = self.by_hash.load().get(&TokenHash::of(&token)).cloned()?;
        (!entry.is_revoked()).then_some(entry)
    }

    /// The uses since the last call.
    pub(crate) fn take_uses(&self) -> Vec<(CredentialId, UnixMillis)> {
        let table = self.by_hash.load();
        let uses = table.values().map(|entry| (entry.id, UnixMillis(entry.used.swap(0, Ordering::Relaxed))));
        uses.filter(|(_, at)| at.0 > 0).collect()
    }
}

/// The token of a Bearer header, or the password of a Basic one: some agents can only be given a user and a
/// password (AUTH-1).
fn presented(headers: &HeaderMap) -> Option<String> {
    let (scheme, rest) = headers.get(header::AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    let rest = rest.trim();
    if rest.len() > 2 * MAX_TOKEN {
        return None;
    }
    if scheme.eq_ignore_ascii_case("bearer") {
        Some(rest.to_owned())
    } else if scheme.eq_ignore_ascii_case("basic") {
        let pair = String::from_utf8(base64(rest)?).ok()?;
        Some(pair.split_once(':')?.1.to_owned())
    } else {
        None
    }
}

/// RFC 4648, section 4; the padding may be missing.
fn base64(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len() * 3 / 4);
    let (mut bits, mut count) = (0_u32, 0);
    for byte in text.trim_end_matches('=').bytes() {
        let value = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        bits = bits << 6 | u32::from(value);
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count & 0xff) as u8);
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(token: &str) -> Credentials {
        let credentials = Credentials::default();
        let credential = Credential {
            id: CredentialId(3),
            label: "a".to_owned(),
            created_at: UnixMillis(0),
            expires_at: None,
            revoked_at: None,
            last_used_at: None,
            agents: 0,
        };
        credentials.add(TokenHash::of(token), &credential);
        credentials
    }

    fn with(value: &str) -> HeaderMap {
        HeaderMap::from_iter([(header::AUTHORIZATION, value.parse().unwrap())])
    }

    #[test]
    fn auth_1_a_token_is_taken_as_bearer_and_as_the_password_of_basic() {
        let credentials = table("mst_ab");
        assert_eq!(credentials.find(&with("Bearer mst_ab")).unwrap().id, CredentialId(3));
        assert!(credentials.find(&with("bearer  mst_ab ")).is_some());
        // "anyone:mst_ab", "x:mst_ab"
        assert!(credentials.find(&with("Basic YW55b25lOm1zdF9hYg==")).is_some());
        assert!(credentials.find(&with("basic eDptc3RfYWI")).is_some());
    }

    #[test]
    fn auth_3_anything_else_is_nobody() {
        let credentials = table("mst_ab");
        for value in ["mst_ab", "Bearer", "Bearer mst_a", "Basic bXN0X2Fi", "Basic %%%", "Digest mst_ab"] {
            assert!(credentials.find(&with(value)).is_none(), "{value}");
        }
        assert!(credentials.find(&with(&format!("Bearer {}", "x".repeat(9999)))).is_none());
        assert!(credentials.find(&HeaderMap::new()).is_none());
    }

    #[test]
    fn revoke_3_a_revoked_token_is_nobody() {
        let credentials = table("mst_ab");
        let entry = credentials.find(&with("Bearer mst_ab")).unwrap();
        entry.touch(UnixMillis(5));
        credentials.revoke(CredentialId(3));
        assert!(credentials.find(&with("Bearer mst_ab")).is_none());
        assert_eq!(credentials.take_uses(), [(CredentialId(3), UnixMillis(5))]);
        assert_eq!(credentials.take_uses(), []);
    }
}
