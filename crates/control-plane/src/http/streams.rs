//! Streams that are open: of events and of lines of logs. All together have a bound, and each user has one of their own, so
//! that nobody takes them all.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::problem::ApiError;
use crate::services::lock;

/// Streams that can be open at once.
const ALL: usize = 256;
/// Streams of one user that can be open at once, with the programs that have tokens of this user: a console has one, and one
/// more for each page of logs.
const OF_A_USER: usize = 32;
/// Who is refused may come back after this.
const LATER: Duration = Duration::from_secs(30);

/// The streams of a server.
#[derive(Debug, Default)]
pub(crate) struct Streams {
    open: Mutex<HashMap<String, usize>>,
}

/// One open stream; it is over when this is dropped.
#[derive(Debug)]
pub(crate) struct Stream {
    all: Arc<Streams>,
    user: String,
}

impl Streams {
    /// One more of this user.
    pub(crate) fn open(self: &Arc<Self>, user: &str) -> Result<Stream, ApiError> {
        let mut open = lock(&self.open);
        if open.values().sum::<usize>() >= ALL {
            return Err(ApiError::unavailable(format!("{ALL} streams are open already"), LATER));
        }
        let own = open.entry(user.to_owned()).or_default();
        if *own >= OF_A_USER {
            let text = format!(
                "{OF_A_USER} streams of user {user} are open already: close a page or a muster logs -f"
            );
            return Err(ApiError::unavailable(text, LATER));
        }
        *own += 1;
        Ok(Stream { all: self.clone(), user: user.to_owned() })
    }

    /// How many are open.
    pub(crate) fn count(&self) -> usize {
        lock(&self.open).values().sum()
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        let mut open = lock(&self.all.open);
        if let Some(own) = open.get_mut(&self.user) {
            *own -= 1;
            if *own == 0 {
                open.remove(&self.user);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_has_some_streams_all_have_more_and_one_that_ends_makes_room() {
        let streams = Arc::new(Streams::default());
        let of = |user: &str| -> Vec<Stream> { (0..500).map_while(|_| streams.open(user).ok()).collect() };
        let mut first = of("a");
        assert_eq!((first.len(), streams.count()), (OF_A_USER, OF_A_USER));
        let others: Vec<_> =
            ["b", "c", "d", "e", "f", "g", "h", "i"].iter().flat_map(|user| of(user)).collect();
        assert_eq!((others.len(), streams.count()), (ALL - OF_A_USER, ALL));
        assert!(streams.open("i").is_err());
        drop(first.pop());
        let last = streams.open("i").unwrap();
        drop((first, others, last));
        assert_eq!((streams.count(), lock(&streams.open).len()), (0, 0));
    }
}
