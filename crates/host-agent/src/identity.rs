//! Who this host is (JOIN-5): keys and tokens in one file that only its owner reads. It is made before the first request,
//! so that a join whose answer is lost can be repeated by the same machine (JOIN-8); and it is removed by `leave` only,
//! never because a network or a server failed (R7).

use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use host_proto::Secret;
use host_proto::id::HostId;
use host_proto::join::{JoinAnswer, MeshAddress, RegistryAddress, TrustAnchor};
use serde::{Deserialize, Serialize};
use zeroize::Zeroize as _;

use crate::atomic;

/// The file's format.
const FORMAT: u32 = 1;

/// Who this host is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    format: u32,
    /// Made once, at random.
    pub instance_id: String,
    /// The private half of the WireGuard key, in base64; never leaves the host.
    wg_private_key: Secret,
    /// What the state's copy on disk is encrypted with, in base64; not made from a token, since tokens change.
    cache_key: Secret,
    /// What the join gave; none before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub joined: Option<Joined>,
}

/// What a join gave, and what the sessions after it changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Joined {
    /// Who the host is.
    pub host_id: HostId,
    /// What people call it.
    pub name: String,
    /// What it shows.
    pub host_token: Secret,
    /// What it showed before the last rotation (TOKEN-3).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous_token: Option<Secret>,
    /// What the next hello shows (R12).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_secret: Option<Secret>,
    /// Where it connects.
    pub connect_url: String,
    /// What the server's certificate is checked against.
    pub trust_anchors: Vec<TrustAnchor>,
    /// Its place in the mesh.
    pub mesh: MeshAddress,
    /// Where images of the control plane's own come from.
    #[serde(default)]
    pub registry: RegistryAddress,
}

/// Why there is no identity to work with.
#[derive(Debug, thiserror::Error)]
pub enum IdentityError {
    /// The file is not there, or not joined.
    #[error(
        "this machine is no host yet: run the command that `muster hosts add` or the console shows; if it is one, its identity \
         is not {}: say --identity", path.display()
    )]
    NotJoined {
        /// Where it was looked for.
        path: PathBuf,
    },
    /// The file cannot be read or written.
    #[error("the identity {}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The file is not one of ours, or was damaged. It is left as it is: a person has to look.
    #[error("the identity {} cannot be read: {reason} in line {line}", path.display())]
    Damaged {
        /// Which.
        path: PathBuf,
        /// What is wrong; never what stands there.
        reason: &'static str,
        /// Where.
        line: usize,
    },
    /// A later version wrote it.
    #[error("the identity {} has format {format}, this version knows {FORMAT}", path.display())]
    Format {
        /// Which.
        path: PathBuf,
        /// Its format.
        format: u32,
    },
    /// The machine gives no random numbers.
    #[error("no random numbers: {0}")]
    Random(String),
}

impl Identity {
    /// A new one, for a machine that never tried to join.
    ///
    /// # Errors
    /// When the machine gives no random numbers.
    pub fn generate() -> Result<Self, IdentityError> {
        let mut id = random::<16>()?;
        // A version 4 UUID.
        id[6] = id[6] & 0x0f | 0x40;
        id[8] = id[8] & 0x3f | 0x80;
        let (mut wg, mut cache) = (random::<32>()?, random::<32>()?);
        let identity = Self {
            format: FORMAT,
            instance_id: uuid::Uuid::from_bytes(id).to_string(),
            wg_private_key: Secret::new(BASE64_STANDARD.encode(wg)),
            cache_key: Secret::new(BASE64_STANDARD.encode(cache)),
            joined: None,
        };
        wg.zeroize();
        cache.zeroize();
        Ok(identity)
    }

