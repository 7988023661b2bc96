//! Passwords: argon2id (19 MiB, two passes), off the async threads, only a few at once, since each attempt takes its
//! memory and 18 ms of a core.

use argon2::Argon2;
use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{PasswordHasher, PasswordVerifier};
use tokio::sync::Semaphore;
use zeroize::Zeroizing;

/// How many passwords are hashed at once.
const AT_ONCE: usize = 2;
/// How many more may wait for their turn.
const WAITING: usize = 30;

/// What a password is compared with when there is no such user, so that both cases take equally long.
/// The hash of 32 random bytes that nobody kept.
const NOBODY: &str =
    "$argon2id$v=19$m=19456,t=2,p=1$bXVzdGVyLW5vYm9keSE$3nVpTkLBhR6V2mSgLxAcvR7s4XbQwHhUoT9yJ5dF0kA";

/// Hashes and verifies passwords.
#[derive(Debug)]
pub(crate) struct Passwords {
    turns: Semaphore,
    places: Semaphore,
}

/// What became of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The password is right.
    Right,
    /// It is not, or there is no such user.
    Wrong,
    /// Too many attempts at once; nothing was compared.
    Busy,
}

/// What became of a wish to hash a password.
#[derive(Debug)]
pub(crate) enum Hashing {
    /// The hash in PHC form.
    Done(String),
    /// Too many at once.
    Busy,
    /// It does not work.
    Failed(HashError),
}

/// A password could not be hashed.
#[derive(Debug, thiserror::Error)]
#[error("the password could not be hashed: {0}")]
pub struct HashError(String);

impl Passwords {
    /// A hasher with all turns free.
    pub(crate) fn new() -> Self {
        Self { turns: Semaphore::new(AT_ONCE), places: Semaphore::new(AT_ONCE + WAITING) }
    }

    /// Compares a password with a stored hash; `None`: there is no such user.
    pub(crate) async fn verify(&self, password: Zeroizing<String>, hash: Option<String>) -> Verdict {
        let Ok(_place) = self.places.try_acquire() else { return Verdict::Busy };
        let Ok(_turn) = self.turns.acquire().await else { return Verdict::Busy };
        let known = hash.is_some();
        let hash = hash.unwrap_or_else(|| NOBODY.to_owned());
        let matches = tokio::task::spawn_blocking(move || {
            let parsed = PasswordHash::new(&hash).ok();
            parsed.is_some_and(|hash| Argon2::default().verify_password(password.as_bytes(), &hash).is_ok())
        });
        match matches.await {
            Ok(true) if known => Verdict::Right,
            _ => Verdict::Wrong,
        }
    }

    /// Hashes a new password, in turn with those that are compared.
    pub(crate) async fn hash(&self, password: Zeroizing<String>) -> Hashing {
        let Ok(_place) = self.places.try_acquire() else { return Hashing::Busy };
        let Ok(_turn) = self.turns.acquire().await else { return Hashing::Busy };
        match tokio::task::spawn_blocking(move || hash(&password)).await {
            Ok(Ok(hash)) => Hashing::Done(hash),
            Ok(Err(error)) => Hashing::Failed(error),
            Err(error) => Hashing::Failed(HashError(error.to_string())),
        }
    }
}

/// Hashes a password for storage, in PHC form. Takes some 20 ms: not on an async thread.
pub(crate) fn hash(password: &str) -> Result<String, HashError> {
    let hash = Argon2::default().hash_password(password.as_bytes());
    hash.map(|hash| hash.to_string()).map_err(|error| HashError(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(password: &str) -> Zeroizing<String> {
        Zeroizing::new(password.to_owned())
    }

    #[tokio::test]
    async fn only_the_password_itself_is_right_and_nobody_has_none() {
        let passwords = Passwords::new();
        let stored = hash("correct horse").unwrap();
        assert!(stored.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"));
        assert_eq!(passwords.verify(text("correct horse"), Some(stored.clone())).await, Verdict::Right);
        assert_eq!(passwords.verify(text("correct horse "), Some(stored)).await, Verdict::Wrong);
        assert_eq!(passwords.verify(text("anything"), None).await, Verdict::Wrong);
        assert_eq!(passwords.verify(text("anything"), Some("junk".to_owned())).await, Verdict::Wrong);
    }

    #[test]
    fn the_hash_for_nobody_is_a_hash_so_that_comparing_takes_its_time() {
        assert!(PasswordHash::new(NOBODY).is_ok());
    }
}
