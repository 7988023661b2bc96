//! The one thread that writes. It takes what waits in the queue, runs it in one transaction and answers when
//! that is committed: with an fsync when any of the calls asked to be durable (group commit), else without.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rusqlite::Connection;
use tokio::sync::oneshot;

use crate::agents::{Statements, cache::Caches, pending::Pending};
use crate::error::StoreError;
use crate::queue::{Next, Queue};

/// How much of a machine's crash a write must survive. A crash of the process loses neither kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Durability {
    /// May be lost when the machine stops: agents report again.
    Behind,
    /// On the disk before the answer.
    Durable,
}

/// What a call may use while it runs.
pub(crate) struct Db<'c> {
    pub(crate) conn: &'c Connection,
    pub(crate) caches: Caches,
    pub(crate) statements: Statements<'c>,
    /// What calls of this transaction left to be done at its end, once for all of them.
    pub(crate) pending: Pending,
    /// Whether all calls of this transaction leave the index to a later one.
    pub(crate) index_later: bool,
    pub(crate) epoch: u64,
}

/// A call that waits for the writer.
pub(crate) trait Job: Send {
    fn durability(&self) -> Durability;
    /// About how many rows it writes.
    fn weight(&self) -> usize;
    /// Whether it leaves the index of attributes to a later transaction.
    fn is_ahead_of_index(&self) -> bool;
    /// May run again when another call of its group failed.
    fn run(&mut self, db: &mut Db<'_>) -> Result<(), StoreError>;
    fn answer(self: Box<Self>, failure: Option<StoreError>);
}

pub(crate) struct Call<F, T> {
    pub(crate) durability: Durability,
    pub(crate) weight: usize,
    pub(crate) ahead_of_index: bool,
    pub(crate) body: F,
    pub(crate) value: Option<T>,
    pub(crate) reply: oneshot::Sender<Result<T, StoreError>>,
}

impl<F, T> Job for Call<F, T>
where
    F: FnMut(&mut Db<'_>) -> Result<T, StoreError> + Send,
    T: Send,
{
    fn durability(&self) -> Durability {
        self.durability
    }

    fn weight(&self) -> usize {
        self.weight
    }

    fn is_ahead_of_index(&self) -> bool {
        self.ahead_of_index
    }

    fn run(&mut self, db: &mut Db<'_>) -> Result<(), StoreError> {
        self.value = Some((self.body)(db)?);
        Ok(())
    }

    fn answer(self: Box<Self>, failure: Option<StoreError>) {
        let outcome = match (failure, self.value) {
            (Some(error), _) => Err(error),
            (None, Some(value)) => Ok(value),
            (None, None) => Err(StoreError::Closed),
        };
        // Who asked may have gone; what was asked is done all the same.
        let _ = self.reply.send(outcome);
    }
}

/// Rows after which a transaction is closed although more calls wait, so that none waits long.
const MAX_GROUP: usize = 4_000;

/// How long the writer idles before it brings the index up to date.
const IDLE: Duration = Duration::from_millis(200);

pub(crate) type WriteQueue = Arc<Queue<Box<dyn Job>>>;

/// Runs until the queue is closed and empty. `behind` is true while the index does not know every agent yet; `None`
/// for who works beside a server, which alone knows that.
pub(crate) fn run(conn: &Connection, epoch: u64, queue: &WriteQueue, behind: Option<&AtomicBool>) {
    conn.set_prepared_statement_cache_capacity(96);
    let (caches, statements, pending) = (Caches::new(), Statements::new(conn), Pending::default());
    let db = Db { conn, caches, statements, pending, index_later: false, epoch };
    let mut writer = Writer { db, synchronous: Durability::Behind, behind };
    writer.load_pending();
    writer.tell();
    loop {
        let first = match writer.db.pending.is_behind() {
            true => queue.pop_within(IDLE),
            false => queue.pop().map_or(Next::Closed, Next::Item),
        };
        match first {
            Next::Item(first) => writer.commit_group(gather(first, queue)),
            Next::Nothing => writer.catch_up(),
            Next::Closed => break,
        }
        if writer.db.pending.is_due() {
            writer.catch_up();
        }
        writer.tell();
    }
    writer.catch_up();
}

/// What waits, up to the bound.
fn gather(first: Box<dyn Job>, queue: &WriteQueue) -> Vec<Box<dyn Job>> {
    let mut weight = first.weight();
    let mut group = vec![first];
    while weight < MAX_GROUP
        && let Some(next) = queue.try_pop()
    {
        weight += next.weight();
        group.push(next);
    }
    group
}

struct Writer<'c> {
    db: Db<'c>,
    synchronous: Durability,
    behind: Option<&'c AtomicBool>,
}

impl Writer<'_> {
    /// Runs all calls in one transaction. When one fails, each gets a transaction of its own, so that only
    /// the guilty one fails.
    fn commit_group(&mut self, mut group: Vec<Box<dyn Job>>) {
        match self.transaction(&mut group) {
            Ok(()) => {
                // Whoever reads after the answer must find out that the index is behind.
                self.tell();
                group.into_iter().for_each(|job| job.answer(None));
            }
            Err(error) if group.len() == 1 => {
                if let Some(job) = group.pop() {
                    job.answer(Some(error));
                }
            }
            Err(_) => group.into_iter().for_each(|job| self.commit_group(vec![job])),
        }
    }

