//! Agents: their rows, what they reported, the index of their attributes. [`write`], [`enrol`] and [`query`]
//! are what callers ask; `apply` writes, `list` and `row` read, `forget` removes; `attributes`, `posting` and `select` are
//! the index behind selectors.

mod apply;
mod attributes;
pub(crate) mod cache;
mod cursor;
pub mod enrol;
mod figures;
mod forget;
mod hot;
pub mod labels;
mod list;
pub(crate) mod pending;
mod placing;
mod posting;
mod precedence;
mod preview;
pub mod query;
mod replace;
mod report;
mod row;
mod search;
mod select;
mod statements;
pub mod write;

pub use cursor::{Cursor, InvalidCursor};
pub use enrol::{EnrolOutcome, Enrolment};
pub use figures::VersionCount;
pub use forget::Forgotten;
pub use labels::{LabelReport, LabelTarget};
pub use placing::{AgentName, AssignmentCount};
pub use preview::{Preview, PreviewAgent, PreviewOutcome, PreviewQuery};
pub use query::{AgentCounts, AgentPage, AgentQuery, AgentSort, HealthFilter, SortKey};
pub use row::AgentBinding;
pub(crate) use statements::Statements;
pub use write::{AgentWrite, Mark, Replaced, SessionStart, WriteReport};
