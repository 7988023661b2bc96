//! The agent of a host: connects out to the control plane (JOIN-1), keeps what the host should run, and makes it so. All
//! decisions about the conversation are `host-proto`'s, all about the host `reconcile`'s; here are tasks, files and sockets.
//!
//! Reading order: [`options`], [`identity`], [`cache`]; [`mod@join`]; `dial`, `trust` and `socket` (the way to the server);
//! [`mod@run`] (which tasks there are); `link` and `worker` (the two owners); `report`, `net`, `images`, `logs`, `telemetry`; [`mod@boot`],
//! [`units`], [`mod@status`] and [`mod@leave`].

mod atomic;
pub mod boot;
pub mod cache;
mod clock;
mod dial;
mod handles;
mod hostlog;
pub mod identity;
mod images;
pub mod join;
pub mod leave;
mod link;
mod logs;
mod machine;
mod net;
pub mod options;
mod report;
pub mod run;
mod socket;
pub mod status;
mod telemetry;
pub mod trust;
pub mod units;
mod worker;

pub use boot::{Booted, boot, serve_net};
pub use identity::{Identity, IdentityError, Joined};
pub use join::{JoinFailure, JoinOptions, join};
pub use leave::{LeaveError, Left, leave, rest};
pub use options::{Options, Setting};
pub use run::{RunError, run};
pub use status::{Running, Status, status};

/// How this program calls itself in HTTP.
pub(crate) fn user_agent() -> String {
    format!("muster-agent/{}", env!("CARGO_PKG_VERSION"))
}
