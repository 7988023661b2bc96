//! The files of a configuration and their rules. What is inside them is [`super::check`](mod@super::check)'s matter.

use bytes::Bytes;
use opamp_proto::hash::config_hash;
use opamp_proto::wire::{AgentConfigFile, AgentConfigMap};

/// The most files of one configuration.
pub const MAX_FILES: usize = 64;
/// The most bytes of all names and bodies together.
pub const MAX_BYTES: usize = 1 << 20;
/// The longest name, in bytes.
pub const MAX_NAME: usize = 255;
/// The longest content type, in bytes.
pub const MAX_CONTENT_TYPE: usize = 127;

/// One file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigFile {
    /// Its name; empty only when there is no other file.
    pub name: String,
    /// Its MIME type.
    pub content_type: String,
    /// Its text.
    pub body: String,
}

/// What the text of a file is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// YAML.
    Yaml,
    /// JSON.
    Json,
    /// Something that is only compared byte for byte.
    Other,
}

/// All files of a configuration, by name. They keep the rules.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigFiles(Vec<ConfigFile>);

/// Why files make no configuration.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidFiles {
    /// There is no file.
    #[error("a configuration has at least one file")]
    None,
    /// More than [`MAX_FILES`].
    #[error("a configuration has at most {MAX_FILES} files, this has {0}")]
    TooMany(usize),
    /// More than [`MAX_BYTES`].
    #[error("a configuration has at most {MAX_BYTES} bytes, this has {0}")]
    TooLarge(usize),
    /// A name that breaks a rule.
    #[error("{file:?} is no name of a file: {rule}")]
    Name {
        /// The name, cut to 64 characters.
        file: String,
        /// The rule.
        rule: &'static str,
    },
    /// Two files with one name.
    #[error("there are two files with the name {0:?}")]
    Twice(String),
    /// A content type that is none.
    #[error("the content type of {0:?} must be 1 to {MAX_CONTENT_TYPE} visible ASCII characters")]
    ContentType(String),
}

impl InvalidFiles {
    /// The name of the file that is wrong; `None` when it is all of them together.
    pub fn file(&self) -> Option<&str> {
        match self {
            Self::Name { file, .. } | Self::Twice(file) | Self::ContentType(file) => Some(file),
            Self::None | Self::TooMany(_) | Self::TooLarge(_) => None,
        }
    }
}

impl ConfigFile {
    /// A file. Without a content type it has the one that its name suggests.
    pub fn new(name: impl Into<String>, content_type: Option<String>, body: impl Into<String>) -> Self {
        let name = name.into();
        let content_type = content_type.unwrap_or_else(|| default_content_type(&name).to_owned());
        Self { name, content_type, body: body.into() }
    }

    /// What its text is written in.
    pub fn format(&self) -> Format {
        Format::of(&self.name, &self.content_type)
    }
}

impl Format {
    /// The format by the content type, and where an agent gave none by the name.
    pub fn of(name: &str, content_type: &str) -> Self {
        let essence = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        match essence.as_str() {
            "" => match default_content_type(name) {
                "text/yaml" => Self::Yaml,
                "application/json" => Self::Json,
                _ => Self::Other,
            },
            other if other.ends_with("yaml") || other.ends_with("yml") => Self::Yaml,
            other if other.ends_with("/json") || other.ends_with("+json") => Self::Json,
            _ => Self::Other,
        }
    }
}

/// The content type of a file that was given none.
fn default_content_type(name: &str) -> &'static str {
    let lower = name.to_ascii_lowercase();
    if name.is_empty() || lower.ends_with(".yaml") || lower.ends_with(".yml") {
        "text/yaml"
    } else if lower.ends_with(".json") {
        "application/json"
    } else {
        "text/plain"
    }
}

impl ConfigFiles {
    /// Files that keep the rules, by name.
    pub fn try_new(files: impl IntoIterator<Item = ConfigFile>) -> Result<Self, InvalidFiles> {
        let mut files: Vec<_> = files.into_iter().collect();
        match files.len() {
            0 => return Err(InvalidFiles::None),
            count if count > MAX_FILES => return Err(InvalidFiles::TooMany(count)),
            _ => {}
        }
        let bytes = files.iter().map(|file| file.name.len() + file.body.len()).sum();
        if bytes > MAX_BYTES {
            return Err(InvalidFiles::TooLarge(bytes));
        }
        let alone = files.len() == 1;
        for file in &files {
            check_name(&file.name, alone)?;
            check_content_type(file)?;
        }
        files.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        if let Some(pair) = files.windows(2).find(|pair| pair[0].name == pair[1].name) {
            return Err(InvalidFiles::Twice(shown(&pair[0].name)));
        }
        Ok(Self(files))
    }

    /// The files, by name.
    pub fn iter(&self) -> std::slice::Iter<'_, ConfigFile> {
        self.0.iter()
    }

    /// The files as a slice, by name.
    pub fn as_slice(&self) -> &[ConfigFile] {
        &self.0
    }

    /// The files, by name.
    pub fn into_vec(self) -> Vec<ConfigFile> {
        self.0
    }

    /// What is offered to an agent (CFG-21). The same files give the same bytes.
    pub fn to_wire(&self) -> AgentConfigMap {
        let config_map = self.0.iter().map(|file| {
            let ConfigFile { name, content_type, body } = file;
            let body = Bytes::copy_from_slice(body.as_bytes());
            (name.clone(), AgentConfigFile { body, content_type: content_type.clone(), role: String::new() })
        });
        AgentConfigMap { config_map: config_map.collect() }
    }

    /// The hash that agents report for them (CFG-21).
    pub fn hash(&self) -> Bytes {
        config_hash(&self.to_wire())
    }
}

