//! The crate graph as cargo tells it: who depends on whom, directly and, for pure crates, in the end.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use super::reach::PURE;

/// Which builds need a dependency.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Need {
    /// Every build.
    Normal,
    /// The build script.
    Build,
    /// Tests and examples only.
    Dev,
}

/// A crate of the workspace.
#[derive(Debug, Clone, Default)]
pub(crate) struct Member {
    pub(crate) description: String,
    /// Path of its manifest from the root.
    pub(crate) manifest: String,
    /// What the manifest names.
    pub(crate) direct: BTreeSet<(String, Need)>,
    /// For pure crates: every package in a build of it alone, tests aside.
    pub(crate) reach: BTreeSet<String>,
}

/// All crates of the workspace by name.
#[derive(Debug, Clone, Default)]
pub(crate) struct Graph {
    pub(crate) members: BTreeMap<String, Member>,
}

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
    workspace_root: String,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    description: Option<String>,
    manifest_path: String,
    dependencies: Vec<Dependency>,
}

#[derive(Deserialize)]
struct Dependency {
    name: String,
    kind: Option<String>,
}

impl Graph {
    /// Asks cargo.
    pub(crate) fn read(root: &Path) -> Result<Self> {
        let mut graph =
            Self::parse(&cargo(root, &["metadata", "--format-version=1", "--no-deps", "--locked"])?)?;
        for name in PURE {
            // Not from the metadata: there the features of all members are mixed, and what a server switches on
            // in a shared dependency would look as if the pure crate had asked for it.
            let tree =
                ["tree", "--locked", "--edges=normal", "--prefix=none", "--format={p}", "--package", name];
            if let Some(member) = graph.members.get_mut(*name) {
                member.reach = packages(&String::from_utf8(cargo(root, &tree)?)?);
            }
        }
        Ok(graph)
    }

    /// Reads the answer of `cargo metadata --no-deps`.
    fn parse(json: &[u8]) -> Result<Self> {
        let metadata: Metadata =
            serde_json::from_slice(json).context("read what `cargo metadata` printed")?;
        let member = |package: Package| {
            let manifest = package.manifest_path.strip_prefix(&metadata.workspace_root);
            let member = Member {
                description: package.description.unwrap_or_default(),
                manifest: manifest.unwrap_or(&package.manifest_path).trim_start_matches('/').to_owned(),
                direct: package.dependencies.iter().map(Dependency::named).collect(),
                reach: BTreeSet::new(),
            };
            (package.name, member)
        };
        Ok(Self { members: metadata.packages.into_iter().map(member).collect() })
    }
}

impl Dependency {
    fn named(&self) -> (String, Need) {
        let need = match self.kind.as_deref() {
            Some("dev") => Need::Dev,
            Some("build") => Need::Build,
            _ => Need::Normal,
        };
        (self.name.clone(), need)
    }
}

fn cargo(root: &Path, arguments: &[&str]) -> Result<Vec<u8>> {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let answer = Command::new(program).args(arguments).current_dir(root).output().context("run cargo")?;
    let error = String::from_utf8_lossy(&answer.stderr);
    ensure!(answer.status.success(), "`cargo {}` failed: {error}", arguments.join(" "));
    Ok(answer.stdout)
}

/// The names in lines such as `bytes v1.12.2 (*)`; the first line is the crate itself.
fn packages(tree: &str) -> BTreeSet<String> {
    tree.lines().skip(1).filter_map(|line| line.split(' ').next()).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANSWER: &str = r#"{
        "workspace_root": "/somewhere",
        "packages": [
            {"name": "a", "description": "The first", "manifest_path": "/somewhere/crates/a/Cargo.toml",
             "dependencies": [{"name": "b", "kind": null}, {"name": "c", "kind": "dev"}]}
        ]
    }"#;

    #[test]
    fn members_are_read_with_what_they_name() {
        let graph = Graph::parse(ANSWER.as_bytes()).unwrap();
        let member = &graph.members["a"];
        assert_eq!(member.manifest, "crates/a/Cargo.toml");
        assert_eq!(member.description, "The first");
        let direct = [("b".to_owned(), Need::Normal), ("c".to_owned(), Need::Dev)];
        assert_eq!(member.direct, direct.into());
    }

    #[test]
    fn a_tree_is_read_without_its_root() {
        let tree = "model v0.1.0 (/somewhere)\nbytes v1.12.2\nprost v0.14.6\nbytes v1.12.2 (*)\n";
        assert_eq!(packages(tree), ["bytes".to_owned(), "prost".to_owned()].into());
    }
}
