//! The muster binary.

mod bench;

use clap::Parser;

#[derive(Debug, Parser)]
#[command(name = "muster", version)]
enum Cli {
    /// Measure what agents cost a server
    Bench(bench::Args),
}

fn main() -> anyhow::Result<()> {
    match Cli::parse() {
        Cli::Bench(args) => bench::run(args),
    }
}
