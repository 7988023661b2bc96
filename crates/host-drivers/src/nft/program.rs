//! Running nft: input on its standard input, its own words as the error.

use std::io;
use std::process::{Output, Stdio};
use std::time::Duration;

use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;

/// Longest that a run may take. Replacing a table takes some 20 ms; a kernel that hangs must not hang the host's agent.
const PATIENCE: Duration = Duration::from_secs(20);
/// What is kept of an error's text, in bytes: nft repeats whole lines of its input.
const MAX_ERROR: usize = 2_000;

/// The command that is nft.
#[derive(Debug, Clone)]
pub struct Program {
    command: Vec<String>,
}

/// Why the rules could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum NftError {
    /// The program cannot be started.
    #[error("cannot run {program} (is the package nftables installed?)")]
    Start {
        /// Which.
        program: String,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// It ran and refused; nothing was changed.
    #[error("nft refused: {0}")]
    Refused(String),
    /// It did not end in time and was stopped.
    #[error("nft did not end within {} seconds", PATIENCE.as_secs())]
    Timeout,
    /// The way to or from it broke.
    #[error("talking to nft failed")]
    Io(#[source] io::Error),
}

impl Default for Program {
    fn default() -> Self {
        Self::new(["nft"])
    }
}

impl Program {
    /// nft by another path, or within another command such as `ip netns exec NAME nft`.
    pub fn new<S: Into<String>>(command: impl IntoIterator<Item = S>) -> Self {
        Self { command: command.into_iter().map(Into::into).collect() }
    }

    /// Gives a batch to nft: all of it or nothing.
    pub(super) async fn apply(&self, batch: &str) -> Result<(), NftError> {
        let output = self.run(&["-f", "-"], batch).await?;
        if output.status.success() { Ok(()) } else { Err(refusal(&output)) }
    }

    /// How nft prints a table, without counters and handles; none when there is no such table.
    pub(super) async fn list(&self, table: &str) -> Result<Option<String>, NftError> {
        let mut arguments = vec!["-n", "-s", "list", "table"];
        arguments.extend(table.split(' '));
        let output = self.run(&arguments, "").await?;
        if output.status.success() {
            return Ok(Some(String::from_utf8_lossy(&output.stdout).into_owned()));
        }
        let refused = refusal(&output);
        if refused.to_string().contains("No such file or directory") { Ok(None) } else { Err(refused) }
    }

    /// What nft answers to a list command, as JSON.
    pub(super) async fn list_json(&self, what: &[&str]) -> Result<Vec<u8>, NftError> {
        let mut arguments = vec!["-j", "list"];
        arguments.extend(what);
        let output = self.run(&arguments, "").await?;
        if output.status.success() { Ok(output.stdout) } else { Err(refusal(&output)) }
    }

    async fn run(&self, arguments: &[&str], input: &str) -> Result<Output, NftError> {
        let (program, first) = self.command.split_first().ok_or_else(|| {
            NftError::Io(io::Error::new(io::ErrorKind::InvalidInput, "the command for nft is empty"))
        })?;
        let mut child = Command::new(program)
            .args(first)
            .args(arguments)
            .env("LC_ALL", "C")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .map_err(|source| NftError::Start { program: program.clone(), source })?;
        let stdin = child.stdin.take();
        let talk = async {
            // Written beside the reading: neither side waits for the other with full pipes. When nft ends before it
            // has read all, its own words say why.
            let write = async {
                if let Some(mut stdin) = stdin {
                    let _ = stdin.write_all(input.as_bytes()).await;
                }
            };
            let ((), output) = tokio::join!(write, child.wait_with_output());
            output
        };
        match tokio::time::timeout(PATIENCE, talk).await {
            Ok(output) => output.map_err(NftError::Io),
            Err(_) => Err(NftError::Timeout),
        }
    }
}

fn refusal(output: &Output) -> NftError {
    let said = String::from_utf8_lossy(&output.stderr);
    let said = said.trim();
    if said.is_empty() {
        return NftError::Refused(output.status.to_string());
    }
    NftError::Refused(said.char_indices().take_while(|(at, _)| *at < MAX_ERROR).map(|(_, c)| c).collect())
}
