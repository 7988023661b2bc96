//! What agents are to run, and how they get it. `plan` is what operators want, held in memory as one value that is
//! replaced whole; `decide` turns it into an offer for one live agent, by the pure rules of `model::assignment`;
//! `rollouts` is the task that releases batches, pauses, and writes down what was decided; `change` is what
//! operators do, `preview` what they ask before, `live` reaches the agents of an assignment. Files and texts are in
//! the store, what the API says of them in `http::config_json`.
//!
//! An operator's change is durable before it is in the plan, and in the plan before an agent hears of it.

mod change;
mod damped;
mod decide;
mod failures;
mod live;
mod placed;
mod plan;
mod preview;
mod rollouts;

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use model::assignment::{Damper, Standing};
use model::{ConfigState, Place};
use opamp_proto::InstanceUid;
use store::{Store, StoreError};
use tokio::sync::Notify;

use crate::events::Hub;

pub(crate) use change::{ChangeError, NewRollout};
pub(crate) use failures::{FailureGroup, Failures};
pub(crate) use placed::Placed;
pub(crate) use plan::{Plan, checked};
pub(crate) use rollouts::Rollouts;

/// What is new about an agent, as it was when it said so: it may be gone when somebody looks.
#[derive(Debug, Clone)]
struct News {
    place: Place,
    standing: Option<Standing>,
    healthy: Option<bool>,
    /// Where it stood when it could not apply something. Boxed, since few agents fail and each has news.
    fault: Option<Box<Place>>,
    /// Whether it reported an effective configuration that was not compared yet.
    reports_anew: bool,
}

/// The news of agents that have some.
type AllNews = HashMap<InstanceUid, News>;

/// What operators want agents to run.
#[derive(Debug)]
pub(crate) struct Configs {
    store: Store,
    hub: Arc<Hub>,
    plan: RwLock<Arc<Plan>>,
    /// One change at a time, an operator's or a rollout's: what is read is what is changed.
    changing: tokio::sync::Mutex<()>,
    /// Agents about which something else was decided than before, or who said how they fare.
    news: Mutex<AllNews>,
    /// Agents whose own words changed what they are to run a short while ago.
    dampers: Mutex<HashMap<InstanceUid, Damper>>,
    /// Who failed lately.
    pub(crate) failures: Failures,
    wake: Notify,
}

impl Configs {
    /// Reads what operators want.
    pub(crate) async fn load(store: Store, hub: Arc<Hub>) -> Result<Self, StoreError> {
        let plan = Plan::load(&store).await?;
        Ok(Self {
            store,
            hub,
            plan: RwLock::new(Arc::new(plan)),
            changing: tokio::sync::Mutex::default(),
            news: Mutex::default(),
            dampers: Mutex::default(),
            failures: Failures::default(),
            wake: Notify::new(),
        })
    }

    /// What operators want now.
    pub(crate) fn plan(&self) -> Arc<Plan> {
        self.plan.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// From now on they want this.
    fn set_plan(&self, plan: Plan) {
        *self.plan.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(plan);
        self.wake.notify_one();
    }

    fn news(&self) -> MutexGuard<'_, AllNews> {
        self.news.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes what is new about an agent. A fault stays until somebody looks, whatever the agent says or does after it,
    /// and so does that it is to be compared.
    fn note(&self, uid: InstanceUid, mut news: News) {
        if news.place.state == ConfigState::Failed {
            news.fault = Some(Box::new(news.place.clone()));
        }
        match self.news().entry(uid) {
            Entry::Vacant(free) => drop(free.insert(news)),
            Entry::Occupied(mut known) => {
                let earlier = known.get_mut();
                news.fault = news.fault.or_else(|| earlier.fault.take());
                news.reports_anew |= earlier.reports_anew;
                *earlier = news;
            }
        }
        self.wake.notify_one();
    }
}
