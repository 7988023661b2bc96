//! Flags of the commands that keep a server alive: back-up, restore, doctor.

use std::path::PathBuf;

use clap::Args;

use super::{Connection, Output};

/// `muster backup`.
#[derive(Debug, Clone, Args)]
pub(crate) struct BackupArgs {
    /// The server's data directory; the server may be running
    #[arg(long, env = "MUSTER_DATA_DIR", default_value = "./muster-data")]
    pub(crate) data_dir: PathBuf,
    /// The file to write; it must not exist
    #[arg(long, value_name = "FILE")]
    pub(crate) to: PathBuf,
}

/// `muster restore`.
#[derive(Debug, Clone, Args)]
pub(crate) struct RestoreArgs {
    /// The back-up
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Where to restore to: a directory that does not exist or is empty
    #[arg(long, env = "MUSTER_DATA_DIR", value_name = "DIR")]
    pub(crate) data_dir: PathBuf,
    /// Check that this is the key that the back-up's secrets are sealed with
    #[arg(long, env = "MUSTER_KEY_FILE", value_name = "FILE")]
    pub(crate) key_file: Option<PathBuf>,
}

/// `muster doctor`.
#[derive(Debug, Clone, Args)]
pub(crate) struct DoctorArgs {
    /// The server's data directory; ./muster-data if absent. One that is named must be there
    #[arg(long, env = "MUSTER_DATA_DIR", value_name = "DIR")]
    pub(crate) data_dir: Option<PathBuf>,
    /// The key file, as for the server
    #[arg(long, env = "MUSTER_KEY_FILE", value_name = "FILE")]
    pub(crate) key_file: Option<PathBuf>,
    /// Where agents connect, as for the server
    #[arg(long, env = "MUSTER_OPAMP_LISTEN", default_value = "0.0.0.0:4320", value_name = "ADDRESS")]
    pub(crate) opamp_listen: String,
    /// Where console and API are, as for the server
    #[arg(long, env = "MUSTER_LISTEN", default_value = "0.0.0.0:5050", value_name = "ADDRESS")]
    pub(crate) listen: String,
    /// The console's URL, as for the server
    #[arg(long, env = "MUSTER_PUBLIC_URL", value_name = "URL")]
    pub(crate) public_url: Option<String>,
    /// The certificate, as for the server; the server's own if absent
    #[arg(long, env = "MUSTER_TLS_CERT", value_name = "FILE")]
    pub(crate) tls_cert: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) output: Output,
    #[command(flatten)]
    pub(crate) connection: Connection,
}
