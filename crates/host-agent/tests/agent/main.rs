//! The agent against a scripted control plane: what goes over the wire, and what is on the disk at each moment. There is
//! no container engine here and no firewall: those are tried in `host-drivers` and in the lab.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on has failed")]

mod connect;
mod join;
mod world;
