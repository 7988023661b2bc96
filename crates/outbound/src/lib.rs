//! What clients that connect out have in common, whatever they speak: [`trust`] decides which servers are believed, and
//! [`outbox`] moves frames into a WebSocket.

pub mod outbox;
pub mod trust;
