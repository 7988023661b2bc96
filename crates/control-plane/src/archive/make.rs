//! Making a back-up, beside a server that may be running.

use std::fs::{self, File};
use std::io::{self, BufWriter, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;
use sha2::{Digest, Sha256};
use store::{Counts, DatabaseCopy};

use super::{ArchiveError, Entry, FILES, FORMAT, MANIFEST, Manifest, at};
use crate::clock;
use crate::config::{CA_FILE, DATABASE};
use crate::setup::KEY_ID;

/// What was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Made {
    /// What is in it.
    pub counts: Counts,
    /// Its size in bytes.
    pub bytes: u64,
    /// The key that its secrets are sealed with; `None`: there are none.
    pub key_id: Option<String>,
}

/// Writes a back-up of a data directory to a new file with mode 0600, which appears when it is whole. Blocks.
pub fn backup(data_dir: &Path, to: &Path, build: &str) -> Result<Made, ArchiveError> {
    let database = data_dir.join(DATABASE);
    if !database.exists() {
        return Err(ArchiveError::NoDatabase(database));
    }
    if to.exists() {
        return Err(ArchiveError::Exists(to.to_owned()));
    }
    let (copy_path, part) = (beside(to, ".copy"), beside(to, ".part"));
    let _ = fs::remove_file(&copy_path);
    let made = make(data_dir, &copy_path, &part, build);
    let _ = fs::remove_file(&copy_path);
    let made = made.and_then(|made| {
        // Unlike a rename, a link never takes the place of a file that came meanwhile.
        fs::hard_link(&part, to).map_err(at("make", to))?;
        Ok(made)
    });
    let _ = fs::remove_file(&part);
    made
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

fn make(data_dir: &Path, copy_path: &Path, part: &Path, build: &str) -> Result<Made, ArchiveError> {
    let copy = DatabaseCopy::make(&data_dir.join(DATABASE), copy_path)?;
    let sources = FILES.map(|name| match name {
        DATABASE => (name, copy_path.to_owned()),
        name => (name, data_dir.join(name)),
    });
    let sources: Vec<_> =
        sources.into_iter().filter(|(name, path)| *name != CA_FILE || path.exists()).collect();
    let mut files = Vec::new();
    for (name, path) in &sources {
        files.push(describe(name, path).map_err(at("read", path))?);
    }
    let manifest = Manifest {
        format: FORMAT,
        made_at: clock::now().0,
        build: build.to_owned(),
        schema: copy.schema(),
        key_id: copy.setting(KEY_ID)?,
        files,
    };
    let bytes = pack(part, &manifest, &sources).map_err(at("write", part))?;
    Ok(Made { counts: copy.counts()?, bytes, key_id: manifest.key_id })
}

fn describe(name: &str, path: &Path) -> io::Result<Entry> {
    let mut file = File::open(path)?;
    let (mut digest, mut size, mut buffer) = (Sha256::new(), 0, vec![0; 64 * 1024]);
    loop {
        match file.read(&mut buffer)? {
            0 => break,
            read => {
                digest.update(&buffer[..read]);
                size += read as u64;
            }
        }
    }
    Ok(Entry { name: name.to_owned(), size, sha256: hex::encode(digest.finalize()) })
}

/// Writes the archive; its size.
fn pack(part: &Path, manifest: &Manifest, sources: &[(&str, PathBuf)]) -> io::Result<u64> {
    let _ = fs::remove_file(part);
    let file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(part)?;
    let mut archive = tar::Builder::new(GzEncoder::new(BufWriter::new(file), Compression::fast()));
    let text = serde_json::to_vec_pretty(manifest)?;
    archive.append_data(&mut header(text.len() as u64, manifest.made_at), MANIFEST, &text[..])?;
    for ((name, path), entry) in sources.iter().zip(&manifest.files) {
        let content = File::open(path)?.take(entry.size);
        archive.append_data(&mut header(entry.size, manifest.made_at), name, content)?;
    }
    let mut out = archive.into_inner()?.finish()?;
    out.flush()?;
    let file = out.into_inner().map_err(io::IntoInnerError::into_error)?;
    file.sync_all()?;
    Ok(file.metadata()?.len())
}

fn header(size: u64, made_at: i64) -> tar::Header {
    let mut header = tar::Header::new_gnu();
    header.set_size(size);
    header.set_mode(0o600);
    header.set_mtime(u64::try_from(made_at / 1000).unwrap_or(0));
    header
}
