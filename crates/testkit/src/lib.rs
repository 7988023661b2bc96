//! For tests only: peers that do exactly what they are told, also what no library would do.
//!
//! [`raw`] is a client on bare sockets, for tests of servers; [`Obedient`] is an agent on it and [`Operator`] somebody
//! at the API; [`SimHost`] is a host without an engine. [`FakeServer`] is a server on bare sockets, for
//! tests of clients, and [`Peer`] one of its connections, with HTTP and WebSocket written by hand. [`deadline`] waits
//! for all that a test waits for.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that cannot go on has failed"
)]

pub mod certificates;
pub mod deadline;
pub mod fake_server;
pub mod obedient;
pub mod operator;
pub mod peer;
pub mod raw;
pub mod sim_host;
pub mod websocket;

pub use certificates::Authority;
pub use deadline::{DEADLINE, found, look_for, soon, until, until_async, within};
pub use fake_server::FakeServer;
pub use obedient::Obedient;
pub use operator::Operator;
pub use peer::{Peer, Request};
pub use sim_host::{Fate, Machine, Opening, SimHost};
pub use websocket::{Frame, opcode};
