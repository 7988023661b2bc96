//! The data directory: who may read it, the disk, the database, the key file.

use std::fs::{self, File, TryLockError};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use store::{DatabaseCopy, StoreError};

use super::{Finding, Subject};
use crate::config::DATABASE;
use crate::secrets::MasterKey;
use crate::setup::KEY_ID;

/// With less room a server is not ready.
const NO_ROOM: u64 = 16 * 1024 * 1024;
/// A busy server fills this in hours.
const LITTLE_ROOM: u64 = 1024 * 1024 * 1024;

/// What was found.
pub(super) struct Data {
    pub(super) findings: Vec<Finding>,
    /// Whether a server has the directory.
    pub(super) server_runs: bool,
}

pub(super) fn look(subject: &Subject) -> Data {
    let directory = &subject.data_dir;
    let mut findings = vec![room(directory)];
    if !directory.is_dir() {
        let text = format!("there is no data directory {}", directory.display());
        findings.push(missing(subject, &text));
        findings.extend(["database", "key file"].map(|check| Finding::skipped(check, &*text)));
        return Data { findings, server_runs: false };
    }
    findings.push(permissions(directory));
    let path = directory.join(DATABASE);
    if !path.exists() {
        let text = format!("there is no database in {} yet", directory.display());
        findings.extend(["database", "key file"].map(|check| Finding::skipped(check, &*text)));
        return Data { findings, server_runs: false };
    }
    let server_runs = is_locked(&path);
    findings.push(database(&path, server_runs));
    findings.push(key(subject, &path));
    Data { findings, server_runs }
}

/// A directory that was named and is not there is a mistake. Without a name this may be no machine of a server.
fn missing(subject: &Subject, text: &str) -> Finding {
    let check = "data directory";
    if subject.data_dir.exists() {
        let text = format!("{} is no directory", subject.data_dir.display());
        return Finding::failed(check, text, "name the server's data directory with --data-dir");
    }
    match subject.is_data_dir_named {
        true => Finding::failed(
            check,
            text,
            "correct --data-dir (or MUSTER_DATA_DIR); before its first start a server has none",
        ),
        false => Finding::warning(
            check,
            text,
            "if a server runs on this machine, name its data directory with --data-dir",
        ),
    }
}

/// The disk of the directory, or of where it would be made.
fn room(directory: &Path) -> Finding {
    let check = "disk";
    let absolute = std::path::absolute(directory).unwrap_or_else(|_| directory.to_owned());
    let Some(place) = absolute.ancestors().find(|place| place.exists()) else {
        return Finding::skipped(check, "there is no such place");
    };
    let Ok(disk) = nix::sys::statvfs::statvfs(place) else {
        return Finding::skipped(check, format!("the disk of {} cannot be asked", place.display()));
    };
    let bytes = disk.blocks_available().saturating_mul(disk.fragment_size());
    let text = format!("{} MiB are free at {}", bytes / 1024 / 1024, place.display());
    match bytes {
        ..NO_ROOM => Finding::failed(check, text, "free some room: the database cannot be written"),
        NO_ROOM..LITTLE_ROOM => Finding::warning(check, text, "free some room before the database needs it"),
        _ => Finding::ok(check, text),
    }
}

fn permissions(directory: &Path) -> Finding {
    let check = "data directory";
    let shown = directory.display();
    match fs::metadata(directory).map(|data| data.permissions().mode() & 0o777) {
        Err(error) => Finding::failed(
            check,
            format!("{shown} cannot be read: {error}"),
            "run this as the server's user",
        ),
        Ok(mode) if mode & 0o077 != 0 => Finding::warning(
            check,
            format!("{shown} can be used by others (mode {mode:03o})"),
            format!("run chmod 700 {shown}"),
        ),
        Ok(_) if nix::unistd::access(directory, nix::unistd::AccessFlags::W_OK).is_err() => Finding::failed(
            check,
            format!("{shown} cannot be written by this user"),
            "run this, and the server, as the user who owns it",
        ),
        Ok(_) => Finding::ok(check, format!("{shown} is private and can be written")),
    }
}

/// A server holds this lock as long as it runs.
pub(crate) fn is_locked(database: &Path) -> bool {
    let mut name = database.as_os_str().to_owned();
    name.push(".lock");
    let Ok(file) = File::open(name) else { return false };
    matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock))
}

fn database(path: &Path, server_runs: bool) -> Finding {
    let check = "database";
    let shown = path.display();
    match examine(path, server_runs) {
        Ok((None, schema)) => {
            let used = if server_runs { "a server is running on it" } else { "no server is running on it" };
            Finding::ok(check, format!("{shown} is whole (schema {schema}), {used}"))
        }
        Ok((Some(fault), _)) => {
            let advice = "stop the server, keep the file aside, and restore a back-up: muster restore";
            Finding::failed(check, format!("{shown} is damaged: {fault}"), advice)
        }
        Err(error) => {
            let advice = match &error {
                StoreError::Busy(_) => "find who else has the file open (fuser), and end it",
                StoreError::NewerSchema { .. } => {
                    "run the newer version, or go back to the copy that it names"
                }
                StoreError::Damaged { .. } | StoreError::NotOurs { .. } => {
                    "keep the file aside and restore a back-up: muster restore"
                }
                _ => "run this as the server's user; see the error",
            };
            Finding::failed(check, error.to_string(), advice)
        }
    }
}

/// Reads every page of a database that nobody writes; of one that a server has, only what it is.
fn examine(path: &Path, server_runs: bool) -> Result<(Option<String>, u32), StoreError> {
    let copy = DatabaseCopy::open(path)?;
    if server_runs {
        return Ok((None, copy.schema()));
    }
    copy.try_write()?;
    Ok((copy.check()?, copy.schema()))
}

fn key(subject: &Subject, database: &Path) -> Finding {
    let check = "key file";
    let path = subject.key_file.clone().unwrap_or_else(|| subject.data_dir.join("master.key"));
    let wanted = DatabaseCopy::open(database).and_then(|copy| copy.setting(KEY_ID));
    match wanted {
        Err(_) => Finding::skipped(check, "the database does not say which key it needs"),
        Ok(None) => Finding::skipped(check, "the database holds no secrets yet"),
        Ok(Some(wanted)) => match MasterKey::load(&path, &wanted) {
            Ok(key) => {
                Finding::ok(check, format!("{} holds the key that is needed ({})", path.display(), key.id()))
            }
            Err(error) => Finding::failed(
                check,
                error.to_string(),
                "bring the key file back; without it the secrets in the database are lost",
            ),
        },
    }
}
