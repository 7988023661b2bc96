//! The agent's end of netd's socket. A connection is made for each request: there are few, and netd may have been
//! started anew in between.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, BufReader};
use tokio::net::UnixStream;
use tokio::time::timeout;

use super::config::Config;
use super::item::ItemStatus;
use super::wire::{self, Request, Response, Status};

/// How long a request may take. netd answers within milliseconds; one that hangs must not hang the agent.
const PATIENCE: Duration = Duration::from_secs(10);

/// Between two connections that only wait for its end.
const BREATH: Duration = Duration::from_millis(100);

/// A way to ask netd.
#[derive(Debug, Clone)]
pub struct Client {
    socket: PathBuf,
}

/// Why netd gave no answer.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// Nobody listens: netd does not run.
    #[error("netd does not run: nobody listens on {}", socket.display())]
    NotRunning {
        /// Where.
        socket: PathBuf,
        /// What the kernel says.
        #[source]
        source: io::Error,
    },
    /// The connection broke.
    #[error("talking to netd failed")]
    Io(#[from] io::Error),
    /// It gave no answer in time.
    #[error("netd gave no answer within {} seconds", PATIENCE.as_secs())]
    Timeout,
    /// It did not understand, or answered something else.
    #[error("netd refused: {0}")]
    Refused(String),
}

impl Client {
    /// A client for netd's socket; nothing is opened yet.
    pub fn new(socket: impl AsRef<Path>) -> Self {
        Self { socket: socket.as_ref().to_owned() }
    }

    /// Has netd serve a configuration, and hears how each item stands.
    ///
    /// # Errors
    /// When netd does not run or does not answer; it goes on with what it had.
    pub async fn set(&self, config: &Config) -> Result<Vec<ItemStatus>, ClientError> {
        match self.ask(Request::Set(Box::new(config.clone()))).await? {
            Response::Results(items) => Ok(items),
            other => Err(unexpected(other)),
        }
    }

    /// Asks how netd stands.
    ///
    /// # Errors
    /// When netd does not run or does not answer.
    pub async fn status(&self) -> Result<Status, ClientError> {
        match self.ask(Request::Status).await? {
            Response::Status(status) => Ok(*status),
            other => Err(unexpected(other)),
        }
    }

    /// Waits until nobody listens: netd has ended. At once when it does not run.
    pub async fn gone(&self) {
        while let Ok(mut stream) = UnixStream::connect(&self.socket).await {
            // It closes who says nothing for a while; one that has ended refuses the next connection.
            let _ = stream.read(&mut [0]).await;
            tokio::time::sleep(BREATH).await;
        }
    }

    async fn ask(&self, request: Request) -> Result<Response, ClientError> {
        let talk = async {
            let mut stream = UnixStream::connect(&self.socket)
                .await
                .map_err(|source| ClientError::NotRunning { socket: self.socket.clone(), source })?;
            wire::write(&mut stream, &request).await?;
            let answer = wire::read(&mut BufReader::new(stream)).await?;
            answer.ok_or_else(|| ClientError::Refused("it closed the connection".to_owned()))
        };
        timeout(PATIENCE, talk).await.map_err(|_| ClientError::Timeout)?
    }
}

fn unexpected(response: Response) -> ClientError {
    ClientError::Refused(match response {
        Response::Error(text) => text,
        Response::Results(_) | Response::Status(_) => "it answered another question".to_owned(),
    })
}
