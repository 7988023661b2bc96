//! Which server, and which session of it, owns an agent's row. Both only grow, so that a late write of an
//! older owner is seen to be late. Whether an agent is connected is derived from them, never stored.

/// The start of a server, counted in the database: each start takes the next number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct ServerEpoch(pub u64);

/// One session of one agent: the server's epoch, then the session's number on that server.
/// Ordered in that order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct SessionEpoch {
    /// The server's start.
    pub server: ServerEpoch,
    /// Counted by the server; each new session of an agent has a greater number than its last.
    pub session: u64,
}
