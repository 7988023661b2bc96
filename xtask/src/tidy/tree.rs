//! The text files of the repository, read once. What git ignores is not looked at; what it does not track yet is.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

/// What a file is written in, as far as the checks care.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    Rust,
    Script,
    Svelte,
    Sql,
    Proto,
    Shell,
    Python,
    Go,
    Java,
    Css,
    Html,
    Prose,
    Other,
}

impl Kind {
    fn of(path: &str, text: &str) -> Self {
        match path.rsplit('/').next().unwrap_or(path).rsplit_once('.').map(|(_, ending)| ending) {
            Some("rs") => Self::Rust,
            Some("ts" | "mts" | "js" | "mjs" | "cjs") => Self::Script,
            Some("svelte") => Self::Svelte,
            Some("sql") => Self::Sql,
            Some("proto") => Self::Proto,
            Some("sh" | "bash") => Self::Shell,
            Some("py") => Self::Python,
            Some("go") => Self::Go,
            Some("java") => Self::Java,
            Some("css") => Self::Css,
            Some("html") => Self::Html,
            Some("md") => Self::Prose,
            Some("mk") => Self::Shell,
            _ if path.ends_with("Makefile") => Self::Shell,
            _ if text.starts_with("#!")
                && text.lines().next().is_some_and(|line| line.contains("python")) =>
            {
                Self::Python
            }
            _ if text.starts_with("#!") => Self::Shell,
            _ => Self::Other,
        }
    }

    /// Whether people wrote it as a program.
    pub(crate) fn is_source(self) -> bool {
        !matches!(self, Self::Prose | Self::Other)
    }
}

/// One text file.
#[derive(Debug, Clone)]
pub(crate) struct SourceFile {
    /// From the root of the repository, with forward slashes.
    pub(crate) path: String,
    pub(crate) kind: Kind,
    pub(crate) text: String,
}

impl SourceFile {
    /// A file as it would be read from disk.
    pub(crate) fn new(path: &str, text: &str) -> Self {
        Self { path: path.to_owned(), kind: Kind::of(path, text), text: text.to_owned() }
    }

    /// Whether a program wrote it: such files follow their generator and not the house.
    pub(crate) fn is_generated(&self) -> bool {
        self.text.lines().take(5).any(|line| {
            let line = line.to_lowercase();
            line.contains("@generated") || line.contains("code generated") || line.contains("generated from ")
        })
    }

    /// The crate folder under `crates/`, or `xtask`; none for files outside a crate.
    pub(crate) fn crate_name(&self) -> Option<&str> {
        if self.path.starts_with("xtask/") {
            return Some("xtask");
        }
        self.path.strip_prefix("crates/")?.split('/').next()
    }

    /// Lines with their numbers, which count from 1.
    pub(crate) fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        self.text.lines().enumerate().map(|(index, line)| (index + 1, line))
    }
}

/// All files, in the order of their paths.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    pub(crate) files: Vec<SourceFile>,
}

impl Tree {
    /// Reads what git knows about or would offer to add. Files that are no UTF-8 text are left out.
    pub(crate) fn read(root: &Path) -> Result<Self> {
        let listing = Command::new("git")
            .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
            .current_dir(root)
            .output()
            .context("run `git ls-files`")?;
        ensure!(
            listing.status.success(),
            "`git ls-files` failed: {}",
            String::from_utf8_lossy(&listing.stderr)
        );
        let mut paths: Vec<&str> =
            std::str::from_utf8(&listing.stdout)?.split('\0').filter(|path| !path.is_empty()).collect();
        paths.sort_unstable();
        paths.dedup();
        // A path that git still lists may be deleted on disk.
        let read = |path: &&str| Some(SourceFile::new(path, &std::fs::read_to_string(root.join(path)).ok()?));
        Ok(Self { files: paths.iter().filter_map(read).collect() })
    }

    /// A made-up repository.
    #[cfg(test)]
    pub(crate) fn of(files: &[(&str, &str)]) -> Self {
        Self { files: files.iter().map(|(path, text)| SourceFile::new(path, text)).collect() }
    }

    pub(crate) fn get(&self, path: &str) -> Option<&SourceFile> {
        self.files.iter().find(|file| file.path == path)
    }

    /// Programs that people wrote.
    pub(crate) fn sources(&self) -> impl Iterator<Item = &SourceFile> {
        self.files.iter().filter(|file| file.kind.is_source() && !file.is_generated())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_without_an_ending_are_told_by_their_first_line() {
        assert_eq!(SourceFile::new("interop/run", "#!/usr/bin/env python3\n").kind, Kind::Python);
        assert_eq!(SourceFile::new("tools/bootstrap", "#!/bin/bash\n").kind, Kind::Shell);
        assert_eq!(SourceFile::new("LICENSE", "Apache License\n").kind, Kind::Other);
    }

    #[test]
    fn generated_files_are_no_sources() {
        let tree = Tree::of(&[("a.rs", "// Generated from x.proto by y\nfn a() {}\n"), ("b.rs", "//! B.\n")]);
        assert_eq!(tree.sources().map(|file| file.path.as_str()).collect::<Vec<_>>(), ["b.rs"]);
    }

    #[test]
    fn a_file_knows_its_crate() {
        assert_eq!(SourceFile::new("crates/store/src/lib.rs", "").crate_name(), Some("store"));
        assert_eq!(SourceFile::new("xtask/src/main.rs", "").crate_name(), Some("xtask"));
        assert_eq!(SourceFile::new("console/src/app.ts", "").crate_name(), None);
    }
}
