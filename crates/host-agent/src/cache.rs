//! The desired state on disk (STATE-3), so that a host that boots without its control plane knows what it should run.
//! Encrypted, since it holds secrets; whose it is and how old is bound to it, so that a swapped file is noticed. What
//! cannot be read is set aside and never applied (STATE-12).
//!
//! `MSTCACHE`, length of the header (u32, big endian), header as JSON, nonce (24 bytes), ciphertext. All before the nonce
//! is associated data of XChaCha20-Poly1305.

use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use chacha20poly1305::aead::{Aead, KeyInit, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
use host_proto::DesiredState;
use host_proto::id::HostId;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use zeroize::Zeroize as _;

use crate::atomic;

const MAGIC: &[u8; 8] = b"MSTCACHE";
const FORMAT: u32 = 1;
const NONCE: usize = 24;
/// Longest header that is read.
const MAX_HEADER: usize = 4096;

/// Where the state is kept, and for whom.
#[derive(Clone)]
pub struct Cache {
    path: PathBuf,
    host: HostId,
    key: [u8; 32],
}

/// What was kept.
#[derive(Debug, Clone, PartialEq)]
pub struct Cached {
    /// The state.
    pub state: DesiredState,
    /// It is one to adopt (R32).
    pub adopting: bool,
    /// What runs beside it, while the host adopts.
    pub unclaimed: Option<DesiredState>,
    /// How old it is, by the wall clock; zero when that went backwards.
    pub age: Duration,
}

#[derive(Debug, Serialize, Deserialize)]
struct Header {
    format: u32,
    host_id: String,
    key_id: String,
    epoch: String,
    generation: u64,
    adopting: bool,
    saved_at_s: u64,
}

/// What is encrypted. An agent that does not know of what runs beside the state leaves that alone.
#[derive(Serialize)]
struct Contents<'a> {
    #[serde(flatten)]
    state: &'a DesiredState,
    #[serde(skip_serializing_if = "Option::is_none")]
    unclaimed: Option<&'a DesiredState>,
}

/// The second part of it.
#[derive(Deserialize)]
struct Beside {
    #[serde(default)]
    unclaimed: Option<DesiredState>,
}

/// Why a file was set aside.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unusable {
    /// Not a cache, cut short, or changed.
    #[error("it is damaged: {0}")]
    Damaged(&'static str),
    /// Another host's.
    #[error("it is that of another host, {0}")]
    Foreign(String),
    /// Encrypted with another key: the identity is a newer one.
    #[error("it was encrypted with a key that this host no longer has")]
    OtherKey,
    /// A later version wrote it.
    #[error("it has format {0}, this version knows {FORMAT}")]
    Format(u32),
}

/// Why there is no state.
#[derive(Debug, thiserror::Error)]
pub enum CacheError {
    /// It cannot be used, and lies beside now.
    #[error("the copy of the desired state {} cannot be used: {why}; it lies in {} now", path.display(), aside.display())]
    SetAside {
        /// Which.
        path: PathBuf,
        /// Where it is.
        aside: PathBuf,
        /// Why.
        why: Unusable,
    },
    /// The disk does not answer well.
    #[error("the copy of the desired state {}", path.display())]
    Io {
        /// Which.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
}

impl Cache {
    /// The cache of a host.
    pub fn new(path: impl Into<PathBuf>, host: HostId, key: [u8; 32]) -> Self {
        Self { path: path.into(), host, key }
    }

    /// Keeps a state, durably, in place of the one before.
    ///
    /// # Errors
    /// When the disk does not take it; the one before is there then.
    pub fn save(
        &self,
        state: &DesiredState,
        adopting: bool,
        unclaimed: Option<&DesiredState>,
    ) -> Result<(), CacheError> {
        let failed = |source| CacheError::Io { path: self.path.clone(), source };
        let header = Header {
            format: FORMAT,
            host_id: self.host.to_string(),
            key_id: self.key_id(),
            epoch: state.epoch.clone(),
            generation: state.generation,
            adopting,
            saved_at_s: now_s(),
        };
        let head = head(&header).map_err(failed)?;
        let mut nonce = [0; NONCE];
        getrandom::fill(&mut nonce).map_err(|error| failed(io::Error::other(error.to_string())))?;
        let mut plain =
            serde_json::to_vec(&Contents { state, unclaimed }).map_err(|error| failed(error.into()))?;
        let sealed = self.cipher().encrypt(&XNonce::from(nonce), Payload { msg: &plain, aad: &head });
        plain.zeroize();
        let sealed = sealed.map_err(|_| failed(io::Error::other("it is too long to be encrypted")))?;
        atomic::replace(&self.path, &[&head, &nonce, &sealed]).map_err(failed)
    }

