//! For tests only: peers that do exactly what they are told, also what no library would do.
//!
//! [`raw`] is a client on bare sockets, for tests of servers.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on has failed")]

pub mod raw;
