//! Pure: what one host has to do to become what the control plane wants (`plan`), item by item. It decides; `host-drivers`
//! observes and does.
//!
//! Reading order: [`actual`] (what was seen), [`item`] and [`action`] (what can be done to what), [`memory`] (what was
//! tried before), [`allowed`] (what may be taken away), [`adoption`] (what runs beside a state that only adopts), [`plan`]
//! (the decision, as data that prints itself), [`run`] (in which order its steps begin); then one module for each kind of
//! thing.

pub mod action;
pub mod actual;
pub mod adoption;
pub mod allowed;
mod containers;
mod files;
pub mod firewall;
pub mod images;
pub mod item;
pub mod memory;
mod networks;
pub mod plan;
pub mod probe;
pub mod report;
pub mod run;
pub mod volumes;

pub use action::Action;
pub use actual::{Actual, Container, ContainerState, Details, FileSeen, Listed, OfOther, Seen};
pub use allowed::{Allowed, RefusedRemovals};
pub use item::{Item, Phase};
pub use memory::{Attempts, Memory, Trouble, TroubleKind};
pub use plan::{Held, Plan, Step, Why, plan};
pub use run::{Run, has_room};
