//! The client against a scripted server: what goes over the wire, what the application hears, and how faults
//! that other implementations had are met. Names begin with the id of the requirement or case.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that cannot go on has failed"
)]

mod connecting;
mod example;
mod http_requests;
mod http_retries;
mod redirects;
mod remote_config;
mod stopping;
mod storage;
mod support;
mod tls;
mod websocket;
