//! Configurations before they leave for agents and after they came back: files with their rules, checks, the
//! difference of two versions, and the drift of what an agent runs from what it was given. Pure, and bounded on
//! hostile input: operators paste anything, and agents report anything.
//!
//! Reading order: [`files`]; [`tree`] with [`document`], [`yaml`] and [`json`] that make it; [`collector`], which
//! knows what an OpenTelemetry Collector's configuration means; [`check`](mod@check), [`diff`](mod@diff) and
//! [`drift`](mod@drift), which show values as [`show`] writes them.

pub mod check;
pub mod collector;
pub mod diff;
pub mod document;
pub mod drift;
pub mod files;
pub mod json;
pub mod show;
pub mod tree;
pub mod yaml;

pub use check::{Problem, Severity, check};
pub use diff::{Change, Difference, diff};
pub use drift::{Drift, drift};
pub use files::{ConfigFile, ConfigFiles, Format, InvalidFiles};
