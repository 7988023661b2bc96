//! What is particular to SQLite: files, upgrades, back-ups, crashes, a full disk.

mod backup;
mod crash;
mod limits;
mod schema;
mod world;
