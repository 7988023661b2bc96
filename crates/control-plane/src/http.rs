//! API and console over HTTP: one module for each resource, one shape for every error. Agents do not come here:
//! they have a listener of their own.

mod agents;
mod assignments;
mod caller;
mod client_address;
pub(crate) mod config_json;
mod configs;
mod console;
mod context;
mod event_stream;
mod headers;
mod health;
mod openapi;
mod overview;
mod problem;
mod request;
mod router;
mod serve;
mod session;
mod tokens;
mod version;

pub(crate) use client_address::TrustedProxies;
pub(crate) use context::{About, Context, Inner as ContextInner, MAX_STREAMS};
pub(crate) use health::Readiness;
pub(crate) use router::router;
pub(crate) use serve::serve;
