//! The handle. Opens the database, starts the threads, carries calls to them and answers back. What the
//! calls do is in the modules of their nouns.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use model::{ServerEpoch, UnixMillis};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, OptionalExtension};
use tokio::sync::oneshot;

use crate::error::StoreError;
use crate::migrate;
use crate::options::{OpenOptions, Purpose};
use crate::queue::Queue;
use crate::reader::{self, ReadQueue, Reader};
use crate::writer::{self, Call, Db, Durability, WriteQueue};

/// The database. Cloning gives another handle on the same one; when the last is dropped, or on
/// [`Store::close`], what is queued is still written and the threads end.
#[derive(Clone)]
pub struct Store {
    inner: Arc<Inner>,
}

struct Inner {
    writes: WriteQueue,
    reads: ReadQueue,
    running: Mutex<Running>,
    epoch: ServerEpoch,
    path: PathBuf,
    busy_timeout: Duration,
    /// Whether the index of attributes does not know every agent yet.
    behind: Arc<AtomicBool>,
}

/// What has the file open, until the store is closed.
struct Running {
    threads: Vec<JoinHandle<()>>,
    /// Held until the threads have ended, so that no second server opens the file.
    lock: Option<File>,
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Store").field("path", &self.inner.path).field("epoch", &self.inner.epoch).finish()
    }
}

impl Store {
    /// Opens the database, makes it or upgrades its schema, and starts the threads. `now` dates an upgrade,
    /// a back-up and the server's start. Blocks; call it before the runtime starts or on a blocking thread.
    pub fn open(options: OpenOptions, now: UnixMillis) -> Result<Self, StoreError> {
        let path = options.path.clone();
        Self::try_open(options, now).map_err(|error| error.of(&path))
    }

