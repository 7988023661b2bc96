//! The process that serves names and ports on a host. It is one of its own, so that neither an update nor a crash of the
//! agent interrupts a connection (R41). It decides nothing: the agent gives it a configuration over a socket, and hears
//! for each item how it stands.

mod client;
mod config;
mod control;
mod item;
mod serve;
mod wire;

pub use client::{Client, ClientError};
pub(crate) use config::protocol;
pub use config::{Config, Network};
pub use item::ItemStatus;
pub use serve::{NetdError, Options, run, serve};
pub use wire::Status;
