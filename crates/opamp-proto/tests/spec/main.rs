//! What OpAMP says about messages, frames and the small types, one module per clause. Tests are named after the
//! sentence they prove and begin with its id in docs/CONFORMANCE.md. No test waits, and none needs the network.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on has failed")]

mod agent_connection;
mod agent_driver;
mod agent_heartbeats;
mod agent_messages;
mod agent_remote_config;
mod agent_status_compression;
mod agent_status_reports;
mod capability_bits;
mod content_hash;
mod generators;
mod instance_uid;
mod message_decoding;
mod pair;
mod refusals;
mod remote_config_offers;
mod reports;
mod schema_stability;
mod websocket_message_format;
mod websocket_message_size_limits;
