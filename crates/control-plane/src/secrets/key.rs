//! The key file: one line, `muster-key-1 <key id> <64 hexadecimal digits>`, mode 0600. The id is derived from
//! the key, so a damaged file is noticed and a wrong one can be named.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use zeroize::{Zeroize, Zeroizing};

const FORMAT: &str = "muster-key-1";

/// The key that all secrets are sealed with.
pub(crate) struct MasterKey {
    id: String,
    bytes: [u8; 32],
}

/// Why there is no key.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// The database was sealed with a key whose file is not there.
    #[error(
        "the key file {} is missing, but the database holds secrets sealed with key {key_id}: \
         put the file back, or name it with --key-file",
        path.display()
    )]
    Missing {
        /// Where it was looked for.
        path: PathBuf,
        /// The key that is wanted.
        key_id: String,
    },
    /// The file holds another key than the database was sealed with.
    #[error("the key file {} holds key {found}, but the database was sealed with key {wanted}", path.display())]
    Other {
        /// The file.
        path: PathBuf,
        /// Its key.
        found: String,
        /// The key that is wanted.
        wanted: String,
    },
    /// The file is none of ours, or damaged.
    #[error("the key file {} is damaged or is no key file", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
    },
    /// It is a directory, or something else that is no file.
    #[error("the key file {} is no file: name the file itself, such as {}", path.display(), path.join("master.key").display())]
    NoFile {
        /// The path.
        path: PathBuf,
    },
    /// Others may read the file.
    #[error("the key file {} can be read by others (mode {mode:03o}): run chmod 600 on it", path.display())]
    Exposed {
        /// The file.
        path: PathBuf,
        /// Its permissions.
        mode: u32,
    },
    /// The file cannot be read or made.
    #[error("cannot {action} the key file {}", path.display())]
    File {
        /// What was tried.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
}

impl std::fmt::Debug for MasterKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MasterKey").field("id", &self.id).finish_non_exhaustive()
    }
}

impl Drop for MasterKey {
    fn drop(&mut self) {
        self.bytes.zeroize();
    }
}

impl MasterKey {
    fn new(bytes: [u8; 32]) -> Self {
        let digest = Sha256::new().chain_update(b"muster key id\0").chain_update(bytes).finalize();
        Self { id: hex::encode(&digest[..8]), bytes }
    }

    /// A new key, known to nobody else.
    pub(crate) fn generate() -> io::Result<Self> {
        Ok(Self::new(crate::random::bytes()?))
    }

    /// The key's name, safe to show.
    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    pub(super) fn bytes(&self) -> &[u8; 32] {
        &self.bytes
    }

    /// Reads the key that is wanted.
    pub(crate) fn load(path: &Path, wanted: &str) -> Result<Self, KeyError> {
        match Self::read(path)? {
            Some(key) if key.id == wanted => Ok(key),
            Some(key) => Err(KeyError::Other {
                path: path.to_owned(),
                found: key.id.clone(),
                wanted: wanted.to_owned(),
            }),
            None => Err(KeyError::Missing { path: path.to_owned(), key_id: wanted.to_owned() }),
        }
    }

    /// Reads the key that the database was sealed with, or makes one when it was sealed with none yet.
    pub(crate) fn load_or_make(path: &Path, sealed_with: Option<&str>) -> Result<Self, KeyError> {
        match sealed_with {
            Some(wanted) => Self::load(path, wanted),
            None => Self::read(path)?.map_or_else(|| Self::make(path), Ok),
        }
    }

    fn read(path: &Path) -> Result<Option<Self>, KeyError> {
        let failed = |source| KeyError::File { action: "read", path: path.to_owned(), source };
        let mode = match fs::metadata(path) {
            Ok(metadata) if !metadata.is_file() => return Err(KeyError::NoFile { path: path.to_owned() }),
            Ok(metadata) => metadata.mode() & 0o777,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(failed(error)),
        };
        if mode & 0o077 != 0 {
            return Err(KeyError::Exposed { path: path.to_owned(), mode });
        }
        let text = Zeroizing::new(fs::read_to_string(path).map_err(failed)?);
        parse(&text).map(Some).ok_or_else(|| KeyError::Damaged { path: path.to_owned() })
    }

