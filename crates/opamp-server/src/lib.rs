//! An OpAMP server as a library: WebSocket and plain HTTP on one path, around `opamp_proto`'s server session.
//!
//! Implement [`Handler`] to say who may connect and to hear what agents report, then mount
//! [`Server::service`] in any tower or axum application, or let [`Server::serve`] listen by itself. This crate
//! knows nothing of storage or of what an operator wants; it is told with [`Agent::offer_config`].
//!
//! ```no_run
#![doc = include_str!("../examples/minimal_server.rs")]
//! ```
//!
//! Reading order: [`handler`] (what an application implements), [`server`] and [`settings`], [`agent`] and
//! [`agents`] (the live sessions); then, inside, `service` (one HTTP request), `exchange` (one message), `http`
//! and `websocket` (the two transports), `listener` (sockets and TLS).

pub mod agent;
pub mod agents;
mod budget;
mod carried;
mod clock;
mod exchange;
mod gzip;
pub mod handler;
mod http;
mod listener;
mod outbox;
mod pollers;
mod seldom;
pub mod server;
mod service;
pub mod settings;
pub mod traffic;
mod visit;
mod websocket;

pub use agent::{Agent, CloseReason, Disconnect, Peer};
pub use agents::Agents;
pub use handler::{ConnectRequest, Direction, Handler, Overload, Refusal, Rejection, StatusReport};
pub use listener::TlsSource;
pub use opamp_proto;
pub use opamp_proto::server::Transport;
pub use seldom::Seldom;
pub use server::Server;
pub use service::OpampService;
pub use settings::Settings;
