//! The only crate that speaks SQL: agents, credentials, accounts, sealed secrets, settings, in SQLite.
//! Everything goes through [`Store`]: one thread writes (group commit), a few threads read. Other crates see
//! types of `model` and the requests and answers declared here, never a row or a connection. Placeholders are
//! `?1`, which PostgreSQL's `$1` can be made of; SQLite would number `$1` by its place and not by its digit.
//!
//! Reading order: [`options`], `store` (the handle), `writer` and `reader`, `migrate`; then what is stored:
//! [`agents`], [`configs`], [`assignments`], [`credentials`], [`accounts`], [`secrets`].

pub mod accounts;
pub mod agents;
pub mod assignments;
mod backup;
pub mod configs;
pub mod credentials;
mod error;
mod migrate;
pub mod options;
mod queue;
mod reader;
pub mod secrets;
mod store;
mod value;
mod writer;

pub use accounts::{NewSession, NewUser};
pub use agents::{
    AgentBinding, AgentCounts, AgentPage, AgentQuery, AgentSort, AgentWrite, Cursor, EnrolOutcome, Enrolment,
    Forgotten, HealthFilter, Mark, Preview, PreviewAgent, PreviewOutcome, PreviewQuery, Replaced,
    SessionStart, SortKey, WriteReport,
};
pub use assignments::{AssignmentChange, Override};
pub use configs::{Added, Changed, ConfigPage, ConfigRow, HistoryRow, NewRevision, RevisionRow, StoredFile};
pub use credentials::NewCredential;
pub use error::StoreError;
pub use options::{OpenOptions, Purpose};
pub use secrets::SealedSecret;
pub use store::Store;
