//! Restoring a back-up into a new data directory. What is in the archive is not believed: only files that the manifest
//! and this build know are written, each within its size and with its checksum, into a directory that gets its name
//! when everything is right.

use std::fs::{self, DirBuilder, File};
use std::io::{BufReader, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;
use model::UnixMillis;
use model::name::label;
use sha2::{Digest, Sha256};
use store::{Counts, DatabaseCopy};

use super::{ArchiveError, Entry, FILES, FORMAT, MANIFEST, MAX_MANIFEST, Manifest, at};
use crate::clock;
use crate::config::DATABASE;
use crate::secrets::MasterKey;

/// The longest padding after the last file: two blocks, rounded up by those who pack in records.
const MAX_PADDING: u64 = 64 * 1024;

/// What was restored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restored {
    /// When the back-up was made, RFC 3339.
    pub made_at: String,
    /// The version that made it.
    pub build: String,
    /// What is in it.
    pub counts: Counts,
    /// The key that its secrets are sealed with; `None`: there are none.
    pub key_id: Option<String>,
}

/// Restores a back-up into a directory that does not exist or is empty. A key file that is named must be the one that
/// the back-up needs. Blocks.
pub fn restore(archive: &Path, data_dir: &Path, key_file: Option<&Path>) -> Result<Restored, ArchiveError> {
    if fs::read_dir(data_dir).is_ok_and(|mut all| all.next().is_some()) {
        return Err(ArchiveError::NotEmpty(data_dir.to_owned()));
    }
    let mut name = data_dir.as_os_str().to_owned();
    name.push(".restoring");
    let staging = PathBuf::from(name);
    let _ = fs::remove_dir_all(&staging);
    let restored = unpack(archive, &staging, key_file).and_then(|restored| {
        if data_dir.exists() {
            fs::remove_dir(data_dir).map_err(at("replace", data_dir))?;
        }
        fs::rename(&staging, data_dir).map_err(at("make", data_dir))?;
        Ok(restored)
    });
    if restored.is_err() {
        let _ = fs::remove_dir_all(&staging);
    }
    restored
}

fn unpack(path: &Path, staging: &Path, key_file: Option<&Path>) -> Result<Restored, ArchiveError> {
    let file = File::open(path).map_err(at("read", path))?;
    let mut archive = tar::Archive::new(GzDecoder::new(BufReader::new(file)));
    let damaged = |reason: String| ArchiveError::Damaged { path: path.to_owned(), reason };
    let mut entries = archive.entries().map_err(|error| damaged(error.to_string()))?;
    let broken = |error: std::io::Error| damaged(format!("it cannot be unpacked ({error})"));
    let first = entries.next().ok_or_else(|| damaged("it is empty".to_owned()))?.map_err(broken)?;
    let manifest = manifest(first, path)?;
    if let (Some(key_file), Some(wanted)) = (key_file, &manifest.key_id) {
        MasterKey::load(key_file, wanted)?;
    }
    DirBuilder::new().recursive(true).mode(0o700).create(staging).map_err(at("make", staging))?;
    let mut left = manifest.files.clone();
    for entry in entries {
        let mut entry = entry.map_err(broken)?;
        let name = entry.path_bytes().into_owned();
        let place = left.iter().position(|file| file.name.as_bytes() == &name[..]);
        let (Some(place), true) = (place, entry.header().entry_type().is_file()) else {
            return Err(damaged(format!("{:?} does not belong in it", String::from_utf8_lossy(&name))));
        };
        write(&mut entry, &left.swap_remove(place), staging, path)?;
    }
    if let Some(missing) = left.first() {
        return Err(damaged(format!("{} is missing", missing.name)));
    }
    read_end(archive.into_inner()).map_err(broken)?;
    finish(&manifest, staging, path)
}

/// Reads what follows the last file: without it nobody compares the checksum of the whole, which stands at the end.
fn read_end(rest: impl Read) -> std::io::Result<()> {
    let mut padding = Vec::new();
    rest.take(MAX_PADDING + 1).read_to_end(&mut padding)?;
    match padding.len() as u64 <= MAX_PADDING && padding.iter().all(|byte| *byte == 0) {
        true => Ok(()),
        false => Err(std::io::Error::other("something follows its end")),
    }
}

