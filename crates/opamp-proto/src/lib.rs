//! OpAMP 0.17.0 without I/O: the messages as they travel, and both sides of the protocol as machines
//! that never wait. Knows nothing of sockets, clocks, files or of Muster; `opamp-client` and `opamp-server`
//! carry the bytes and the time.
//!
//! Reading order: [`wire`] (messages), [`raw`] (the server's fast way to read one), [`frame`] and [`limits`],
//! the small types [`uid`], [`capabilities`], [`hash`], [`moment`]; then the sessions [`agent`] and [`server`].

pub mod agent;
pub mod capabilities;
pub mod frame;
pub mod glance;
pub mod hash;
pub mod limits;
pub mod moment;
pub mod raw;
pub mod server;
pub mod uid;
pub mod wire;

pub use capabilities::{AgentCapabilities, ServerCapabilities};
pub use moment::Moment;
pub use raw::{Part, PartSet, RawAgentToServer};
pub use uid::InstanceUid;
