//! The `muster` binary as its users meet it: started as a process, talked to over its ports, killed.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on has failed")]

mod access;
mod backup;
mod bench;
mod cli;
mod complete;
mod configs;
mod contexts;
mod crash;
mod deployments;
mod dev;
mod first_start;
mod flags;
mod hosting;
mod operations;
mod operator;
mod process;
mod rollout;
mod secrets;
mod steering;
mod store_failure;
