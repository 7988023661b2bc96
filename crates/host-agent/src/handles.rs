//! How the tasks of an agent speak with each other: handles that only send, and what the reconciling task lets others see.

use std::sync::Arc;

use host_proto::Frame;
use host_proto::desired::{DesiredState, SectionHashes};
use host_proto::message::{DockerFacts, Intervals, Ping, Pong, ToServer};
use host_proto::report::ReplicaReport;
use reconcile::{Actual, adoption};
use tokio::sync::{mpsc, oneshot};

/// What the link is asked to do.
#[derive(Debug)]
pub(crate) enum ToLink {
    Send(Frame<ToServer>),
    Alive(Pong),
    /// The hello is gathered, for the connection with this number.
    Hello(u64, Box<host_proto::message::Hello>),
    Stop(String),
}

/// The way to the server, for tasks that have something to say. Without a connection it is dropped.
#[derive(Debug, Clone)]
pub(crate) struct LinkHandle(pub(crate) mpsc::UnboundedSender<ToLink>);

impl LinkHandle {
    pub(crate) fn send(&self, body: ToServer) {
        self.answer(None, body);
    }

    pub(crate) fn answer(&self, re: Option<String>, body: ToServer) {
        self.tell(ToLink::Send(Frame::answering(re, body)));
    }

    /// The link outlives all who speak to it; when it is gone the agent ends.
    pub(crate) fn tell(&self, what: ToLink) {
        let _ = self.0.send(what);
    }
}

/// Answered, or dropped, when a state is on the disk or cannot be.
pub(crate) type Kept = oneshot::Receiver<()>;

/// What the host was told to run.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Told {
    /// The server's own words.
    pub(crate) state: Arc<DesiredState>,
    /// Nothing is removed for it (R32).
    pub(crate) adopt: bool,
    /// What an earlier server asked for and this one has never named, while the host adopts.
    pub(crate) unclaimed: Option<Arc<DesiredState>>,
}

impl Told {
    /// What follows after this. Another history is another server, or an older one: what ran until then and it does not name
    /// goes on as long as the host adopts. What a history itself takes away goes.
    pub(crate) fn then(before: Option<&Self>, state: Arc<DesiredState>, adopt: bool) -> Self {
        let earlier = before.filter(|_| adopt).and_then(|before| match before.state.epoch == state.epoch {
            true => before.unclaimed.clone(),
            false => Some(before.whole()),
        });
        let unclaimed = earlier.and_then(|earlier| adoption::unclaimed(&earlier, &state)).map(Arc::new);
        Self { state, adopt, unclaimed }
    }

    /// All that the host works towards, as long as nothing was seen of what is there.
    pub(crate) fn whole(&self) -> Arc<DesiredState> {
        match &self.unclaimed {
            None => self.state.clone(),
            Some(unclaimed) => {
                Arc::new(adoption::with_unclaimed(&self.state, unclaimed, None, |_| false).state)
            }
        }
    }
}

/// What the reconciling task is told.
#[derive(Debug)]
pub(crate) enum ToWorker {
    /// A fresh state (STATE-5), on its way into the cache.
    Apply { told: Told, kept: Kept },
    /// A connection stands; its first state comes yet.
    Online(Intervals),
    /// There is no connection.
    Offline,
    /// To be answered with how late we are (R18).
    Probe(Ping),
}

/// What the reconciling task lets others see.
#[derive(Debug, Clone, Default)]
pub(crate) struct Snapshot {
    /// Whether it has looked at all.
    pub(crate) looked: bool,
    /// Every replica; `None` while the engine does not answer (R29).
    pub(crate) replicas: Option<Vec<ReplicaReport>>,
    /// A container that is not among them may be made this moment.
    pub(crate) moving: bool,
    /// What of the last state is applied.
    pub(crate) sections: SectionHashes,
    /// Whether it works from the cache.
    pub(crate) from_cache: bool,
    /// What was seen, for counters.
    pub(crate) actual: Option<Arc<Actual>>,
    /// What the engine says of itself.
    pub(crate) docker: Option<DockerFacts>,
    /// Containers, foreign ones too.
    pub(crate) containers: u64,
    /// Reconciles since the start.
    pub(crate) reconciles: u64,
    /// Those that changed something.
    pub(crate) reconciles_with_changes: u64,
    /// How long the last one took.
    pub(crate) reconcile_last_us: u64,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn state(epoch: &str, generation: u64, replicas: &[u32]) -> Arc<DesiredState> {
        let mut state = DesiredState::empty(epoch, generation);
        let spec = |number: &u32| {
            serde_json::from_value(json!({
                "replica_id": format!("rep_{number}"), "service_id": format!("svc_{number}"), "release_id": "rel_1",
                "project": "shop", "service": "web", "number": 1, "name": format!("web-{number}"), "spec_hash": "h",
                "image": {"ref": "nginx:1"},
            }))
            .unwrap()
        };
        state.replicas = replicas.iter().map(spec).collect();
        Arc::new(state)
    }

    fn beside(told: &Told) -> Vec<String> {
        let unclaimed = told.unclaimed.iter().flat_map(|it| &it.replicas);
        unclaimed.map(|it| it.replica_id.to_string()).collect()
    }

    #[test]
    fn state_7_another_history_is_begun_beside_what_ran_before_it() {
        let first = Told::then(None, state("a", 8, &[1, 2, 3]), false);
        assert_eq!(first.unclaimed, None);
        let adopted = Told::then(Some(&first), state("b", 1, &[1]), true);
        assert_eq!(beside(&adopted), ["rep_2", "rep_3"]);
        assert_eq!(adopted.whole().replicas.len(), 3);
        // What it deploys and takes away again was never of the time before.
        let more = Told::then(Some(&adopted), state("b", 2, &[1, 2, 4]), true);
        let less = Told::then(Some(&more), state("b", 3, &[1]), true);
        assert_eq!((beside(&more), beside(&less)), (vec!["rep_3".to_owned()], vec!["rep_3".to_owned()]));
        // A second restore: all that ran until then.
        let again = Told::then(Some(&more), state("c", 1, &[1]), true);
        assert_eq!(beside(&again), ["rep_2", "rep_4", "rep_3"]);
        assert_eq!(Told::then(Some(&again), state("c", 2, &[1]), false).unclaimed, None);
        // A server that only adopts from some day on takes away what it says.
        assert_eq!(Told::then(Some(&first), state("a", 9, &[1]), true).unclaimed, None);
        // Nothing is known of before: an empty disk, a new host.
        assert_eq!(Told::then(None, state("b", 1, &[1]), true).unclaimed, None);
    }
}
