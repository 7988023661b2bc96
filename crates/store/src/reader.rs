//! The threads that read. Each has a connection that cannot write; in WAL mode they never wait for the writer.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

use crate::error::StoreError;
use crate::queue::Queue;

pub(crate) struct Reader {
    pub(crate) conn: Connection,
    /// This server's epoch: rows of others are disconnected.
    pub(crate) epoch: u64,
}

pub(crate) type ReadQueue = Arc<Queue<Box<dyn FnOnce(&Reader) + Send>>>;

impl Reader {
    pub(crate) fn open(path: &Path, busy_timeout: Duration, epoch: u64) -> Result<Self, StoreError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let conn = Connection::open_with_flags(path, flags)?;
        conn.busy_timeout(busy_timeout)?;
        conn.execute_batch("PRAGMA query_only = ON; PRAGMA cache_size = -1024; PRAGMA temp_store = MEMORY;")?;
        conn.set_prepared_statement_cache_capacity(64);
        Ok(Self { conn, epoch })
    }
}

pub(crate) fn run(reader: &Reader, queue: &ReadQueue) {
    while let Some(job) = queue.pop() {
        job(reader);
    }
}
