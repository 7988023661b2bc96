//! The only crate that speaks SQL: agents, credentials, accounts, sealed secrets, settings, in SQLite.
//! Everything goes through [`Store`]: one thread writes (group commit), a few threads read. Other crates see
//! types of `model` and the requests and answers declared here, never a row or a connection. Placeholders are
//! `?1`, which PostgreSQL's `$1` can be made of; SQLite would number `$1` by its place and not by its digit.
//!
//! Reading order: [`options`], `store` (the handle), `writer` and `reader`, `migrate`; then what is stored:
//! [`agents`], [`configs`], [`assignments`], [`credentials`], [`accounts`] and [`sessions`], [`api_tokens`], [`audit`],
//! [`answers`], [`secrets`], [`views`]; [`hosting`] (hosts and what runs on them).

pub mod accounts;
pub mod agents;
pub mod answers;
pub mod api_tokens;
pub mod assignments;
pub mod audit;
mod backup;
pub mod configs;
mod copy;
pub mod credentials;
pub mod hosting;

mod error;
mod migrate;
pub mod options;
mod queue;
mod reader;
pub mod secrets;
pub mod sessions;
mod store;
mod value;
mod version;
pub mod views;
mod writer;

pub use accounts::{NewUser, UserChange};
pub use agents::{
    AgentBinding, AgentCounts, AgentName, AgentPage, AgentQuery, AgentSort, AgentWrite, AssignmentCount,
    Cursor, EnrolOutcome, Enrolment, Forgotten, HealthFilter, LabelReport, LabelTarget, Mark, Preview,
    PreviewAgent, PreviewOutcome, PreviewQuery, Replaced, SessionStart, SortKey, VersionCount, WriteReport,
};
pub use answers::{Claim, KeyedRequest};
pub use api_tokens::{ApiAccess, NewApiToken};
pub use assignments::{AssignmentChange, Override};
pub use audit::{Actor, ActorKind, AuditEntry, AuditOrder, AuditQuery, AuditRecord};
pub use configs::{
    Added, Changed, ConfigPage, ConfigRow, HistoryRow, NewRevision, RevisionRow, Seen, StoredFile,
};
pub use copy::{Counts, DatabaseCopy, RESTORED_AT, RESTORED_FROM};
pub use credentials::NewCredential;
pub use error::StoreError;
pub use hosting::counts::{HostMark, ServiceMark};
pub use hosting::deploy::NewDeployment;
pub use hosting::files::NewFile;
pub use hosting::host_logs::LinesAllowed;
pub use hosting::hosts::{HostChange, HostRemoved, Unless};
pub use hosting::join::{JoinAttempt, Joined, NewJoinToken};
pub use hosting::links::{HostLink, HostSession};
pub use hosting::loads::{HostLoad, HostPorts, HostRows};
pub use hosting::steps::{ProjectWrite, Reported};
pub use options::{OpenOptions, Purpose};
pub use secrets::SealedSecret;
pub use sessions::{FIRST_LOGIN, NewSession};
pub use store::Store;
pub use version::Expected;
pub use views::{NewView, ViewAdded, ViewRow};
