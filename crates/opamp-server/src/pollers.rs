//! Sessions of polling agents have no connection whose end could end them; silence does (CLOSE-8).

use std::sync::Arc;

use opamp_proto::server::Transport;

use crate::agent::Disconnect;
use crate::handler::Handler;
use crate::server::Shared;

/// Ends the sessions of pollers that were not heard for longer than the settings allow.
pub(crate) fn sweep<H: Handler>(shared: &Arc<Shared<H>>) {
    let now = shared.clock.now();
    shared.agents.for_each(|agent| {
        let silent = now.since(agent.heard()) > shared.settings.poller_timeout;
        if silent && agent.transport() == Transport::Http {
            shared.end(agent, Disconnect::Silent);
        }
    });
}
