//! The host's side as a machine that never waits: [`Session`] lives from the start of the agent to its end, over any
//! number of connections. It opens no socket, reads no clock and knows no file; `host-agent` carries bytes and time.
//!
//! Where next: [`Input`] and [`Output`] are the two vocabularies, `session.rs` is the life of the connection,
//! `inbox.rs` reads what the server says, `pause.rs` says how long to stay away.

mod backoff;
mod inbox;
mod input;
mod outbox;
mod output;
mod pause;
mod session;

pub use input::{Failure, Input};
pub use output::{Away, Event, Output, WhichToken};
pub use session::{Position, Session, Settings};
