//! What every database behind the store must do. Each test opens its own through `world::open`, and nothing
//! here knows that it is SQLite; what is particular to that is in `tests/sqlite`.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on has failed")]

mod accounts;
mod agents;
mod answers;
mod api_tokens;
mod assignments;
mod audit;
mod configs;
mod credentials;
mod enrolment;
mod hosts;
mod labels;
mod lists;
mod releases;
mod replacement;
mod selectors;
mod views;
mod world;
