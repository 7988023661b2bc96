//! API and console over HTTP: one module for each resource, one shape for every error. Agents do not come here:
//! they have a listener of their own.

mod agents;
mod api_tokens;
mod assignments;
mod audit;
mod caller;
mod client_address;
pub(crate) mod config_json;
mod configs;
mod console;
mod context;
mod event_stream;
mod headers;
mod health;
mod host_door;
mod hosts;
mod idempotency;
mod labels;
mod metrics;
mod openapi;
mod overview;
mod passwords;
mod problem;
mod project_files;
mod projects;
mod request;
mod router;
mod serve;
mod service_json;
mod service_logs;
mod services;
mod session;
mod tokens;
mod users;
mod version;
mod views;

pub(crate) use client_address::TrustedProxies;
pub(crate) use context::{About, Context, Inner as ContextInner, MAX_STREAMS};
pub(crate) use health::Readiness;
pub(crate) use idempotency::KEPT as ANSWERS_KEPT;
pub(crate) use router::router;
pub(crate) use serve::serve;
