//! What an agent keeps over a restart: a trait, a file for it, and memory for agents that keep nothing.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use opamp_proto::agent::{Saved, SavedConfig};
use opamp_proto::wire::RemoteConfigStatuses;

/// Keeps an agent's state. Called from a thread that may block.
pub trait Storage: Send + 'static {
    /// What was stored last; `None` for an agent that never stored anything.
    fn load(&mut self) -> io::Result<Option<Saved>>;
    /// Stores durably: when this returns, a crash no longer loses it.
    fn save(&mut self, saved: &Saved) -> io::Result<()>;
}

/// Keeps state for the life of the process only.
#[derive(Debug, Default)]
pub struct MemoryStorage(Option<Saved>);

impl Storage for MemoryStorage {
    fn load(&mut self) -> io::Result<Option<Saved>> {
        Ok(self.0.clone())
    }

    fn save(&mut self, saved: &Saved) -> io::Result<()> {
        self.0 = Some(saved.clone());
        Ok(())
    }
}

/// Keeps state in one small text file with mode 0600, replaced as a whole (`C38`): a crash leaves either the
/// old file or the new one.
#[derive(Debug)]
pub struct FileStorage {
    path: PathBuf,
}

/// First line of the file: its format, so that a later one can be told from it.
const FORMAT: &str = "opamp-client-state 1";

impl FileStorage {
    /// `directory/opamp-state`; the directory is made when the first state is stored.
    pub fn new(directory: impl AsRef<Path>) -> Self {
        Self { path: directory.as_ref().join("opamp-state") }
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Storage for FileStorage {
    fn load(&mut self) -> io::Result<Option<Saved>> {
        match fs::read_to_string(&self.path) {
            Ok(text) => parse(&text).map(Some).map_err(|what| {
                io::Error::new(io::ErrorKind::InvalidData, format!("{}: {what}", self.path.display()))
            }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn save(&mut self, saved: &Saved) -> io::Result<()> {
        let directory = self.path.parent().unwrap_or_else(|| Path::new("."));
        fs::create_dir_all(directory)?;
        let temporary = self.path.with_extension("new");
        // A file that a crash left behind could have any mode; a new one has ours from its first byte on.
        match fs::remove_file(&temporary) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&temporary)?;
        file.write_all(print(saved).as_bytes())?;
        file.sync_all()?;
        fs::rename(&temporary, &self.path)?;
        fs::File::open(directory)?.sync_all()
    }
}

fn print(saved: &Saved) -> String {
    let mut text = format!("{FORMAT}\ninstance_uid {}\n", saved.instance_uid);
    if let Some(config) = &saved.remote_config {
        let status = config.status.as_str_name();
        text += &format!("remote_config_hash {}\n", hex(&config.hash));
        text += &format!("remote_config_status {status}\n");
        text += &format!("remote_config_error {}\n", hex(config.error.as_bytes()));
        text += &format!("remote_config_interruptions {}\n", config.interruptions);
    }
    text
}

fn parse(text: &str) -> Result<Saved, String> {
    let mut lines = text.lines();
    if lines.next() != Some(FORMAT) {
        return Err(format!("the first line is not {FORMAT:?}"));
    }
    let pairs: Vec<(&str, &str)> = lines.map(|line| line.split_once(' ').unwrap_or((line, ""))).collect();
    let field = |name: &str| pairs.iter().find(|(key, _)| *key == name).map(|(_, value)| *value);
    let required = |name: &'static str| field(name).ok_or_else(|| format!("{name} is missing"));
    let instance_uid = required("instance_uid")?.parse().map_err(|error| format!("instance_uid: {error}"))?;
    if field("remote_config_hash").is_none() {
        return Ok(Saved { instance_uid, remote_config: None });
    }
    let bytes = |name| unhex(required(name)?).ok_or_else(|| format!("{name} is not hexadecimal"));
    let status = required("remote_config_status")?;
    let config = SavedConfig {
        hash: bytes("remote_config_hash")?.into(),
        status: RemoteConfigStatuses::from_str_name(status).ok_or("remote_config_status is unknown")?,
        error: String::from_utf8(bytes("remote_config_error")?)
            .map_err(|_| "remote_config_error is no text")?,
        interruptions: required("remote_config_interruptions")?
            .parse()
            .map_err(|_| "remote_config_interruptions is no number")?,
    };
    Ok(Saved { instance_uid, remote_config: Some(config) })
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let digits = text.as_bytes().as_chunks::<2>();
    if !digits.1.is_empty() {
        return None;
    }
    let byte = |pair: &[u8; 2]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    digits.0.iter().map(byte).collect()
}
