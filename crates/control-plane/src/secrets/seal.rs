//! Sealing: XChaCha20-Poly1305 with a random nonce. The secret's name and the key's id are authenticated with
//! it, so a sealed text put under another name does not open.

use chacha20poly1305::aead::{Aead, KeyInit, Payload};
use chacha20poly1305::{Key, XChaCha20Poly1305, XNonce};
use sha2::{Digest, Sha256};
use store::SealedSecret;
use zeroize::Zeroizing;

use super::key::MasterKey;

/// Length of the nonce that a ciphertext begins with.
const NONCE: usize = 24;

/// Seals and opens with one key.
#[derive(Clone)]
pub(crate) struct Sealer {
    key_id: String,
    cipher: XChaCha20Poly1305,
    fingerprint_key: Zeroizing<[u8; 32]>,
}

/// Why a secret cannot be sealed or opened.
#[derive(Debug, thiserror::Error)]
pub enum SealError {
    /// It was sealed with a key that we do not have.
    #[error("the secret {name} was sealed with key {key_id}, which this server does not have")]
    OtherKey {
        /// The secret.
        name: String,
        /// Its key.
        key_id: String,
    },
    /// It was changed, or belongs to another name.
    #[error("the secret {0} is damaged")]
    Damaged(String),
    /// No randomness.
    #[error("the system gives no random bytes")]
    Random(#[source] std::io::Error),
}

impl std::fmt::Debug for Sealer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sealer").field("key_id", &self.key_id).finish_non_exhaustive()
    }
}

impl Sealer {
    /// A sealer with this key.
    pub(crate) fn new(key: &MasterKey) -> Self {
        let cipher = XChaCha20Poly1305::new(&Key::from(*key.bytes()));
        let mut hasher = Sha256::new();
        hasher.update(b"muster fingerprint 1\0");
        hasher.update(key.bytes());
        let fingerprint_key = Zeroizing::new(hasher.finalize().into());
        Self { key_id: key.id().to_owned(), cipher, fingerprint_key }
    }

    /// Seals a text under a name.
    pub(crate) fn seal(&self, name: &str, text: &[u8]) -> Result<SealedSecret, SealError> {
        let nonce = crate::random::bytes::<NONCE>().map_err(SealError::Random)?;
        let payload = Payload { msg: text, aad: &self.bound_to(name) };
        let sealed = self
            .cipher
            .encrypt(&XNonce::from(nonce), payload)
            .map_err(|_| SealError::Damaged(name.to_owned()))?;
        let mut ciphertext = nonce.to_vec();
        ciphertext.extend_from_slice(&sealed);
        Ok(SealedSecret { key_id: self.key_id.clone(), ciphertext })
    }

    /// Opens what was sealed under this name.
    pub(crate) fn open(&self, name: &str, sealed: &SealedSecret) -> Result<Zeroizing<Vec<u8>>, SealError> {
        if sealed.key_id != self.key_id {
            return Err(SealError::OtherKey { name: name.to_owned(), key_id: sealed.key_id.clone() });
        }
        let damaged = || SealError::Damaged(name.to_owned());
        let (nonce, ciphertext) = sealed.ciphertext.split_first_chunk::<NONCE>().ok_or_else(damaged)?;
        let payload = Payload { msg: ciphertext, aad: &self.bound_to(name) };
        let text = self.cipher.decrypt(&XNonce::from(*nonce), payload).map_err(|_| damaged())?;
        Ok(Zeroizing::new(text))
    }

    /// Opens the ciphertext of what this sealer sealed under this name.
    pub(crate) fn open_own(&self, name: &str, ciphertext: Vec<u8>) -> Result<Zeroizing<Vec<u8>>, SealError> {
        self.open(name, &SealedSecret { key_id: self.key_id.clone(), ciphertext })
    }

    /// A hash of a text under a name that only this key can make: equal texts are told without keeping what they are,
    /// and short ones cannot be guessed from it.
    pub(crate) fn fingerprint(&self, name: &str, text: &[u8]) -> [u8; 32] {
        let mut hasher = Sha256::new();
        hasher.update(self.fingerprint_key.as_slice());
        hasher.update(u64::try_from(name.len()).unwrap_or(u64::MAX).to_le_bytes());
        hasher.update(name.as_bytes());
        hasher.update(text);
        // Hashed again, so that nobody can go on from the inner state.
        Sha256::digest(hasher.finalize()).into()
    }

    fn bound_to(&self, name: &str) -> Vec<u8> {
        format!("muster secret 1\0{}\0{name}", self.key_id).into_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_opens_only_under_its_name_with_its_key_and_unchanged() {
        let sealer = Sealer::new(&MasterKey::generate().unwrap());
        let sealed = sealer.seal("a", b"text").unwrap();
        assert_eq!(sealer.open("a", &sealed).unwrap().as_slice(), b"text");
        assert!(matches!(sealer.open("b", &sealed), Err(SealError::Damaged(_))));
        let mut changed = sealed.clone();
        let mut bytes = changed.ciphertext.clone();
        if let Some(last) = bytes.last_mut() {
            *last ^= 1;
        }
        changed.ciphertext = bytes;
        assert!(matches!(sealer.open("a", &changed), Err(SealError::Damaged(_))));
        let other = Sealer::new(&MasterKey::generate().unwrap());
        assert!(matches!(other.open("a", &sealed), Err(SealError::OtherKey { .. })));
        let short = SealedSecret { key_id: sealed.key_id.clone(), ciphertext: vec![1; 5] };
        assert!(matches!(sealer.open("a", &short), Err(SealError::Damaged(_))));
    }
}
