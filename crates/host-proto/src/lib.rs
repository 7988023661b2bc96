//! The host agent protocol without I/O: what a host and the control plane say to each other, the document that says
//! what a host should run, and both ends of the connection as machines that never wait. Knows nothing of sockets,
//! clocks, engines or of Muster's store; `host-agent` and `control-plane` carry the bytes and the time.
//!
//! Reading order: [`id`], [`secret`], [`moment`], [`limits`]; [`desired`] (the document), [`report`] (what a host says
//! about it), [`join`], [`message`] with [`frame`] (how they travel) and [`trim`] (how much of it is taken); then the
//! machines: [`generation`] and [`version`] hold what both sides reckon alike, [`server`] is the control plane's end,
//! [`agent`] the host's.

pub mod agent;
pub mod desired;
pub mod frame;
pub mod generation;
pub mod id;
pub mod join;
pub mod limits;
mod liveness;
pub mod message;
pub mod moment;
pub mod report;
pub mod secret;
pub mod server;
mod strikes;
pub mod trim;
pub mod version;

pub use desired::DesiredState;
pub use frame::{DecodeError, Frame};
pub use generation::Mark;
pub use message::{ToAgent, ToServer};
pub use moment::Moment;
pub use secret::Secret;
pub use trim::Trim;
