//! The servers that this user is logged in to: `~/.config/muster/contexts.json`, mode 0600. MUSTER_URL and
//! MUSTER_TOKEN go before it.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use api::client::Credential;
use api::{Client, Trust};
use serde::{Deserialize, Serialize};

use crate::cli::{Connection, Global};
use crate::failure::{Failure, Kind};

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

/// Whether commands turn to a context that is put in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Turn {
    /// It is the current one from now on.
    ToIt,
    /// The current one stays, if there is one.
    No,
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
                Failure::new(Kind::Failed, "there is no HOME to keep logins in")
                    .hint("Set MUSTER_CONFIG_DIR.")
            })
    }

    /// Reads the file; none is as good as an empty one.
    pub(crate) fn load() -> Result<Self, Failure> {
        let path = Self::path()?;
        let broken = |why: String| {
            Failure::new(Kind::Failed, format!("{} cannot be read: {why}", path.display()))
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
            Failure::new(Kind::Failed, format!("{} cannot be written: {error}", path.display()))
        })
    }

    /// Puts a context in; says whether it is the current one then. Without a current one it becomes that.
    pub(crate) fn put(&mut self, name: &str, context: Context, turn: Turn) -> bool {
        self.contexts.insert(name.to_owned(), context);
        let is_gone = self.current.as_ref().is_none_or(|current| !self.contexts.contains_key(current));
        if turn == Turn::ToIt || is_gone {
            self.current = Some(name.to_owned());
        }
        self.current.as_deref() == Some(name)
    }

    /// The context that the flags mean, with its name.
    pub(crate) fn find(&self, name: Option<&str>) -> Result<Option<(&str, &Context)>, Failure> {
        let Some(name) = name.or(self.current.as_deref()) else { return Ok(None) };
        let context = self.named(name)?;
        Ok(self.contexts.get_key_value(name).map(|(name, _)| (name.as_str(), context)))
    }

    /// The context of this name.
    pub(crate) fn named(&self, name: &str) -> Result<&Context, Failure> {
        self.contexts.get(name).ok_or_else(|| {
            Failure::new(Kind::NotFound, format!("there is no context {name:?}"))
                .hint(format!("There are: {}", self.names()))
        })
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
pub(crate) fn client(connection: &Connection, global: &Global) -> Result<Client, Failure> {
    let contexts = Contexts::load()?;
    let stored = stored(&contexts, connection, global)?;
    let url = connection.url.clone().or_else(|| stored.map(|(_, context)| context.url.clone()));
    let url = url.ok_or_else(|| {
        Failure::new(Kind::Refused, "no server is known: nobody is logged in here")
            .hint("Run: muster login <url>, or set MUSTER_URL and MUSTER_TOKEN.")
    })?;
    let fingerprint = connection
        .fingerprint
        .clone()
        .or_else(|| stored.and_then(|(_, context)| context.spki_sha256.clone()));
    let kept = stored.and_then(|(_, context)| context.token.clone());
    let own = connection.token.as_deref().map(one_word).transpose()?;
    let credential = match (own, &kept, stored) {
        (Some(token), _, _) => Some(given(token, stored)),
        (None, Some(_), Some((name, context))) => Some(Credential {
            name: format!("the login of context {name:?}"),
            advice: format!("Log in again: muster login {} --context {name}", context.url),
        }),
        _ => None,
    };
    let token = own.map(str::to_owned).or(kept);
    let client = Client::new(&url, &trust(fingerprint.as_deref())?, token)?.with_credential(credential);
    Ok(client.with_trace(global.debug.then_some(show)))
}

/// The context that is meant, with its name. A URL means that server: what was stored for another stays unused.
pub(crate) fn stored<'c>(
    contexts: &'c Contexts,
    connection: &Connection,
    global: &Global,
) -> Result<Option<(&'c str, &'c Context)>, Failure> {
    let of_url = |url: &String, context: &Context| context.url == url.trim_end_matches('/');
    match (&connection.url, global.context.as_deref()) {
        (None, name) => contexts.find(name),
        (Some(url), Some(name)) => Ok(contexts.find(Some(name))?.filter(|(_, context)| of_url(url, context))),
        (Some(url), None) => {
            let mut all = contexts.contexts.iter();
            Ok(all.find(|(_, context)| of_url(url, context)).map(|(name, context)| (name.as_str(), context)))
        }
    }
}

/// A token as somebody caught it, which may have brought a line's end along; all that was printed beside it is no token.
fn one_word(token: &str) -> Result<&str, Failure> {
    let token = token.trim();
    match token.contains(|c: char| c.is_whitespace() || c.is_control()) {
        true => Err(Failure::usage("a token is one word, and MUSTER_TOKEN or --token has more than that")
            .hint("muster api-tokens create NAME -o name prints the token alone.")),
        false => Ok(token),
    }
}

/// A token that was not kept by `muster login`, and what it is called.
fn given(token: &str, stored: Option<(&str, &Context)>) -> Credential {
    let is_in_environment = std::env::var("MUSTER_TOKEN").is_ok_and(|value| value.trim() == token);
    let (name, without) = match is_in_environment {
        true => ("MUSTER_TOKEN", "unset it"),
        false => ("--token", "leave it out"),
    };
    let otherwise = stored.map_or_else(
        || format!("{without} and run: muster login <url>"),
        |(context, _)| format!("{without} to use the login of context {context:?}"),
    );
    Credential {
        name: format!("the token of {name}"),
        advice: format!(
            "Give {name} another API token (muster api-tokens create makes one), or {otherwise}."
        ),
    }
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

/// What `--debug` asks for.
pub(crate) fn show(line: &str) {
    crate::output::note(line);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn context(url: &str) -> Context {
        Context { url: url.to_owned(), token: Some("t".to_owned()), spki_sha256: None }
    }

    #[test]
    fn a_context_becomes_the_current_one_when_asked_or_when_there_is_none() {
        let mut contexts = Contexts::default();
        assert!(contexts.put("dev", context("http://a"), Turn::No));
        assert!(!contexts.put("other", context("http://b"), Turn::No));
        assert!(contexts.put("prod", context("http://c"), Turn::ToIt));
        contexts.contexts.remove("prod");
        assert!(contexts.put("dev", context("http://a"), Turn::No), "the current one is gone");
    }

    #[test]
    fn a_url_never_gets_what_was_kept_for_another_server() {
        let mut contexts = Contexts::default();
        contexts.put("prod", context("http://a"), Turn::ToIt);
        let at = |url: &str| Connection { url: Some(url.to_owned()), token: None, fingerprint: None };
        let named = |name: Option<&str>| Global { debug: false, context: name.map(str::to_owned) };
        let found =
            |url: &str, name| stored(&contexts, &at(url), &named(name)).unwrap().map(|(name, _)| name);
        assert_eq!(found("http://a/", None), Some("prod"));
        assert_eq!(found("http://a", Some("prod")), Some("prod"));
        assert_eq!((found("http://b", None), found("http://b", Some("prod"))), (None, None));
        assert!(stored(&contexts, &at("http://a"), &named(Some("nope"))).is_err());
    }
}
