//! Rust code for OpAMP's messages, made from the .proto files without a protoc and committed,
//! so that reviewers see protocol changes and no build needs a generator.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// The folder of the workspace: the one that we are in, since a program that was built in another checkout may run here.
pub(crate) fn root() -> PathBuf {
    let here = std::env::current_dir().unwrap_or_default();
    let is_root = |folder: &&Path| folder.join("xtask/Cargo.toml").is_file();
    here.ancestors().find(is_root).unwrap_or(&here).to_path_buf()
}

fn target() -> PathBuf {
    root().join("crates/opamp-proto/src/wire/generated.rs")
}

/// The generated file as it should be.
pub(crate) fn fresh() -> Result<String> {
    let folder = root().join("crates/opamp-proto/proto");
    let files = protox::compile([folder.join("opamp.proto"), folder.join("anyvalue.proto")], [&folder])?;
    let out = std::env::temp_dir().join(format!("muster-generate-{}", std::process::id()));
    std::fs::create_dir_all(&out)?;
    prost_build::Config::new().bytes(["."]).btree_map(["."]).out_dir(&out).compile_fds(files)?;
    let code = std::fs::read_to_string(out.join("opamp.proto.rs")).context("read the generated code")?;
    std::fs::remove_dir_all(&out)?;
    Ok(format!("// Generated from proto/*.proto by `cargo xtask generate`; edit those instead.\n\n{code}"))
}

/// Writes the generated file.
pub(crate) fn write() -> Result<()> {
    let code = fresh()?;
    std::fs::write(target(), code).with_context(|| format!("write {}", target().display()))
}

/// Whether the committed file is what the generator makes today.
pub(crate) fn is_fresh() -> Result<bool> {
    Ok(std::fs::read_to_string(target()).unwrap_or_default() == fresh()?)
}
