//! What is particular to SQLite: files, upgrades, back-ups, crashes, a full disk.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on has failed")]

mod backup;
mod crash;
mod index;
mod limits;
mod schema;
mod world;
