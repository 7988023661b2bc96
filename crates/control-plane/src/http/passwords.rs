//! Passwords that come with a request: how long they must be, and their hashes.

use zeroize::Zeroizing;

use super::context::Context;
use super::problem::ApiError;
use crate::auth::Hashing;

/// Shortest password that is taken, in characters.
pub(super) const MIN_PASSWORD: usize = 12;
/// Longest, in bytes: hashing reads all of it.
pub(super) const MAX_PASSWORD: usize = 1024;

/// The hash of a new password; `field` names it in a refusal.
pub(super) async fn hashed(
    context: &Context,
    field: &str,
    password: Zeroizing<String>,
) -> Result<String, ApiError> {
    if password.chars().count() < MIN_PASSWORD || password.len() > MAX_PASSWORD {
        let detail = format!(
            "a password must have at least {MIN_PASSWORD} characters and at most {MAX_PASSWORD} bytes"
        );
        return Err(ApiError::unprocessable(Some(field.to_owned()), detail));
    }
    match context.passwords.hash(password).await {
        Hashing::Done(hash) => Ok(hash),
        Hashing::Busy => Err(ApiError::too_many(std::time::Duration::from_secs(2))),
        Hashing::Failed(error) => Err(ApiError::internal(&error)),
    }
}

/// A password for a person to type once, with its hash.
pub(super) async fn generated(context: &Context) -> Result<(String, String), ApiError> {
    let password = crate::random::password().map_err(|error| ApiError::internal(&error))?;
    let hash = hashed(context, "password", Zeroizing::new(password.clone())).await?;
    Ok((password, hash))
}