    /// What was kept; `None` when nothing was.
    ///
    /// # Errors
    /// [`CacheError::SetAside`] when it cannot be used: the file has another name then, and nothing of it is applied.
    pub fn load(&self) -> Result<Option<Cached>, CacheError> {
        let failed = |source| CacheError::Io { path: self.path.clone(), source };
        let bytes = match std::fs::read(&self.path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(failed(error)),
        };
        match self.open(&bytes) {
            Ok(cached) => Ok(Some(cached)),
            Err(why) => {
                let aside = self.path.with_extension("cache.bad");
                std::fs::rename(&self.path, &aside).map_err(failed)?;
                Err(CacheError::SetAside { path: self.path.clone(), aside, why })
            }
        }
    }

    /// Removes what was kept, also what was set aside.
    ///
    /// # Errors
    /// When the disk does not let go of it.
    pub fn remove(&self) -> io::Result<()> {
        remove(&self.path)?;
        remove(&self.path.with_extension("cache.bad"))
    }

    fn open(&self, bytes: &[u8]) -> Result<Cached, Unusable> {
        let (header, head, rest) = split(bytes)?;
        if header.format != FORMAT {
            return Err(Unusable::Format(header.format));
        }
        if header.host_id != self.host.as_str() {
            return Err(Unusable::Foreign(header.host_id));
        }
        if header.key_id != self.key_id() {
            return Err(Unusable::OtherKey);
        }
        let (nonce, sealed) = rest.split_at_checked(NONCE).ok_or(Unusable::Damaged("it ends too soon"))?;
        let nonce: [u8; NONCE] = nonce.try_into().map_err(|_| Unusable::Damaged("it ends too soon"))?;
        let mut plain = self
            .cipher()
            .decrypt(&XNonce::from(nonce), Payload { msg: sealed, aad: head })
            .map_err(|_| Unusable::Damaged("it was cut short or changed"))?;
        let read: Result<(DesiredState, Beside), _> = serde_json::from_slice(&plain)
            .and_then(|state| Ok((state, serde_json::from_slice::<Beside>(&plain)?)));
        plain.zeroize();
        let (state, beside) = read.map_err(|_| Unusable::Damaged("what is in it is no desired state"))?;
        if (&state.epoch, state.generation) != (&header.epoch, header.generation) {
            return Err(Unusable::Damaged("its head is that of another state"));
        }
        let age = Duration::from_secs(now_s().saturating_sub(header.saved_at_s));
        Ok(Cached { state, adopting: header.adopting, unclaimed: beside.unclaimed, age })
    }

    fn cipher(&self) -> XChaCha20Poly1305 {
        XChaCha20Poly1305::new(&self.key.into())
    }

    /// Tells keys apart without saying anything about them.
    fn key_id(&self) -> String {
        hex::encode(&Sha256::digest(self.key)[..8])
    }
}

impl Drop for Cache {
    fn drop(&mut self) {
        self.key.zeroize();
    }
}

fn head(header: &Header) -> io::Result<Vec<u8>> {
    let json = serde_json::to_vec(header)?;
    let length = u32::try_from(json.len()).map_err(io::Error::other)?;
    Ok([MAGIC.as_slice(), &length.to_be_bytes(), &json].concat())
}

fn split(bytes: &[u8]) -> Result<(Header, &[u8], &[u8]), Unusable> {
    let rest = bytes.strip_prefix(MAGIC).ok_or(Unusable::Damaged("it does not begin as one"))?;
    let (length, rest) = rest.split_first_chunk::<4>().ok_or(Unusable::Damaged("it ends too soon"))?;
    let length = usize::try_from(u32::from_be_bytes(*length)).unwrap_or(usize::MAX);
    if length > MAX_HEADER {
        return Err(Unusable::Damaged("its head is too long"));
    }
    let json = rest.get(..length).ok_or(Unusable::Damaged("it ends too soon"))?;
    let header = serde_json::from_slice(json).map_err(|_| Unusable::Damaged("its head cannot be read"))?;
    let (head, rest) = bytes.split_at(MAGIC.len() + 4 + length);
    Ok((header, head, rest))
}

fn now_s() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map(|since| since.as_secs()).unwrap_or_default()
}

fn remove(path: &Path) -> io::Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests;
