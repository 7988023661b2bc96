//! Development tasks: `cargo xtask generate` writes the generated protobuf code, `cargo xtask tidy` checks the house.

use anyhow::{Result, bail};

mod generate;

fn main() -> Result<()> {
    match std::env::args().nth(1).as_deref() {
        Some("generate") => generate::write(),
        other => bail!("unknown task {other:?}; there is: generate"),
    }
}
