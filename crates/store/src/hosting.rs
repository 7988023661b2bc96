//! Hosts and what runs on them. What is decided about a project is written in one transaction with whatever follows from
//! it; what hosts report is written when it changes.
//!
//! Reading order: [`hosts`] and [`join`], [`links`] (tokens and sessions of hosts), [`loads`] (what decisions read),
//! [`projects`], [`deploy`], [`steps`], [`files`], [`host_logs`], [`counts`].

pub mod counts;
pub mod deploy;
pub mod files;
pub mod host_logs;
pub mod hosts;
pub mod join;
mod json;
pub mod links;
pub mod loads;
pub mod projects;
pub mod steps;
