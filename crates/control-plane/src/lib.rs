//! The server product: OpAMP endpoint, API, console, enrolment and background tasks.
//! `app` builds it once from a [`Config`] and serves it; there are no globals. Sockets of agents are
//! `opamp-server`'s, SQL is `store`'s, the JSON shapes are `api`'s.
//!
//! Reading order: [`config`], [`app`] and `setup` (what a first start makes), [`listen`]; `opamp` (agents come
//! in) and `fleet` (what is known of them); `configs` (what they are to run); `hosts` and `services` (machines, and what runs on them); `http` (API and console) with `auth` and `events`; `ca` and
//! `secrets`; `tasks` (what runs on a clock).

pub mod admin;
pub mod app;
pub mod archive;
mod auth;
mod ca;
mod clock;
pub mod config;
mod configs;
pub mod doctor;
mod events;
mod fleet;
mod hosts;
mod http;
pub mod listen;
mod metrics;
mod opamp;
mod random;
mod secrets;
mod services;
mod setup;
mod tasks;

pub use app::{Addresses, App, BuildError, FirstStart, ServeError};
pub use ca::{CaError, throwaway_certificate};
pub use config::{Config, ConfigError, RawConfig};
pub use listen::{ListenError, Listeners};
