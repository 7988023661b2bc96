//! The only crate that touches a host: its container engine, firewall, files, the names and ports that it serves.
//! It observes and does what `reconcile` decides; it decides nothing.

pub mod blocks;
pub mod dns;
pub mod docker;
pub mod facts;
pub mod files;
pub mod forward;
pub mod hands;
pub mod health;
pub mod metrics;
pub mod netd;
pub mod nft;
