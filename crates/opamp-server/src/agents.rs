//! The table of live sessions by instance_uid.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use opamp_proto::InstanceUid;

use crate::agent::Agent;
use crate::handler::Handler;

/// Enough shards that cores rarely meet.
const SHARDS: usize = 64;

/// How many promised instance_uids are remembered. Who does not use one soon gets another.
const PROMISES: usize = 4096;

type Shard<H> = RwLock<HashMap<InstanceUid, Arc<Agent<H>>>>;

/// The live agents.
pub struct Agents<H: Handler> {
    shards: Box<[Shard<H>]>,
    /// New instance_uids that agents were told to take, with the old one (Ambiguity: the same value again while
    /// the old one still arrives).
    promises: Mutex<HashMap<InstanceUid, InstanceUid>>,
}

impl<H: Handler> std::fmt::Debug for Agents<H> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Agents").field("len", &self.len()).finish_non_exhaustive()
    }
}

impl<H: Handler> Agents<H> {
    pub(crate) fn new() -> Self {
        Self { shards: (0..SHARDS).map(|_| RwLock::default()).collect(), promises: Mutex::default() }
    }

    fn shard(&self, uid: InstanceUid) -> &Shard<H> {
        // The last bytes of a UUID are the random ones.
        &self.shards[usize::from(uid.as_bytes()[15]) % SHARDS]
    }

    /// The live session of an instance_uid.
    pub fn get(&self, uid: InstanceUid) -> Option<Arc<Agent<H>>> {
        self.shard(uid).read().unwrap_or_else(PoisonError::into_inner).get(&uid).cloned()
    }

    /// How many sessions are live.
    pub fn len(&self) -> usize {
        self.shards.iter().map(|shard| shard.read().unwrap_or_else(PoisonError::into_inner).len()).sum()
    }

    /// Whether no session is live.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Calls `visit` for each live agent; agents that come or go meanwhile may be missed. A shard is locked only
    /// while its list is copied.
    pub fn for_each(&self, mut visit: impl FnMut(&Arc<Agent<H>>)) {
        for shard in &self.shards {
            let agents: Vec<_> =
                shard.read().unwrap_or_else(PoisonError::into_inner).values().cloned().collect();
            agents.iter().for_each(&mut visit);
        }
    }

    /// Puts an agent in; the one that was there before, if any, comes back.
    pub(crate) fn insert(&self, agent: Arc<Agent<H>>) -> Option<Arc<Agent<H>>> {
        let uid = agent.instance_uid();
        self.shard(uid).write().unwrap_or_else(PoisonError::into_inner).insert(uid, agent)
    }

    /// Takes this very agent out, not another that has its instance_uid now.
    pub(crate) fn remove(&self, agent: &Arc<Agent<H>>) {
        let uid = agent.instance_uid();
        let mut shard = self.shard(uid).write().unwrap_or_else(PoisonError::into_inner);
        if shard.get(&uid).is_some_and(|current| Arc::ptr_eq(current, agent)) {
            shard.remove(&uid);
        }
    }

    /// An instance_uid is used for the first time: who was told to take it?
    pub(crate) fn fulfil(&self, new: InstanceUid) -> Option<InstanceUid> {
        let mut promises = self.promises.lock().unwrap_or_else(PoisonError::into_inner);
        let old = promises.iter().find(|(_, promised)| **promised == new).map(|(old, _)| *old)?;
        promises.remove(&old);
        Some(old)
    }

    /// The instance_uid that the holder of `old` is to take; the same one each time.
    pub(crate) fn promise(&self, old: InstanceUid, fresh: impl FnOnce() -> InstanceUid) -> InstanceUid {
        let mut promises = self.promises.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(new) = promises.get(&old) {
            return *new;
        }
        if promises.len() >= PROMISES {
            promises.clear();
        }
        *promises.entry(old).or_insert_with(fresh)
    }
}
