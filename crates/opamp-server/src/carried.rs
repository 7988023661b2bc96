//! What sessions that ended leave to the next ones of their agents: how often a configuration was offered. Bounded and
//! forgotten after an hour; a server that starts anew begins to count anew.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use opamp_proto::server::CarriedOffer;
use opamp_proto::{InstanceUid, Moment};

/// Agents that are remembered, about 100 bytes each. Beyond it the count of further ones begins anew.
const MAX: usize = 16_384;

/// The offers that were not long ago.
#[derive(Debug, Default)]
pub(crate) struct Carried(Mutex<HashMap<InstanceUid, CarriedOffer>>);

impl Carried {
    /// A session ended.
    pub(crate) fn put(&self, uid: InstanceUid, offer: CarriedOffer, now: Moment) {
        if offer.is_over(now) {
            return;
        }
        let mut carried = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if carried.len() >= MAX {
            carried.retain(|_, offer| !offer.is_over(now));
        }
        if carried.len() < MAX || carried.contains_key(&uid) {
            carried.insert(uid, offer);
        }
    }

    /// A session begins. What is known stays known until the session ends, since it may not be admitted.
    pub(crate) fn get(&self, uid: InstanceUid) -> Option<CarriedOffer> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&uid).cloned()
    }
}
