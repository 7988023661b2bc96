//! The name of an image: `registry/repository:tag@digest`. It is read as engines read it and kept in full, so that
//! `nginx` and `docker.io/library/nginx:latest` are one image.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The registry of names without one.
pub const DEFAULT_REGISTRY: &str = "docker.io";
const DEFAULT_TAG: &str = "latest";
/// What a registry and a repository may have together, in bytes.
const MAX_NAME: usize = 255;
const MAX_TAG: usize = 128;

/// The name of an image.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ImageRef {
    registry: String,
    repository: String,
    tag: Option<String>,
    digest: Option<String>,
}

/// When an image is fetched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pull {
    /// When the host does not have it.
    #[default]
    Missing,
    /// Before every start.
    Always,
}

/// Why a text names no image.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidImage {
    /// Nothing.
    #[error("an image must not be empty")]
    Empty,
    /// The repository breaks the rule.
    #[error(
        "{0:?} is no repository: parts between / have lower-case letters and digits, with one . one or two _ or any \
         number of - between them"
    )]
    Repository(String),
    /// The registry breaks the rule.
    #[error("{0:?} is no registry: a host name or an address, with a port after a colon")]
    Registry(String),
    /// The tag breaks the rule.
    #[error("{0:?} is no tag: letters, digits, _ . - and at most {MAX_TAG} of them, the first no . or -")]
    Tag(String),
    /// The digest breaks the rule.
    #[error("{0:?} is no digest: sha256: and 64 hexadecimal digits in lower case")]
    Digest(String),
    /// Registry and repository are too long.
    #[error("the name of an image has at most {MAX_NAME} characters")]
    TooLong,
}

impl ImageRef {
    /// The registry, such as `docker.io` or `127.0.0.1:5000`.
    pub fn registry(&self) -> &str {
        &self.registry
    }

    /// The repository in it, such as `library/nginx`.
    pub fn repository(&self) -> &str {
        &self.repository
    }

    /// The tag. `None` only when there is a digest.
    pub fn tag(&self) -> Option<&str> {
        self.tag.as_deref()
    }

    /// The digest, such as `sha256:…`.
    pub fn digest(&self) -> Option<&str> {
        self.digest.as_deref()
    }

    /// The same image held at a digest.
    pub fn with_digest(mut self, digest: &str) -> Result<Self, InvalidImage> {
        self.digest = Some(checked_digest(digest)?.to_owned());
        Ok(self)
    }

    /// As people write it: without what every engine adds.
    pub fn short(&self) -> String {
        let mut text = String::new();
        if self.registry == DEFAULT_REGISTRY {
            text.push_str(self.repository.strip_prefix("library/").unwrap_or(&self.repository));
        } else {
            text.push_str(&format!("{}/{}", self.registry, self.repository));
        }
        if let Some(tag) = self.tag.as_deref().filter(|tag| *tag != DEFAULT_TAG) {
            text.push_str(&format!(":{tag}"));
        }
        if let Some(digest) = &self.digest {
            text.push_str(&format!("@{digest}"));
        }
        text
    }
}

impl FromStr for ImageRef {
    type Err = InvalidImage;

    fn from_str(text: &str) -> Result<Self, InvalidImage> {
        if text.is_empty() {
            return Err(InvalidImage::Empty);
        }
        let (rest, digest) = match text.split_once('@') {
            Some((rest, digest)) => (rest, Some(checked_digest(digest)?.to_owned())),
            None => (text, None),
        };
        let (registry, path) = split_registry(rest);
        let (path, tag) = match path.split_once(':') {
            Some((path, tag)) => (path, Some(checked_tag(tag)?.to_owned())),
            None => (path, None),
        };
        if !path.split('/').all(is_component) || is_hex(path, 64) {
            return Err(InvalidImage::Repository(shortened(path)));
        }
        let registry = match registry {
            None | Some("index.docker.io") => DEFAULT_REGISTRY,
            Some(registry) if is_registry(registry) => registry,
            Some(registry) => return Err(InvalidImage::Registry(shortened(registry))),
        };
        let is_official = registry == DEFAULT_REGISTRY && !path.contains('/');
        let repository = if is_official { format!("library/{path}") } else { path.to_owned() };
        if registry.len() + repository.len() >= MAX_NAME {
            return Err(InvalidImage::TooLong);
        }
        let tag = tag.or_else(|| digest.is_none().then(|| DEFAULT_TAG.to_owned()));
        Ok(Self { registry: registry.to_owned(), repository, tag, digest })
    }
}

