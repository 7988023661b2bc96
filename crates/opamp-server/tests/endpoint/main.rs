//! The endpoint as a peer sees it, over real sockets on loopback, with a client that does exactly what it is told.
//! One module per chapter; names begin with the id of what they prove.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on has failed")]

mod application;
mod closing;
mod duplicates;
mod library;
mod limits;
mod plain_http;
mod throttling;
mod websocket;
