//! Visits of many agents, each on the runtime that serves its connection. Whoever told them something from elsewhere
//! would wake that runtime once for each of them, which costs a system call and a lock: more than what they are told.

use std::collections::HashMap;
use std::sync::Arc;

use tokio::runtime::{Handle, Id};
use tokio::task::yield_now;

use crate::agent::Agent;
use crate::handler::Handler;

/// Agents that are visited before other tasks get their turn.
const AT_ONCE: usize = 256;

type Live<H> = Vec<Arc<Agent<H>>>;

/// Visits all of them, those of different runtimes at the same time.
pub(crate) async fn all<H, F>(agents: Live<H>, visit: F)
where
    H: Handler,
    F: Fn(&Arc<Agent<H>>) + Clone + Send + 'static,
{
    let (homes, pollers) = by_home(agents);
    let rounds: Vec<_> =
        homes.into_iter().map(|(home, agents)| home.spawn(walk(agents, visit.clone()))).collect();
    walk(pollers, visit).await;
    for round in rounds {
        // A runtime that ends takes its connections with it: nobody is left to be visited there.
        let _ = round.await;
    }
}

async fn walk<H: Handler>(agents: Live<H>, visit: impl Fn(&Arc<Agent<H>>)) {
    for some in agents.chunks(AT_ONCE) {
        some.iter().for_each(&visit);
        yield_now().await;
    }
}

/// The agents of each runtime, and those that have no connection.
fn by_home<H: Handler>(agents: Live<H>) -> (Vec<(Handle, Live<H>)>, Live<H>) {
    let mut homes: HashMap<Id, (Handle, Live<H>)> = HashMap::new();
    let mut pollers = Vec::new();
    for agent in agents {
        match agent.home() {
            Some(home) => homes.entry(home.id()).or_insert_with(|| (home, Vec::new())).1.push(agent),
            None => pollers.push(agent),
        }
    }
    (homes.into_values().collect(), pollers)
}