    /// Reads the file; `None` when there is none.
    ///
    /// # Errors
    /// See [`IdentityError`].
    pub fn read(path: &Path) -> Result<Option<Self>, IdentityError> {
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(IdentityError::File { path: path.to_owned(), source }),
        };
        let text = Secret::new(text);
        let identity: Self = serde_json::from_str(text.expose()).map_err(|error| IdentityError::Damaged {
            path: path.to_owned(),
            reason: if error.is_data() { "a field is missing or of another type" } else { "it is not JSON" },
            line: error.line(),
        })?;
        if identity.format != FORMAT {
            return Err(IdentityError::Format { path: path.to_owned(), format: identity.format });
        }
        // Somebody may have restored it from a backup with other permissions.
        let _ = std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600));
        Ok(Some(identity))
    }

    /// Reads the file of a machine that joined.
    ///
    /// # Errors
    /// [`IdentityError::NotJoined`] when it did not.
    pub fn read_joined(path: &Path) -> Result<(Self, Joined), IdentityError> {
        let none = || IdentityError::NotJoined { path: path.to_owned() };
        let identity = Self::read(path)?.ok_or_else(none)?;
        let joined = identity.joined.clone().ok_or_else(none)?;
        Ok((identity, joined))
    }

    /// Writes the file, durably.
    ///
    /// # Errors
    /// When the disk does not take it; the old file is there then.
    pub fn write(&self, path: &Path) -> Result<(), IdentityError> {
        let failed = |source| IdentityError::File { path: path.to_owned(), source };
        let mut text = serde_json::to_vec_pretty(self).map_err(|error| failed(error.into()))?;
        text.push(b'\n');
        let written = atomic::replace(path, &[&text]).map_err(failed);
        text.zeroize();
        written
    }

    /// The public half of the WireGuard key, in base64.
    pub fn wg_public_key(&self) -> String {
        let mut bytes = key_of(&self.wg_private_key);
        let public = x25519_dalek::PublicKey::from(&x25519_dalek::StaticSecret::from(bytes));
        bytes.zeroize();
        BASE64_STANDARD.encode(public.as_bytes())
    }

    /// What the state's copy on disk is encrypted with.
    pub fn cache_key(&self) -> [u8; 32] {
        key_of(&self.cache_key)
    }

    /// Takes in what a join gave.
    pub fn join(&mut self, answer: JoinAnswer) {
        self.joined = Some(Joined {
            host_id: answer.host_id,
            name: answer.name,
            host_token: answer.host_token,
            previous_token: None,
            session_secret: None,
            connect_url: answer.connect_url,
            trust_anchors: answer.trust_anchors,
            mesh: answer.mesh,
            registry: answer.registry,
        });
    }
}

/// A damaged key is a key that fits nothing: what it should open is set aside then.
fn key_of(text: &Secret) -> [u8; 32] {
    let mut bytes = BASE64_STANDARD.decode(text.expose()).unwrap_or_default();
    let key = bytes.as_slice().try_into().unwrap_or_default();
    bytes.zeroize();
    key
}

fn random<const N: usize>() -> Result<[u8; N], IdentityError> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|error| IdentityError::Random(error.to_string()))?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn join_5_the_identity_is_written_whole_with_mode_0600_and_reads_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("etc/agent.json");
        assert_eq!(Identity::read(&path).unwrap(), None);
        assert!(matches!(Identity::read_joined(&path), Err(IdentityError::NotJoined { .. })));
        let identity = Identity::generate().unwrap();
        identity.write(&path).unwrap();
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        let back = Identity::read(&path).unwrap().unwrap();
        assert_eq!(back, identity);
        assert_eq!(back.wg_public_key(), identity.wg_public_key());
        assert_ne!(back.wg_public_key(), Identity::generate().unwrap().wg_public_key());
        assert!(!format!("{identity:?}").contains(identity.cache_key.expose()));
    }

    #[test]
    fn a_damaged_identity_is_left_as_it_is_and_not_quoted() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("agent.json");
        std::fs::write(&path, "{\"format\": 1,\n\"wg_private_key\": [\"hunter2\"]}").unwrap();
        let error = Identity::read(&path).unwrap_err().to_string();
        assert!(error.contains("line 2") && !error.contains("hunter2"), "{error}");
        assert!(std::fs::read_to_string(&path).unwrap().contains("hunter2"));
    }

    #[test]
    fn the_public_key_is_that_of_wireguard() {
        let mut identity = Identity::generate().unwrap();
        // RFC 7748, section 6.1.
        let private = "77076d0a7318a57d3c16c17251b26645b25ab8a7e1bb0bd4bc5b4bd7d4bf8c1e";
        let private = hex::decode(&private[..64]).unwrap();
        identity.wg_private_key = Secret::new(BASE64_STANDARD.encode(&private));
        let key = identity.wg_public_key();
        assert_eq!(BASE64_STANDARD.decode(key).unwrap().len(), 32);
    }
}
