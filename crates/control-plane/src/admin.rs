//! What an operator does at the machine itself, beside a server that may be running.

use std::path::Path;

use store::{AuditEntry, Expected, OpenOptions, Store, StoreError, UserChange};

use crate::clock;
use crate::setup::{ADMIN, SetupError, new_password};

/// Why a login cannot be reset.
#[derive(Debug, thiserror::Error)]
pub enum ResetError {
    /// There is no database.
    #[error("--data-dir: there is no database at {}; start muster server once, or name its directory", .0.display())]
    NoDatabase(std::path::PathBuf),
    /// There is no such user.
    #[error("there is no user {0}")]
    NoUser(String),
    /// The database or the password failed.
    #[error(transparent)]
    Setup(#[from] SetupError),
}

impl From<StoreError> for ResetError {
    fn from(error: StoreError) -> Self {
        Self::Setup(error.into())
    }
}

/// Gives a user (`admin` when none is named) a new password, which is returned, and ends the user's sessions. Works
/// while the server runs: it looks sessions up for each request.
pub async fn reset_login(data_dir: &Path, user: Option<&str>, version: &str) -> Result<String, ResetError> {
    let path = data_dir.join(crate::config::DATABASE);
    if !path.exists() {
        return Err(ResetError::NoDatabase(path));
    }
    let options = OpenOptions::administer(path, version);
    let opened = tokio::task::spawn_blocking(move || Store::open(options, clock::now())).await;
    let store = opened.map_err(|error| SetupError::Random(std::io::Error::other(error)))??;
    let name = user.unwrap_or(ADMIN);
    store.user_by_name(name).await?.ok_or_else(|| ResetError::NoUser(name.to_owned()))?;
    let (password, hash) = new_password().await?;
    // In the same transaction the store ends the user's sessions. Whoever resets a login means it to work.
    let change = UserChange { password_hash: Some(hash), disabled: Some(false), ..UserChange::default() };
    let entry = AuditEntry::of_system(clock::now(), "user.reset-login", format!("user/{name}"));
    store.change_user(name, change, Expected::Any, entry).await?;
    tokio::task::spawn_blocking(move || store.close()).await.ok();
    Ok(password)
}
