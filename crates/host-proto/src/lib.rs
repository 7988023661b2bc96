//! The host agent protocol without I/O: what a host and the control plane say to each other, the document that says
//! what a host should run, and both ends of the connection as machines that never wait. Knows nothing of sockets,
//! clocks, engines or of Muster's store; `host-agent` and `control-plane` carry the bytes and the time.
//!
//! Reading order: [`id`], [`secret`], [`moment`], [`limits`]; [`desired`] (the document), [`report`] (what a host says
//! about it), [`join`], [`message`] with [`frame`] (how they travel).

pub mod desired;
pub mod frame;
pub mod id;
pub mod join;
pub mod limits;
pub mod message;
pub mod moment;
pub mod report;
pub mod secret;

pub use desired::DesiredState;
pub use frame::{DecodeError, Frame};
pub use message::{ToAgent, ToServer};
pub use moment::Moment;
pub use secret::Secret;
