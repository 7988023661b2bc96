//! The server as a whole, in this process, on ports that the kernel chooses: agents on bare sockets on one side, the
//! API on the other. One file for each thing that an operator relies on; `world` starts the server.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on has failed")]

mod access;
mod api_errors;
mod archive;
mod audit;
mod blocks;
mod configs;
mod console;
mod enrolment;
mod events;
mod excess;
mod fleet;
mod history;
mod hosting;
mod hosts;
mod idempotency;
mod inventory;
mod labels;
mod large;
mod limits;
mod login;
mod lost_hosts;
mod metrics;
mod networks;
mod persistence;
mod proxies;
mod revisions;
mod routes;
mod settling;
mod setup;
mod spread;
mod versions;
mod words;
mod world;