    fn transaction(&mut self, group: &mut [Box<dyn Job>]) -> Result<(), StoreError> {
        let durability = group.iter().map(|job| job.durability()).max().unwrap_or(Durability::Behind);
        self.set_synchronous(durability)?;
        self.db.index_later = !group.is_empty() && group.iter().all(|job| job.is_ahead_of_index());
        self.db.pending.credential_changed();
        self.db.conn.execute_batch("BEGIN IMMEDIATE")?;
        let outcome = self
            .flush()
            .and_then(|()| group.iter_mut().try_for_each(|job| job.run(&mut self.db)))
            .and_then(|()| self.flush())
            .and_then(|()| self.db.conn.execute_batch("COMMIT").map_err(StoreError::from));
        if outcome.is_err() {
            self.roll_back();
        }
        outcome
    }

    /// Does what was left to be done, unless this transaction leaves it too.
    fn flush(&mut self) -> Result<(), StoreError> {
        if self.db.index_later { Ok(()) } else { Pending::flush(&mut self.db).map(drop) }
    }

    /// Brings the index up to date in a transaction of its own.
    fn catch_up(&mut self) {
        if self.db.pending.is_behind()
            && let Err(error) = self.transaction(&mut [])
        {
            tracing::warn!(
                error = &error as &dyn std::error::Error,
                "the index of attributes could not be brought up to date, it is tried again"
            );
        }
    }

    fn tell(&self) {
        if let Some(behind) = self.behind {
            behind.store(self.db.pending.is_behind(), Ordering::Release);
        }
    }

    /// What the last run left to be done.
    fn load_pending(&mut self) {
        if self.behind.is_none() {
            return;
        }
        match Pending::load(self.db.conn) {
            Ok(pending) => self.db.pending = pending,
            Err(error) => tracing::error!(
                error = &error as &dyn std::error::Error,
                "what is left to be done for the index of attributes cannot be read"
            ),
        }
    }

    /// SQLite takes the setting only between transactions.
    fn set_synchronous(&mut self, durability: Durability) -> Result<(), StoreError> {
        if self.synchronous != durability {
            let level = match durability {
                Durability::Behind => "NORMAL",
                Durability::Durable => "FULL",
            };
            self.db.conn.execute_batch(&format!("PRAGMA synchronous = {level}"))?;
            self.synchronous = durability;
        }
        Ok(())
    }

    /// What was learnt and left to do in the transaction is gone with it.
    fn roll_back(&mut self) {
        self.db.caches = Caches::new();
        self.db.pending = Pending::default();
        if !self.db.conn.is_autocommit()
            && let Err(error) = self.db.conn.execute_batch("ROLLBACK")
        {
            tracing::error!(error = &error as &dyn std::error::Error, "rolling back failed");
        }
        self.load_pending();
    }
}