impl<'a> IntoIterator for &'a ConfigFiles {
    type Item = &'a ConfigFile;
    type IntoIter = std::slice::Iter<'a, ConfigFile>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// Agents write these names below a directory of theirs, so none may lead out of it on any system.
fn check_name(name: &str, alone: bool) -> Result<(), InvalidFiles> {
    let rule = if name.len() > MAX_NAME {
        "it is longer than 255 bytes"
    } else if name.is_empty() && !alone {
        "it may be empty only when there is no other file"
    } else if name.chars().any(char::is_control) {
        "it has a control character"
    } else if crate::name::seen(name).is_err() {
        "it has a character that cannot be seen"
    } else if name.starts_with('/') {
        "it begins with a slash"
    } else if name.contains('\\') {
        "it has a backslash"
    } else if name.split('/').any(|part| part == "..") {
        "it has a part that is \"..\""
    } else {
        return Ok(());
    };
    Err(InvalidFiles::Name { file: shown(name), rule })
}

fn check_content_type(file: &ConfigFile) -> Result<(), InvalidFiles> {
    let text = &file.content_type;
    let is_good =
        (1..=MAX_CONTENT_TYPE).contains(&text.len()) && text.bytes().all(|byte| matches!(byte, 0x20..=0x7e));
    if is_good { Ok(()) } else { Err(InvalidFiles::ContentType(shown(&file.name))) }
}

fn shown(name: &str) -> String {
    name.chars().take(64).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(name: &str) -> ConfigFile {
        ConfigFile::new(name, None, "a: 1\n")
    }

    fn refused(name: &str, rule: &'static str) {
        let error = ConfigFiles::try_new([file("a"), file(name)]).unwrap_err();
        let shown = name.chars().take(64).collect::<String>();
        assert_eq!(error, InvalidFiles::Name { file: shown.clone(), rule });
        assert_eq!(error.file(), Some(shown.as_str()));
    }

    #[test]
    fn a_name_that_could_leave_the_agents_directory_is_refused() {
        refused("/etc/passwd", "it begins with a slash");
        refused("../a", "it has a part that is \"..\"");
        refused("a/..", "it has a part that is \"..\"");
        refused("a\\b", "it has a backslash");
        refused("a\0b", "it has a control character");
        refused("a\u{202e}b", "it has a character that cannot be seen");
        refused("a\u{85}b", "it has a control character");
        refused("", "it may be empty only when there is no other file");
        refused(&"é".repeat(128), "it is longer than 255 bytes");
        for name in ["..a", "a..b", "...", "a/b.yaml", "ä"] {
            assert!(ConfigFiles::try_new([file(name), file("b")]).is_ok(), "{name}");
        }
    }

    #[test]
    fn the_number_and_the_size_of_files_are_limited() {
        assert_eq!(ConfigFiles::try_new([]), Err(InvalidFiles::None));
        let many = (0..65).map(|number| file(&number.to_string()));
        assert_eq!(ConfigFiles::try_new(many), Err(InvalidFiles::TooMany(65)));
        let large = ConfigFile::new("", None, "x".repeat(MAX_BYTES));
        assert!(ConfigFiles::try_new([large.clone()]).is_ok());
        let large = ConfigFile { name: "a".to_owned(), ..large };
        assert_eq!(ConfigFiles::try_new([large]), Err(InvalidFiles::TooLarge(MAX_BYTES + 1)));
        assert_eq!(ConfigFiles::try_new([file("a"), file("a")]), Err(InvalidFiles::Twice("a".to_owned())));
    }

    #[test]
    fn a_file_without_a_content_type_gets_the_one_of_its_name() {
        let kind = |name: &str| file(name).content_type;
        assert_eq!(kind(""), "text/yaml");
        assert_eq!(kind("a/B.YML"), "text/yaml");
        assert_eq!(kind("a.json"), "application/json");
        assert_eq!(kind("a.toml"), "text/plain");
        let file = ConfigFile::new("a", Some("text/\u{e9}".to_owned()), "");
        assert_eq!(ConfigFiles::try_new([file]), Err(InvalidFiles::ContentType("a".to_owned())));
    }

    #[test]
    fn the_format_is_read_from_the_content_type_and_then_from_the_name() {
        for (name, content_type, format) in [
            ("a", "application/x-yaml; charset=utf-8", Format::Yaml),
            ("a.json", "text/yaml", Format::Yaml),
            ("a.yaml", "application/problem+json", Format::Json),
            ("a.yaml", "", Format::Yaml),
            ("a.yaml", "text/plain", Format::Other),
            ("a", "", Format::Other),
            ("", "", Format::Yaml),
        ] {
            assert_eq!(Format::of(name, content_type), format, "{name} {content_type}");
        }
    }

    #[test]
    fn cfg_21_the_hash_does_not_depend_on_the_order_of_files() {
        let forth = ConfigFiles::try_new([file("a"), file("b")]).unwrap();
        let back = ConfigFiles::try_new([file("b"), file("a")]).unwrap();
        assert_eq!(forth.hash(), back.hash());
        assert_eq!(forth, back);
        assert_ne!(forth.hash(), ConfigFiles::try_new([file("a")]).unwrap().hash());
    }
}
