//! Agents come in: who they are, whether they may stay, and what becomes of what they report. The protocol itself
//! is `opamp-server`'s; reading the fleet is `fleet`'s.

mod credentials;
mod endpoint;
mod outgoing;
mod state;
mod watched;
mod write_behind;

pub(crate) use credentials::Credentials;
pub(crate) use endpoint::{Census, Endpoint, LiveAgent, transport_of};
pub(crate) use outgoing::Outgoing;
pub(crate) use watched::{Look, Passed, Watched};
pub(crate) use write_behind::WriteBehind;
