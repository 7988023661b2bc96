//! Limits and intervals of the protocol, each with the clause that it comes from.

use std::time::Duration;

/// Longest message in bytes, after inflation (REQ-11).
pub const MAX_MESSAGE: usize = 16 * 1024 * 1024;
/// Texts shorter than this many bytes travel uncompressed: deflate would not pay (R23).
pub const COMPRESS_FROM: usize = 1024;
/// Each side pings this often (CONNECT-5).
pub const PING_EVERY: Duration = Duration::from_secs(20);
/// After this much silence the socket is closed (CONNECT-5).
pub const SILENCE: Duration = Duration::from_secs(60);
/// First pause before a new connection (CONNECT-6).
pub const BACKOFF_MIN: Duration = Duration::from_secs(1);
/// Longest pause before a new connection, unless the server asked for more (CONNECT-6).
pub const BACKOFF_MAX: Duration = Duration::from_secs(30);
/// A connection must last this long before the pause starts small again (R16).
pub const STABLE_AFTER: Duration = Duration::from_secs(60);
/// Pause after a fatal refusal such as `duplicate_host` (R15).
pub const REFUSED_PAUSE: Duration = Duration::from_secs(5 * 60);
/// `hello` must come this soon after the upgrade.
pub const HELLO_WITHIN: Duration = Duration::from_secs(5);
/// The host reconciles at least this often (STATE-9).
pub const RECONCILE_EVERY: Duration = Duration::from_secs(30);
/// `metrics` are sent this often (REQ-8).
pub const METRICS_EVERY: Duration = Duration::from_secs(30);
/// Host tokens are replaced at this age (TOKEN-1).
pub const TOKEN_AGE: Duration = Duration::from_secs(30 * 24 * 60 * 60);
/// The old token works this long after the new one was confirmed (TOKEN-2, R88).
pub const TOKEN_GRACE: Duration = Duration::from_secs(10 * 60);
/// Lines of a host's own log that the server keeps (`host_logs_tail`).
pub const HOST_LOG_LINES: usize = 500;
/// Longest text of one log line in bytes; the rest follows as `partial` (R81).
pub const LOG_LINE: usize = 16 * 1024;
/// Most lines that one `logs_query` may ask for.
pub const LOG_QUERY_LINES: u32 = 5000;
/// Most lines that a subscription may begin with.
pub const LOG_TAIL_LINES: u32 = 1000;
/// Most blocks of addresses that a host says are taken; a router's whole table decides nothing.
pub const TAKEN_BLOCKS: usize = 512;
/// Most volumes that a host says are left from what is not known any more.
pub const LEFT_VOLUMES: usize = 512;
/// Most items of an array in a message, except replicas and DNS records.
pub const MAX_ITEMS: usize = 4096;
/// Most replicas, and most DNS records, of a host.
pub const MAX_REPLICAS: usize = 65_536;

// What a host says is kept, stored and shown, so the server cuts it to what follows before anybody looks (see `trim`).
// Each bound is well above what the agent of this version says; a host that says more says nonsense.

/// Longest word in characters: a version, hash, moment or key. The longest of ours is a digest of 71.
pub const WORD: usize = 128;
/// Longest name in characters: a path, an image, what a person calls an item.
pub const NAME: usize = 512;
/// Longest text for people in characters: an error in the engine's words, the reason of a goodbye.
pub const TEXT: usize = 1000;
/// Longest line of a host's own in characters; the agent keeps to it.
pub const HOST_LOG_TEXT: usize = 2000;
/// Most lines that a report of a replica ends with: the agent sends ten.
pub const LAST_LINES: usize = 10;
/// Most file systems, interfaces and features of a host.
pub const PARTS: usize = 256;
/// Most ports that something on a host listens on: there are no more.
pub const PORTS: usize = 65_536;
/// Most bytes of lines in one message: the agent ends a batch at 64 KiB, a line later at the latest. Many of them wait for
/// whoever reads them.
pub const LOG_BATCH: usize = 256 * 1024;
/// Messages of a host that the server reads in a second when there are always more: the agent sends one or two. Lines that
/// somebody reads do not count.
pub const MESSAGES_PER_SECOND: u32 = 20;
/// Messages that a host may send at once.
pub const MESSAGES_AT_ONCE: u32 = 400;
/// A message counts once more for each so many bytes: the longest one holds a host up for some seconds, not longer than
/// [`SILENCE`].
pub const BYTES_PER_MESSAGE: usize = 64 * 1024;
/// Lines of a host's own that the server stores in a second when there are always more.
pub const HOST_LOG_PER_SECOND: u32 = 10;
/// Lines of a host's own that the server stores at once: twice what the agent keeps.
pub const HOST_LOG_AT_ONCE: u32 = 1000;
/// Connections of a host that the server takes in a second when there are always more: the agent waits a second at least.
pub const CONNECTS_PER_SECOND: u32 = 1;
/// Connections of a host at once, each after the other's end.
pub const CONNECTS_AT_ONCE: u32 = 60;
