//! Both machines against each other on a virtual clock, over connections that break, fall silent and come back.
//! `world.rs` is the world that they live in, `control.rs` and `host.rs` are the careful drivers of the two sides.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on has failed")]

mod admission;
mod chaos;
mod connect;
mod control;
mod host;
mod queue;
mod state;
mod token;
mod world;
