//! The ratchet of session secrets (R12): each `hello_ack` gives a secret that the next `hello` must show. It tells a
//! host from a copy of it, which has the same machine-id, key and token. Only hashes are kept.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::secret::Secret;

/// What the server keeps of the secrets of one host. The beginning: none was given yet.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Ratchet {
    /// SHA-256 of the secret that was given last, in hexadecimal.
    pub newest: Option<String>,
    /// SHA-256 of the secret that was shown for it: good until the newest one is shown, since an answer can be lost and
    /// a machine can crash before its disk has it. None when nothing was shown then.
    pub before: Option<String>,
}

/// What a shown secret says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shown {
    /// It is the newest, or the one before.
    Good,
    /// It was good once: the machine's disk is an older one, or it is a copy.
    Stale,
}

impl Ratchet {
    /// Judges the secret of a hello.
    pub fn judge(&self, shown: Option<&Secret>) -> Shown {
        let shown = shown.map(hash);
        if self.newest.is_none() || shown == self.newest && shown.is_some() || shown == self.before {
            Shown::Good
        } else {
            Shown::Stale
        }
    }

    /// The ratchet after a hello was answered with a fresh secret. Make it durable before the answer goes out.
    pub fn advance(&self, shown: Option<&Secret>, fresh: &Secret) -> Self {
        Self { newest: Some(hash(fresh)), before: shown.map(hash) }
    }
}

fn hash(secret: &Secret) -> String {
    hex::encode(Sha256::digest(secret.expose().as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_and_the_one_before_are_good_until_the_newest_was_shown() {
        let secrets = ["a", "b", "c"].map(Secret::new);
        let start = Ratchet::default();
        assert_eq!(start.judge(None), Shown::Good);
        let first = start.advance(None, &secrets[0]);
        assert_eq!(first.judge(None), Shown::Good, "the first answer was lost");
        assert_eq!(first.judge(Some(&secrets[0])), Shown::Good);
        let second = first.advance(Some(&secrets[0]), &secrets[1]);
        assert_eq!(second.judge(None), Shown::Stale);
        assert_eq!(second.judge(Some(&secrets[0])), Shown::Good, "the second answer was lost");
        let third = second.advance(Some(&secrets[1]), &secrets[2]);
        assert_eq!(third.judge(Some(&secrets[0])), Shown::Stale);
        assert_eq!(third.judge(Some(&secrets[1])), Shown::Good);
        assert_eq!(third.judge(Some(&secrets[2])), Shown::Good);
    }
}
