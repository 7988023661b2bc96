//! An OpAMP client: sockets, timers and storage around the agent session of `opamp-proto`.
//!
//! Commands go in through [`Client`], events come out of [`Events`]; nothing is called back, so there is no
//! lock to hold and no order to guess. Both transports are here: `ws://` and `wss://` open a WebSocket,
//! `http://` and `https://` poll. The client reconnects, backs off, resends and reports by itself, as the
//! specification says; an application says what its state is and hears what the server wants.
//!
#![doc = "```no_run"]
#![doc = include_str!("../examples/minimal.rs")]
#![doc = "```"]
//!
//! Reading order: [`Builder`], [`Client`], [`Events`] and [`Event`]; [`Storage`] and [`HeadersProvider`] are
//! what an application can put in; inside, `runner.rs` is the task that owns the session, `ws.rs` and
//! `http.rs` are the two ways to a server over `dial.rs` and `tls.rs`.

mod builder;
mod client;
mod dial;
mod endpoint;
mod events;
mod headers;
mod http;
mod runner;
mod storage;
mod tls;
mod ws;

pub use builder::{BuildError, Builder};
pub use client::Client;
pub use endpoint::{Endpoint, InvalidEndpoint};
pub use events::{Event, Events, RemoteConfig};
pub use headers::{HeadersFuture, HeadersProvider};
pub use opamp_proto as proto;
pub use opamp_proto::agent::{Saved, SavedConfig, Timing};
pub use storage::{FileStorage, MemoryStorage, Storage};
pub use tls::{InvalidTls, SpkiPin, Tls};