fn manifest(mut entry: tar::Entry<'_, impl Read>, path: &Path) -> Result<Manifest, ArchiveError> {
    let damaged = |reason: &str| ArchiveError::Damaged { path: path.to_owned(), reason: reason.to_owned() };
    if entry.path_bytes() != MANIFEST.as_bytes() || entry.size() > MAX_MANIFEST {
        return Err(damaged("it does not begin with a manifest"));
    }
    let mut text = Vec::new();
    entry.read_to_end(&mut text).map_err(|_| damaged("its manifest breaks off"))?;
    let manifest: Manifest = match serde_json::from_slice(&text) {
        Ok(manifest) => manifest,
        Err(_) => return Err(damaged("its manifest makes no sense")),
    };
    // They are shown, and are nothing but a version and a number.
    if label(&manifest.build, 64).is_err() || manifest.key_id.iter().any(|id| label(id, 64).is_err()) {
        return Err(damaged("its manifest makes no sense"));
    }
    if manifest.format != FORMAT {
        let Manifest { format: found, build, .. } = manifest;
        return Err(ArchiveError::Format { path: path.to_owned(), found, build });
    }
    let known = manifest.files.iter().all(|file| FILES.contains(&file.name.as_str()));
    let names: std::collections::BTreeSet<_> = manifest.files.iter().map(|file| &file.name).collect();
    if !known
        || names.len() != manifest.files.len()
        || !manifest.files.iter().any(|file| file.name == DATABASE)
    {
        return Err(damaged("its manifest names other files than a back-up has"));
    }
    Ok(manifest)
}

/// Writes one file of the archive. Its name is one of [`FILES`], never what the archive says.
fn write(from: &mut impl Read, entry: &Entry, staging: &Path, archive: &Path) -> Result<(), ArchiveError> {
    let damaged = |reason: String| ArchiveError::Damaged { path: archive.to_owned(), reason };
    let to = staging.join(&entry.name);
    let mode = if entry.name == DATABASE { 0o600 } else { 0o644 };
    let made = fs::OpenOptions::new().write(true).create_new(true).mode(mode).open(&to);
    let mut file = made.map_err(at("make", &to))?;
    let (mut digest, mut left, mut buffer) = (Sha256::new(), entry.size, vec![0; 64 * 1024]);
    loop {
        let read = from
            .read(&mut buffer)
            .map_err(|error| damaged(format!("{} breaks off ({error})", entry.name)))?;
        if read == 0 {
            break;
        }
        left = left.checked_sub(read as u64).ok_or_else(|| damaged(format!("{} is too long", entry.name)))?;
        digest.update(&buffer[..read]);
        file.write_all(&buffer[..read]).map_err(at("write", &to))?;
    }
    if left > 0 || hex::encode(digest.finalize()) != entry.sha256 {
        return Err(damaged(format!("{} differs from its checksum", entry.name)));
    }
    file.sync_all().map_err(at("write", &to))
}

fn finish(manifest: &Manifest, staging: &Path, archive: &Path) -> Result<Restored, ArchiveError> {
    let copy = DatabaseCopy::open(&staging.join(DATABASE))?;
    if copy.schema() != manifest.schema {
        let reason =
            format!("its manifest speaks of schema {}, its database has {}", manifest.schema, copy.schema());
        return Err(ArchiveError::Damaged { path: archive.to_owned(), reason });
    }
    let counts = copy.counts()?;
    copy.mark_restored(clock::now(), UnixMillis(manifest.made_at))?;
    File::open(staging).and_then(|directory| directory.sync_all()).map_err(at("write", staging))?;
    Ok(Restored {
        made_at: clock::rfc3339(UnixMillis(manifest.made_at)),
        build: manifest.build.clone(),
        counts,
        key_id: manifest.key_id.clone(),
    })
}