impl TryFrom<String> for ImageRef {
    type Error = InvalidImage;

    fn try_from(text: String) -> Result<Self, InvalidImage> {
        text.parse()
    }
}

impl From<ImageRef> for String {
    fn from(image: ImageRef) -> Self {
        image.to_string()
    }
}

/// In full.
impl fmt::Display for ImageRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { registry, repository, tag, digest } = self;
        write!(f, "{registry}/{repository}")?;
        if let Some(tag) = tag {
            write!(f, ":{tag}")?;
        }
        if let Some(digest) = digest {
            write!(f, "@{digest}")?;
        }
        Ok(())
    }
}

/// The first part is a registry when it cannot be a part of a repository, or is `localhost`.
fn split_registry(text: &str) -> (Option<&str>, &str) {
    match text.split_once('/') {
        Some((first, rest))
            if first == "localhost"
                || first.contains(['.', ':'])
                || first.bytes().any(|byte| byte.is_ascii_uppercase()) =>
        {
            (Some(first), rest)
        }
        _ => (None, text),
    }
}

/// Whether a text is the name of a registry: a host, or an IPv6 address in brackets, with a port or without.
pub fn is_registry(text: &str) -> bool {
    if let Some(rest) = text.strip_prefix('[') {
        let Some((address, port)) = rest.split_once(']') else { return false };
        return address.parse::<std::net::Ipv6Addr>().is_ok()
            && (port.is_empty() || port.strip_prefix(':').is_some_and(is_port));
    }
    let (host, port) = text.split_once(':').map_or((text, None), |(host, port)| (host, Some(port)));
    let is_label = |label: &str| {
        !label.is_empty()
            && !label.starts_with('-')
            && !label.ends_with('-')
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    };
    host.split('.').all(is_label) && port.is_none_or(is_port)
}

fn is_port(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit()) && text.parse::<u16>().is_ok_and(|port| port > 0)
}

/// A part of a repository: runs of letters and digits with `.`, `_`, `__` or dashes between them.
fn is_component(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let marks: Vec<&str> = text.split(|c: char| c.is_ascii() && is_plain(c as u8)).collect();
    let [first, middle @ .., last] = marks.as_slice() else { return false };
    let is_mark = |mark: &&str| {
        matches!(*mark, "" | "." | "_" | "__")
            || (mark.len() < MAX_NAME && mark.bytes().all(|byte| byte == b'-'))
    };
    first.is_empty() && last.is_empty() && middle.iter().all(is_mark)
}

fn checked_tag(tag: &str) -> Result<&str, InvalidImage> {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let is_tag = tag.len() <= MAX_TAG
        && tag.bytes().next().is_some_and(is_word)
        && tag.bytes().all(|byte| is_word(byte) || matches!(byte, b'.' | b'-'));
    if is_tag { Ok(tag) } else { Err(InvalidImage::Tag(shortened(tag))) }
}

fn checked_digest(digest: &str) -> Result<&str, InvalidImage> {
    let is_digest = digest.strip_prefix("sha256:").is_some_and(|hex| is_hex(hex, 64))
        || digest.strip_prefix("sha512:").is_some_and(|hex| is_hex(hex, 128));
    if is_digest { Ok(digest) } else { Err(InvalidImage::Digest(shortened(digest))) }
}

