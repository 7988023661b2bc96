//! Nouns of the control plane: agents, attributes, selectors, states, credentials. Pure: no clock, no file,
//! no socket; `now` and random bytes come in as arguments. The database rows are `store`'s, the JSON shapes
//! are `api`'s; both convert from these types.
//!
//! Reading order: [`attribute`], [`label`] and [`selector`], [`agent`] with [`state`], [`health`], [`remote_config`] and
//! [`replacement`], [`redact`]; [`service`], [`hosting`]; then [`credential`], [`user`] and [`api_token`]; the small types [`time`] and
//! [`epoch`].

pub mod agent;
pub mod api_token;
pub mod assignment;
pub mod attribute;
pub mod compose;
pub mod config;
pub mod credential;
pub mod epoch;
pub mod health;
pub mod hosting;
pub mod label;
pub mod name;
pub mod redact;
pub mod remote_config;
pub mod replacement;
pub mod selector;
pub mod service;
pub mod state;
pub mod time;
pub mod user;

pub use agent::{AgentDetail, AgentFacts, AgentParts, AgentSummary};
pub use api_token::{ApiToken, ApiTokenId, ApiTokenText};
pub use assignment::{
    Assignment, AssignmentId, AssignmentState, ConfigId, ConfigState, Grant, Place, RevisionId,
};
pub use attribute::{Attribute, AttributeValue, Attributes};
pub use credential::{Credential, CredentialId, EnrolmentToken, TokenHash};
pub use epoch::{ServerEpoch, SessionEpoch};
pub use health::HealthTree;
pub use label::{LabelChange, Labels};
pub use remote_config::{RemoteConfigState, RemoteConfigStatus};
pub use replacement::Identity;
pub use selector::Selector;
pub use service::{ContainerSpec, ImageRef, ServiceSpec};
pub use state::{ConnectionState, Transport};
pub use time::UnixMillis;
pub use user::{Role, Session, User, UserId};
