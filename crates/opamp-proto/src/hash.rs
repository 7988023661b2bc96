//! Hashes that stay the same for the same content, whatever order it was put in (`C24`) and whichever process
//! computes them.

use bytes::Bytes;
use sha2::{Digest, Sha256};

use crate::wire::AgentConfigMap;

/// A SHA-256.
pub type Sha256Bytes = [u8; 32];

/// SHA-256 of some bytes.
pub fn sha256(bytes: &[u8]) -> Sha256Bytes {
    Sha256::digest(bytes).into()
}

/// The `config_hash` of a configuration (CFG-21): SHA-256 over its files in the order of their names, each
/// part preceded by its length, so that no two different maps run together.
pub fn config_hash(config: &AgentConfigMap) -> Bytes {
    let mut hasher = Sha256::new();
    let mut part = |bytes: &[u8]| {
        hasher.update((bytes.len() as u64).to_be_bytes());
        hasher.update(bytes);
    };
    for (name, file) in &config.config_map {
        part(name.as_bytes());
        part(file.content_type.as_bytes());
        part(file.role.as_bytes());
        part(&file.body);
    }
    Bytes::copy_from_slice(&hasher.finalize())
}