fn is_hex(text: &str, length: usize) -> bool {
    text.len() == length && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

fn shortened(text: &str) -> String {
    text.chars().take(80).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn full(text: &str) -> String {
        text.parse::<ImageRef>().unwrap_or_else(|error| panic!("{text}: {error}")).to_string()
    }

    #[test]
    fn names_are_read_as_engines_read_them() {
        let digest = format!("sha256:{}", "a".repeat(64));
        for (text, name) in [
            ("nginx", "docker.io/library/nginx:latest"),
            ("nginx:1.27", "docker.io/library/nginx:1.27"),
            ("docker.io/nginx", "docker.io/library/nginx:latest"),
            ("index.docker.io/a/b", "docker.io/a/b:latest"),
            ("bitnami/redis", "docker.io/bitnami/redis:latest"),
            ("localhost/app", "localhost/app:latest"),
            ("127.0.0.1:5000/shop/web:2", "127.0.0.1:5000/shop/web:2"),
            ("[::1]:5000/web", "[::1]:5000/web:latest"),
            ("registry:2", "docker.io/library/registry:2"),
            ("a.example/b/c_d/e__f/g--h.i", "a.example/b/c_d/e__f/g--h.i:latest"),
            ("UPPER/app", "UPPER/app:latest"),
        ] {
            assert_eq!(full(text), name);
        }
        assert_eq!(full(&format!("nginx@{digest}")), format!("docker.io/library/nginx@{digest}"));
        assert_eq!(full(&format!("nginx:1@{digest}")), format!("docker.io/library/nginx:1@{digest}"));
    }

    #[test]
    fn what_is_no_name_is_refused() {
        use InvalidImage as I;
        let of = |text: &str| text.parse::<ImageRef>().unwrap_err();
        assert_eq!(of(""), I::Empty);
        for (text, part) in [
            ("Nginx", "Nginx"),
            ("a//b", "a//b"),
            ("/a", "/a"),
            ("a/", "a/"),
            ("a.example/", ""),
            ("a b", "a b"),
            ("a___b", "a___b"),
            ("a..b", "a..b"),
            ("-a", "-a"),
            ("https://a.example/b", "/a.example/b"),
            ("é", "é"),
        ] {
            assert_eq!(of(text), I::Repository(part.to_owned()), "{text}");
        }
        assert_eq!(of(&"a".repeat(64)), I::Repository("a".repeat(64)));
        assert_eq!(of("a.example:port/b"), I::Registry("a.example:port".to_owned()));
        assert_eq!(of("a.example:99999/b"), I::Registry("a.example:99999".to_owned()));
        assert_eq!(of("-a.example/b"), I::Registry("-a.example".to_owned()));
        assert_eq!(of("a:-x"), I::Tag("-x".to_owned()));
        assert_eq!(of("a:"), I::Tag(String::new()));
        assert_eq!(of(&format!("a:{}", "b".repeat(129))), I::Tag("b".repeat(80)));
        assert_eq!(of("a@sha256:abc"), I::Digest("sha256:abc".to_owned()));
        assert_eq!(of(&format!("a/{}", "b".repeat(250))), I::TooLong);
    }

    #[test]
    fn a_short_name_reads_back_to_the_same_image() {
        let digest = format!("sha256:{}", "b".repeat(64));
        for (text, short) in [
            ("nginx:latest", "nginx".to_owned()),
            ("docker.io/library/nginx:1", "nginx:1".to_owned()),
            ("docker.io/a/b", "a/b".to_owned()),
            ("ghcr.io/a/b:1", "ghcr.io/a/b:1".to_owned()),
        ] {
            let image: ImageRef = text.parse().unwrap();
            assert_eq!(image.short(), short);
            assert_eq!(short.parse(), Ok(image));
        }
        let held = "nginx:1".parse::<ImageRef>().unwrap().with_digest(&digest).unwrap();
        assert_eq!((held.tag(), held.digest()), (Some("1"), Some(digest.as_str())));
        assert_eq!((held.registry(), held.repository()), ("docker.io", "library/nginx"));
    }
}
