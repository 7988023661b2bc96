//! Pure: where replicas run, how an update proceeds, and what each host should run. The control plane stores and sends
//! what is decided here; a decision looks at what is stored and at what hosts said last, and at nothing else.
//!
//! Reading order: [`world`] (what is looked at), [`place`] (where), [`left`] (whose data a
//! new volume begins with), [`spread`] (evenly over what), [`judge`] (does a replica work), [`step`] (what happens
//! next in a project), [`address`] (who gets which address), [`blocks`] (what is in the way of a network), [`desired`] (what a host is told), [`hash`].

pub mod address;
pub mod blocks;
pub mod desired;
pub mod hash;
pub mod judge;
pub mod left;
pub mod place;
pub mod size;
pub mod spread;
pub mod step;
pub mod words;
pub mod world;

pub use blocks::{Blocks, Taken};
pub use desired::{FileContent, HostWorld, desired_state};
pub use place::{Placed, Refusal, place};
pub use step::{Change, Step, step};
pub use world::{Closed, Drained, HostView, Presence, Routes};
