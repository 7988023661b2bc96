//! Development tasks: `cargo xtask generate` writes the generated protobuf code, `cargo xtask tidy` checks the house,
//! `cargo xtask map` prints the map of crates that ARCHITECTURE.md shows.

use std::process::ExitCode;

use anyhow::{Result, bail};

mod generate;
mod tidy;

fn main() -> Result<ExitCode> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments.as_slice() {
        ["generate"] => generate::write().map(|()| ExitCode::SUCCESS),
        ["tidy"] => tidy::run(&generate::root(), tidy::Depth::Full),
        ["tidy", "--quick"] => tidy::run(&generate::root(), tidy::Depth::Quick),
        ["map"] => tidy::print_map().map(|()| ExitCode::SUCCESS),
        other => bail!("unknown task {other:?}; there are: generate, tidy [--quick], map"),
    }
}
