//! The control plane's side. [`Session`] is one connection of one host as a machine that never waits; [`admission`]
//! decides whether a machine that says hello is the host that it says it is, and [`join`] whether a machine becomes one.
//! Neither reads a clock or a store: the caller carries bytes, time and what is kept.

pub mod admission;
mod input;
pub mod join;
mod outbox;
mod output;
mod pace;
mod pacer;
mod probe;
pub mod ratchet;
mod rotation;
mod session;

pub use admission::{Admission, Alert, Known, Newcomer, Refusal, Verdict};
pub use input::{Input, Welcome};
pub use output::{Output, Plan};
pub use pace::Pace;
pub use ratchet::Ratchet;
pub use session::{Session, Settings};
