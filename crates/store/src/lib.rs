//! The only crate that speaks SQL: agents, credentials, users, secrets.
