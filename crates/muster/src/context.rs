//! The servers that this user is logged in to: `~/.config/muster/contexts.json`, mode 0600. MUSTER_URL and
//! MUSTER_TOKEN go before it.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use api::{Client, Trust};
use serde::{Deserialize, Serialize};

use crate::cli::Connection;
use crate::failure::{Code, Failure};

/// A server and how to talk to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Context {
    pub(crate) url: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) token: Option<String>,
    /// SHA-256 of the public key to trust; absent: the system's roots.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) spki_sha256: Option<String>,
}

/// All of them.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Contexts {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) current: Option<String>,
    #[serde(default)]
    pub(crate) contexts: BTreeMap<String, Context>,
}

impl Contexts {
    /// `$MUSTER_CONFIG_DIR`, else `$XDG_CONFIG_HOME/muster`, else `~/.config/muster`.
    pub(crate) fn path() -> Result<PathBuf, Failure> {
        let dir = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        dir("MUSTER_CONFIG_DIR")
            .or_else(|| dir("XDG_CONFIG_HOME").map(|config| config.join("muster")))
            .or_else(|| dir("HOME").map(|home| home.join(".config/muster")))
            .map(|folder| folder.join("contexts.json"))
            .ok_or_else(|| {
                Failure::new(Code::Failed, "there is no HOME to keep logins in")
                    .hint("Set MUSTER_CONFIG_DIR.")
            })
    }

    /// Reads the file; none is as good as an empty one.
    pub(crate) fn load() -> Result<Self, Failure> {
        let path = Self::path()?;
        let broken = |why: String| {
            Failure::new(Code::Failed, format!("{} cannot be read: {why}", path.display()))
                .hint("Move it away and run muster login again.")
        };
        match fs::read_to_string(&path) {
            Ok(text) => serde_json::from_str(&text).map_err(|error| broken(error.to_string())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(broken(error.to_string())),
        }
    }

    /// Writes the file as a whole.
    pub(crate) fn save(&self) -> Result<(), Failure> {
        let path = Self::path()?;
        write(&path, self).map_err(|error| {
            Failure::new(Code::Failed, format!("{} cannot be written: {error}", path.display()))
        })
    }

    /// Puts a context in and makes it the current one.
    pub(crate) fn put(&mut self, name: &str, context: Context) {
        self.contexts.insert(name.to_owned(), context);
        self.current = Some(name.to_owned());
    }

    /// The context that the flags mean, with its name.
    pub(crate) fn find(&self, name: Option<&str>) -> Result<Option<(&str, &Context)>, Failure> {
        let Some(name) = name.or(self.current.as_deref()) else { return Ok(None) };
        match self.contexts.get_key_value(name) {
            Some((name, context)) => Ok(Some((name, context))),
            None => Err(Failure::new(Code::NotFound, format!("there is no context {name:?}"))
                .hint(format!("There are: {}", self.names()))),
        }
    }

    fn names(&self) -> String {
        if self.contexts.is_empty() {
            return "none yet; run muster login <url>".to_owned();
        }
        self.contexts.keys().cloned().collect::<Vec<_>>().join(", ")
    }
}

fn write(path: &Path, contexts: &Contexts) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    let temporary = path.with_extension(format!("json.{}", std::process::id()));
    let _ = fs::remove_file(&temporary);
    let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&temporary)?;
    file.write_all(&serde_json::to_vec_pretty(contexts)?)?;
    file.write_all(b"\n")?;
    fs::rename(&temporary, path)
}

/// A client for the server that the flags, the environment or the contexts mean.
pub(crate) fn client(connection: &Connection, debug: bool) -> Result<Client, Failure> {
    let contexts = Contexts::load()?;
    let stored = match (&connection.url, &connection.context) {
        // A URL without a context means that server and nothing that was stored for another.
        (Some(url), None) => {
            contexts.contexts.values().find(|context| context.url == url.trim_end_matches('/')).cloned()
        }
        (_, name) => contexts.find(name.as_deref())?.map(|(_, context)| context.clone()),
    };
    let url = connection.url.clone().or_else(|| stored.as_ref().map(|context| context.url.clone()));
    let url = url.ok_or_else(|| {
        Failure::new(Code::Usage, "no server is known")
            .hint("Run: muster login <url>, or set MUSTER_URL and MUSTER_TOKEN.")
    })?;
    let fingerprint = connection
        .fingerprint
        .clone()
        .or_else(|| stored.as_ref().and_then(|context| context.spki_sha256.clone()));
    let token = connection.token.clone().or_else(|| stored.and_then(|context| context.token));
    let client = Client::new(&url, &trust(fingerprint.as_deref())?, token)?;
    Ok(client.with_trace(debug.then_some(show)))
}

/// Whom to believe.
pub(crate) fn trust(fingerprint: Option<&str>) -> Result<Trust, Failure> {
    let Some(text) = fingerprint else { return Ok(Trust::System) };
    let digits: String = text.chars().filter(|c| !matches!(c, ':' | ' ')).collect();
    let mut pin = [0; 32];
    let digits = digits.strip_prefix("sha256").unwrap_or(&digits);
    hex::decode_to_slice(digits, &mut pin)
        .map_err(|_| Failure::usage("--fingerprint: a fingerprint has 64 hexadecimal digits"))?;
    Ok(Trust::Pinned(pin))
}

#[expect(clippy::print_stderr, reason = "--debug asks for it")]
pub(crate) fn show(line: &str) {
    eprintln!("{line}");
}
