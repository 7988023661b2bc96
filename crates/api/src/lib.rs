//! The HTTP contract under /api/v1: request and response types, problem details, a typed client.
//! Shapes of the wire only: what they mean is decided in `control-plane`, and their state words come from
//! `model`'s vocabulary. JSON is stable; fields are added, never renamed.

pub mod agents;
pub mod api_tokens;
pub mod assignments;
pub mod audit;
pub mod client;
pub mod configs;
pub mod history;
pub mod hosts;
pub mod labels;
pub mod overview;
pub mod problem;
pub mod services;
pub mod session;
pub mod shown;
pub mod tokens;
pub mod users;
pub mod views;

pub use client::{Answer, Client, ClientError, Hints, Trust};
pub use problem::Problem;
pub use shown::without_user;
