//! What agent and netd say to each other: one JSON text a line, of bounded length, one answer to each request. The two
//! may be of different versions; fields are only ever added.

use std::collections::BTreeMap;
use std::io;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufRead, AsyncBufReadExt as _, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

use super::config::Config;
use super::item::ItemStatus;
use crate::dns::DnsCounters;
use crate::forward::PortCounters;

/// Longest line in bytes: as long as the longest message of the host agent protocol, that a configuration comes from.
pub(super) const MAX_LINE: u64 = 16 * 1024 * 1024;

/// What the agent asks.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Request {
    /// To serve this from now on.
    Set(Box<Config>),
    /// How things stand.
    Status,
}

/// What netd answers.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Response {
    /// How each item stands after `set`.
    Results(Vec<ItemStatus>),
    /// How things stand.
    Status(Box<Status>),
    /// The request was not understood.
    Error(String),
}

/// How netd stands.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Status {
    /// Its version.
    pub version: String,
    /// Its process.
    pub pid: u32,
    /// How long it has been running, in seconds.
    pub up_s: u64,
    /// Each gateway and port.
    pub items: Vec<ItemStatus>,
    /// What was asked and answered.
    pub dns: DnsCounters,
    /// What each port carried, by its name.
    pub ports: BTreeMap<String, PortCounters>,
}

/// Reads one line; none when the peer has said all.
pub(super) async fn read<T: DeserializeOwned>(
    from: &mut (impl AsyncBufRead + Unpin),
) -> io::Result<Option<T>> {
    let mut line = Vec::new();
    from.take(MAX_LINE + 1).read_until(b'\n', &mut line).await?;
    if line.is_empty() {
        return Ok(None);
    }
    if line.pop() != Some(b'\n') {
        let what = format!("a line has no end or more than {MAX_LINE} bytes");
        return Err(io::Error::new(io::ErrorKind::InvalidData, what));
    }
    serde_json::from_slice(&line).map(Some).map_err(io::Error::from)
}

/// Writes one line.
pub(super) async fn write(to: &mut (impl AsyncWrite + Unpin), message: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    to.write_all(&line).await
}