    fn try_open(options: OpenOptions, now: UnixMillis) -> Result<Self, StoreError> {
        let lock = match options.purpose {
            Purpose::Serve => Some(lock(&options.path)?),
            Purpose::Administer => None,
        };
        let conn = open_writer(&options)?;
        migrate::run(&conn, &options, now)?;
        let epoch = server_epoch(&conn, options.purpose, now)?;
        let writes: WriteQueue = Arc::new(Queue::new());
        let reads: ReadQueue = Arc::new(Queue::new());
        let mut threads = Vec::new();
        for index in 0..options.readers.max(1) {
            let reader = Reader::open(&options.path, options.busy_timeout, epoch)?;
            let queue = Arc::clone(&reads);
            threads.push(spawn(&options.path, format!("store-read-{index}"), move || {
                reader::run(&reader, &queue)
            })?);
        }
        let queue = Arc::clone(&writes);
        let serves = options.purpose == Purpose::Serve;
        // Until the writer has looked, nobody knows.
        let behind = Arc::new(AtomicBool::new(serves));
        let tell = Arc::clone(&behind);
        threads.push(spawn(&options.path, "store-write".to_owned(), move || {
            let _abandon = Abandon(&queue);
            writer::run(&conn, epoch, &queue, serves.then_some(&tell));
        })?);
        let inner = Inner {
            writes,
            reads,
            running: Mutex::new(Running { threads, lock }),
            epoch: ServerEpoch(epoch),
            path: options.path,
            busy_timeout: options.busy_timeout,
            behind,
        };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// The number of this server's start; of the last start when opened to administer.
    pub fn server_epoch(&self) -> ServerEpoch {
        self.inner.epoch
    }

    /// Where the database is.
    pub fn path(&self) -> &Path {
        &self.inner.path
    }

    /// Bytes that the disk with the database has left for this process.
    pub async fn free_space(&self) -> Result<u64, StoreError> {
        self.read(|reader| {
            let path = Path::new(reader.conn.path().unwrap_or_default());
            let directory = path.parent().unwrap_or(path);
            let disk = nix::sys::statvfs::statvfs(directory).map_err(|error| StoreError::File {
                action: "ask for the free space of",
                path: directory.to_owned(),
                source: error.into(),
            })?;
            Ok(disk.blocks_available().saturating_mul(disk.fragment_size()))
        })
        .await
    }

    /// Writes what is queued, ends the threads and leaves the file to the next server, whoever still has a handle;
    /// every later call of any handle answers [`StoreError::Closed`]. Blocks for as long as that takes.
    pub fn close(&self) {
        self.inner.close();
    }

    /// Runs a body in the writer's transaction.
    pub(crate) async fn write<T, F>(
        &self,
        durability: Durability,
        weight: usize,
        body: F,
    ) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnMut(&mut Db<'_>) -> Result<T, StoreError> + Send + 'static,
    {
        self.call(durability, weight, false, body).await
    }

    /// The same, durably, for calls that leave the index of attributes to a later transaction.
    pub(crate) async fn write_ahead_of_index<T, F>(&self, weight: usize, body: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnMut(&mut Db<'_>) -> Result<T, StoreError> + Send + 'static,
    {
        self.call(Durability::Durable, weight, true, body).await
    }

    async fn call<T, F>(
        &self,
        durability: Durability,
        weight: usize,
        ahead_of_index: bool,
        body: F,
    ) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnMut(&mut Db<'_>) -> Result<T, StoreError> + Send + 'static,
    {
        let (reply, answer) = oneshot::channel();
        self.inner.writes.push(Box::new(Call {
            durability,
            weight,
            ahead_of_index,
            body,
            value: None,
            reply,
        }));
        answer.await.unwrap_or(Err(StoreError::Closed)).map_err(|error| error.of(self.path()))
    }

    /// Runs a body on one of the readers, which sees what is committed, and every agent in the index.
    pub(crate) async fn read<T, F>(&self, body: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnOnce(&Reader) -> Result<T, StoreError> + Send + 'static,
    {
        if self.inner.behind.load(Ordering::Acquire) {
            // Any write brings the index up to date. If it fails, what is there can be read all the same.
            let _ = self.write(Durability::Behind, 1, |_| Ok(())).await;
        }
        let (reply, answer) = oneshot::channel();
        self.inner.reads.push(Box::new(move |reader: &Reader| {
            // Who asked may have gone.
            let _ = reply.send(body(reader));
        }));
        answer.await.unwrap_or(Err(StoreError::Closed)).map_err(|error| error.of(self.path()))
    }

    pub(crate) fn busy_timeout(&self) -> Duration {
        self.inner.busy_timeout
    }
}

impl Inner {
    fn close(&self) {
        self.writes.close();
        self.reads.close();
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        for thread in running.threads.drain(..) {
            if thread.join().is_err() {
                tracing::error!("a thread of the database panicked");
            }
        }
        running.lock = None;
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.close();
    }
}

/// When the writer panics, callers must not wait for ever.
struct Abandon<'a>(&'a WriteQueue);

impl Drop for Abandon<'_> {
    fn drop(&mut self) {
        self.0.abandon();
    }
}

fn spawn(
    path: &Path,
    name: String,
    body: impl FnOnce() + Send + 'static,
) -> Result<JoinHandle<()>, StoreError> {
    std::thread::Builder::new().name(name).spawn(body).map_err(|source| StoreError::File {
        action: "start a thread for",
        path: path.to_owned(),
        source,
    })
}

/// The lock lies beside the database: SQLite's own locks on the file itself must not be disturbed.
fn lock(path: &Path) -> Result<File, StoreError> {
    let mut name = path.as_os_str().to_owned();
    name.push(".lock");
    let lock_path = PathBuf::from(name);
    let failed = |source| StoreError::File { action: "lock", path: lock_path.clone(), source };
    let file = File::options().create(true).truncate(false).write(true).open(&lock_path).map_err(failed)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(std::fs::TryLockError::WouldBlock) => Err(StoreError::InUse { path: path.to_owned() }),
        Err(std::fs::TryLockError::Error(source)) => Err(failed(source)),
    }
}

/// The log is carried over into the database every 12,000 pages (48 MB): a page that changes often is then carried
/// once for many changes. It stays below 64 MiB between bursts.
fn open_writer(options: &OpenOptions) -> Result<Connection, StoreError> {
    let flags =
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = Connection::open_with_flags(&options.path, flags)?;
    conn.busy_timeout(options.busy_timeout)?;
    // Plans do not depend on bound values. Without this SQLite compiles a statement anew whenever a value is bound
    // that might matter to its plan: a quarter of what enrolling an agent cost.
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    migrate::check_ours(&conn, &options.path)?;
    conn.execute_batch(
        "PRAGMA journal_mode = WAL;
         PRAGMA synchronous = NORMAL;
         PRAGMA foreign_keys = ON;
         PRAGMA cache_size = -4096;
         PRAGMA temp_store = MEMORY;
         PRAGMA wal_autocheckpoint = 12000;
         PRAGMA journal_size_limit = 67108864;",
    )?;
    if let Some(bytes) = options.max_size {
        let page = conn.query_row("PRAGMA page_size", [], |row| row.get::<_, u32>(0))?;
        let pages = (bytes / u64::from(page.max(1))).clamp(1, u64::from(u32::MAX >> 1));
        conn.query_row(&format!("PRAGMA max_page_count = {pages}"), [], |_| Ok(()))?;
    }
    Ok(conn)
}

/// A server takes the next number; who administers reads the last.
fn server_epoch(conn: &Connection, purpose: Purpose, now: UnixMillis) -> Result<u64, StoreError> {
    let epoch = match purpose {
        Purpose::Serve => {
            conn.execute_batch("PRAGMA synchronous = FULL")?;
            let epoch = conn.query_row(
                "INSERT INTO server_start (epoch, started_at, alive_at)
                 SELECT coalesce(max(epoch), 0) + 1, ?1, ?1 FROM server_start RETURNING epoch",
                [now.0],
                |row| row.get::<_, i64>(0),
            )?;
            conn.execute_batch("PRAGMA synchronous = NORMAL")?;
            Some(epoch)
        }
        Purpose::Administer => {
            conn.query_row("SELECT max(epoch) FROM server_start", [], |row| row.get(0)).optional()?.flatten()
        }
    };
    Ok(u64::try_from(epoch.unwrap_or(0)).unwrap_or(0))
}
