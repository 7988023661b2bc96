//! From a secret to what it opens. Asked for each request, so that what was taken away is gone at once.

use std::time::Duration;

use model::{ApiTokenText, Session, UnixMillis};
use store::{ApiAccess, Store, StoreError};

use super::session::Presented;

/// A token's last use is noted to the minute.
const NOTED: Duration = Duration::from_secs(60);

/// What a secret opens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Access {
    /// A person's session.
    Person(Session),
    /// A program's API token.
    Program(ApiAccess),
}

impl Access {
    /// What was shown, if it opens anything at `now`.
    pub(crate) async fn of(
        store: &Store,
        presented: &Presented,
        now: UnixMillis,
    ) -> Result<Option<Self>, StoreError> {
        let secret = presented.secret();
        if !secret.as_str().starts_with(ApiTokenText::PREFIX) {
            return Ok(store.session(secret.hash(), now).await?.map(Self::Person));
        }
        // A browser never holds one: whoever puts it into a cookie has something else in mind.
        if matches!(presented, Presented::Cookie(_)) {
            return Ok(None);
        }
        let access = store.api_access(secret.hash(), now).await?;
        if let Some(ApiAccess { token, role: _ }) = &access
            && token.last_used_at.is_none_or(|at| now.since(at) >= NOTED)
            && let Err(error) = store.touch_api_token(token.id, now).await
        {
            // Reading must go on when the disk is full.
            tracing::debug!(error = &error as &dyn std::error::Error, "the use of a token was not noted");
        }
        Ok(access.map(Self::Program))
    }
}
