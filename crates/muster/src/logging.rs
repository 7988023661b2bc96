//! Logs on standard error, in lines for people or in JSON. RUST_LOG chooses in detail.

use std::io::IsTerminal;

use tracing_subscriber::EnvFilter;

/// How logs look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum LogFormat {
    /// A line for people.
    Text,
    /// A JSON object per line.
    Json,
}

/// Begins to log. A second call does nothing.
pub(crate) fn start(format: LogFormat, debug: bool) {
    let default = if debug {
        "info,control_plane=debug,opamp_server=debug,store=debug,muster=debug,host_agent=debug,host_drivers=debug"
    } else {
        "info"
    };
    let filter =
        without_bodies(EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(default)));
    // A log that cannot be written, on a full disk say, must not end the thread that wants to say so.
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .log_internal_errors(false);
    let colours = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    let _ = match format {
        LogFormat::Text => builder.with_ansi(colours).with_target(false).try_init(),
        LogFormat::Json => builder.json().try_init(),
    };
}

/// The engine's library writes requests and answers whole at `debug`, and the environment of a container holds secrets:
/// that is never logged, whatever RUST_LOG says.
fn without_bodies(filter: EnvFilter) -> EnvFilter {
    ["bollard=info", "bollard::docker=info", "bollard::read=info"]
        .iter()
        .filter_map(|quiet| quiet.parse().ok())
        .fold(filter, EnvFilter::add_directive)
}
