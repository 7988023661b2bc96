//! An OpAMP server: a WebSocket and plain-HTTP service around the server session.
