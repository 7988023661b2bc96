//! Files and secrets for containers: written whole or not at all, with the mode and owner that the state wants, and checked
//! against their hash. Secrets lie in memory only. What is in these directories and is none of our files is left alone.

mod memory;

pub use memory::release;

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _, chown};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use host_proto::DesiredState;
use host_proto::desired::File;
use host_proto::id::FileId;
use reconcile::{FileSeen, Seen, Trouble, TroubleKind};
use sha2::{Digest as _, Sha256};

use crate::docker::FilePlaces;

/// What temporary names begin with: no identifier does.
const UNFINISHED: &str = ".muster-";

impl FilePlaces {
    /// Where a file lies.
    pub fn of(&self, file: &File) -> PathBuf {
        if file.secret { self.secrets.join(file.id.as_str()) } else { self.files.join(file.id.as_str()) }
    }
}

/// The two directories. Clones share what they know.
#[derive(Debug, Clone)]
pub struct Files {
    places: FilePlaces,
    /// Files whose hash was checked, by what changes when somebody writes them.
    checked: Arc<Mutex<HashMap<FileId, Stamp>>>,
    /// Held by those who write: what they have not finished is not what was interrupted.
    unfinished: Arc<RwLock<()>>,
}

/// What changes when a file is written, and which content was found then.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Stamp {
    inode: u64,
    changed: (i64, i64),
    sha256: String,
}

impl Files {
    /// Files at these places. Nothing is made yet.
    pub fn new(places: FilePlaces) -> Self {
        Self { places, checked: Arc::default(), unfinished: Arc::default() }
    }

    /// Makes the directories, and takes away what an interrupted write left there.
    pub fn prepare(&self) -> Result<(), Trouble> {
        self.make_places()?;
        let _nobody_writes = self.unfinished.write().unwrap_or_else(PoisonError::into_inner);
        for place in [&self.places.files, &self.places.secrets] {
            sweep(place).map_err(|error| trouble("prepare", place, &error))?;
        }
        Ok(())
    }

    fn make_places(&self) -> Result<(), Trouble> {
        for place in [&self.places.files, &self.places.secrets] {
            let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(place);
            made.map_err(|error| trouble("prepare", place, &error))?;
        }
        Ok(())
    }

    /// What is there, compared with a state. Reads a file again only when it was changed.
    pub fn observe(&self, desired: &DesiredState) -> Seen<BTreeMap<FileId, FileSeen>> {
        let mut seen = BTreeMap::new();
        for place in [&self.places.files, &self.places.secrets] {
            let listed = match fs::read_dir(place) {
                Ok(listed) => listed,
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Seen::Unknown(trouble("list", place, &error).text),
            };
            for entry in listed.flatten() {
                let Some(id) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else {
                    continue;
                };
                let state = match desired.file(&id) {
                    // In the other directory, from a time when it was a secret or was none.
                    Some(file) if self.places.of(file) != entry.path() => continue,
                    Some(file) => self.compare(file, &entry.path()),
                    None => FileSeen::Right,
                };
                seen.insert(id, state);
            }
        }
        Seen::Known(seen)
    }

    fn compare(&self, file: &File, path: &Path) -> FileSeen {
        let Ok(meta) = fs::symlink_metadata(path) else { return FileSeen::Wrong };
        let fits = meta.is_file()
            && meta.permissions().mode() & 0o7777 == file.mode & 0o7777
            && (meta.uid(), meta.gid()) == (file.uid, file.gid)
            && meta.len() == file.size_bytes;
        if fits && self.hash(file, path, &meta).is_some_and(|hash| hash.eq_ignore_ascii_case(&file.sha256)) {
            FileSeen::Right
        } else {
            FileSeen::Wrong
        }
    }

    fn hash(&self, file: &File, path: &Path, meta: &fs::Metadata) -> Option<String> {
        let (inode, changed) = (meta.ino(), (meta.ctime(), meta.ctime_nsec()));
        let mut checked = self.checked.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) =
            checked.get(&file.id).filter(|known| known.inode == inode && known.changed == changed)
        {
            return Some(known.sha256.clone());
        }
        let sha256 = hex::encode(Sha256::digest(fs::read(path).ok()?));
        checked.insert(file.id.clone(), Stamp { inode, changed, sha256: sha256.clone() });
        Some(sha256)
    }

    /// Writes a file of a state.
    ///
    /// # Errors
    ///
    /// Refused when the content is not what its hash says, or when a secret would have to lie on a disk.
    pub fn write(&self, file: &File) -> Result<(), Trouble> {
        let content = file.inline_b64.as_ref().ok_or_else(|| refused("its content is not in the state"))?;
        let bytes = STANDARD.decode(content.expose()).map_err(|_| refused("its content is not base64"))?;
        if !hex::encode(Sha256::digest(&bytes)).eq_ignore_ascii_case(&file.sha256) {
            return Err(refused("its content is not what its hash says"));
        }
        self.make_places()?;
        let _is_writing = self.unfinished.read().unwrap_or_else(PoisonError::into_inner);
        if file.secret {
            memory::ensure(&self.places.secrets)?;
        }
        let path = self.places.of(file);
        write_whole(file, &path, &bytes).map_err(|error| trouble("write", &path, &error))
    }

    /// Removes a file, wherever it lies.
    pub fn remove(&self, id: &FileId) -> Result<(), Trouble> {
        for place in [&self.places.files, &self.places.secrets] {
            let path = place.join(id.as_str());
            match fs::remove_file(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(trouble("remove", &path, &error));
                }
                _ => {}
            }
        }
        self.checked.lock().unwrap_or_else(PoisonError::into_inner).remove(id);
        Ok(())
    }
}

/// Under another name first: a container never sees half a file, also when the power goes.
fn write_whole(file: &File, path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("/"));
    let mut unfinished = tempfile::Builder::new().prefix(UNFINISHED).tempfile_in(folder)?;
    unfinished.write_all(bytes)?;
    chown(unfinished.path(), Some(file.uid), Some(file.gid))?;
    // After the owner: a change of owner takes bits of the mode away.
    unfinished.as_file().set_permissions(fs::Permissions::from_mode(file.mode & 0o7777))?;
    unfinished.as_file().sync_all()?;
    unfinished.persist(path).map_err(|error| error.error)?;
    fs::File::open(folder)?.sync_all()
}

fn sweep(place: &Path) -> io::Result<()> {
    for entry in fs::read_dir(place)?.flatten() {
        if entry.file_name().to_str().is_some_and(|name| name.starts_with(UNFINISHED)) {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

fn refused(text: &str) -> Trouble {
    Trouble { text: text.to_owned(), kind: TroubleKind::Refused }
}

fn trouble(what: &str, path: &Path, error: &io::Error) -> Trouble {
    Trouble { text: format!("{what} {}: {error}", path.display()), kind: TroubleKind::Retry }
}

#[cfg(test)]
mod tests;