    /// The file is whole or not there: half a key, left by a crash or a full disk, would stop every later start.
    fn make(path: &Path) -> Result<Self, KeyError> {
        let failed = |source| KeyError::File { action: "make", path: path.to_owned(), source };
        let key = Self::generate().map_err(failed)?;
        let mut digits = hex::encode(key.bytes);
        let line = Zeroizing::new(format!("{FORMAT} {} {digits}\n", key.id));
        digits.zeroize();
        let mut temporary = path.as_os_str().to_owned();
        temporary.push(".new");
        match fs::remove_file(&temporary) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
            _ => {}
        }
        let mut file =
            OpenOptions::new().write(true).create_new(true).mode(0o600).open(&temporary).map_err(failed)?;
        file.write_all(line.as_bytes()).and_then(|()| file.sync_all()).map_err(failed)?;
        // Unlike a rename, a link never takes the place of a key that another process made meanwhile.
        fs::hard_link(&temporary, path).and_then(|()| fs::remove_file(&temporary)).map_err(failed)?;
        if let Some(directory) = path.parent() {
            // A key that is lost in a power cut would take every secret with it.
            fs::File::open(directory).and_then(|directory| directory.sync_all()).map_err(failed)?;
        }
        Ok(key)
    }
}

fn parse(text: &str) -> Option<MasterKey> {
    let mut words = text.split_ascii_whitespace();
    let (format, id, digits) = (words.next()?, words.next()?, words.next()?);
    let mut bytes = [0; 32];
    hex::decode_to_slice(digits, &mut bytes).ok()?;
    let key = MasterKey::new(bytes);
    bytes.zeroize();
    (format == FORMAT && words.next().is_none() && key.id == id).then_some(key)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_key_is_made_once_with_mode_0600_and_read_back() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("master.key");
        let made = MasterKey::load_or_make(&path, None).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        let read = MasterKey::load_or_make(&path, Some(made.id())).unwrap();
        assert_eq!((read.id(), read.bytes()), (made.id(), made.bytes()));
        assert!(!format!("{made:?}").contains(&hex::encode(made.bytes)[..16]));
    }

    #[test]
    fn a_key_file_whose_making_was_cut_off_is_made_anew() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("master.key");
        fs::write(dir.path().join("master.key.new"), "muster-ke").unwrap();
        let made = MasterKey::load_or_make(&path, None).unwrap();
        assert_eq!(MasterKey::load_or_make(&path, Some(made.id())).unwrap().bytes(), made.bytes());
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        assert!(!dir.path().join("master.key.new").exists());
    }

    #[test]
    fn a_missing_or_wrong_key_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("master.key");
        let missing = MasterKey::load_or_make(&path, Some("abc")).unwrap_err().to_string();
        assert!(missing.contains("is missing") && missing.contains("abc") && missing.contains("--key-file"));
        MasterKey::load_or_make(&path, None).unwrap();
        let other = MasterKey::load_or_make(&path, Some("abc")).unwrap_err();
        assert!(matches!(other, KeyError::Other { .. }), "{other}");
    }

    #[test]
    fn a_directory_is_no_key_file_whatever_its_permissions() {
        let dir = tempfile::tempdir().unwrap();
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let text = MasterKey::load_or_make(dir.path(), None).unwrap_err().to_string();
        assert!(
            text.contains("is no file") && text.contains("/master.key") && !text.contains("chmod"),
            "{text}"
        );
    }

    #[test]
    fn a_damaged_or_exposed_key_file_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("master.key");
        MasterKey::load_or_make(&path, None).unwrap();
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, text.replace("muster-key-1 ", "muster-key-1 0")).unwrap();
        assert!(matches!(MasterKey::load_or_make(&path, None), Err(KeyError::Damaged { .. })));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        assert!(matches!(MasterKey::load_or_make(&path, None), Err(KeyError::Exposed { mode: 0o644, .. })));
    }
}
