//! Looks every few seconds for agents that are overdue, and for those that were and are heard again. Also learns
//! the gap that each polling agent keeps, and ends the sessions of those that have been gone for long.

use std::sync::Arc;
use std::time::Duration;

use model::UnixMillis;
use model::state::Liveness;
use opamp_server::Server;
use store::Mark;

use crate::clock;
use crate::opamp::{Endpoint, LiveAgent, transport_of};

/// Short against the 90 s before which no poller is called silent.
const PERIOD: Duration = Duration::from_secs(5);

pub(super) async fn run(server: Server<Endpoint>) {
    let mut clock = super::every(PERIOD);
    loop {
        clock.tick().await;
        let server = server.clone();
        // A hundred thousand agents take some milliseconds: not on a thread that answers people.
        let turn = tokio::task::spawn_blocking(move || {
            let now = clock::now();
            server.agents().for_each(|agent| look_at(&server, agent, now));
            server.sweep_pollers();
        });
        if turn.await.is_err() {
            tracing::error!("looking for silent agents failed");
        }
    }
}

fn look_at(server: &Server<Endpoint>, agent: &Arc<LiveAgent>, now: UnixMillis) {
    let state = agent.data();
    if state.session() == 0 {
        return;
    }
    let heard = clock::of_system(agent.last_heard());
    let usual_gap = {
        let mut rhythm = state.rhythm();
        let before = rhythm.heard;
        if before.0 != 0 && heard > before {
            rhythm.gap.observe(heard.since(before));
        }
        rhythm.heard = heard;
        rhythm.gap.usual()
    };
    // No interval is offered to agents yet, so none may be assumed (HB-5).
    let liveness = Liveness { transport: transport_of(agent.transport()), interval_set: None, usual_gap };
    let silent = liveness.is_silent(now.since(heard));
    if state.set_silent(silent) {
        server.handler().mark(agent, if silent { Mark::Silent(now) } else { Mark::Heard });
    }
}
