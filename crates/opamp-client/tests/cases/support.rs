//! What all scripts need: a client with quick times, answers of a well-behaved server, and events by kind.

use std::time::Duration;

use opamp_client::proto::wire::{self, AgentToServer, ComponentHealth, Message, ServerToAgent};
use opamp_client::{Builder, Client, Event, Events, Timing};
use testkit::{Peer, Request, soon};

/// Times that let a test see three attempts in a moment, and never decide by themselves.
pub(crate) fn quick() -> Timing {
    Timing {
        heartbeat: Duration::from_secs(3600),
        poll: Duration::from_secs(3600),
        connect: Duration::from_secs(20),
        answer: Duration::from_secs(20),
        backoff_first: Duration::from_millis(1),
        backoff_max: Duration::from_millis(20),
        throttle_min: Duration::from_millis(1),
        settled: Duration::from_millis(50),
        close: Duration::from_secs(5),
        stop: Duration::from_secs(10),
    }
}

pub(crate) fn builder(url: impl Into<String>) -> Builder {
    Client::builder(url)
        .service("com.example.test", "1")
        .health(health("starting"))
        .effective_config(wire::AgentConfigMap::default())
        .accept_remote_config()
        .timing(quick())
}

pub(crate) fn health(status: &str) -> ComponentHealth {
    ComponentHealth { healthy: true, status: status.to_owned(), ..ComponentHealth::default() }
}

/// What a good server says when it has nothing to say.
pub(crate) fn answer_to(message: &AgentToServer) -> ServerToAgent {
    ServerToAgent { instance_uid: message.instance_uid.clone(), capabilities: 7, ..ServerToAgent::default() }
}

pub(crate) fn full_state_for(message: &AgentToServer) -> ServerToAgent {
    ServerToAgent { flags: wire::ServerToAgentFlags::ReportFullState as u64, ..answer_to(message) }
}

/// Whether everything that the builder of this module describes is in the message.
pub(crate) fn is_full(message: &AgentToServer) -> bool {
    message.agent_description.is_some() && message.health.is_some() && message.effective_config.is_some()
}

/// Takes the next message on a WebSocket and acknowledges it.
pub(crate) async fn acknowledge(peer: &mut Peer) -> AgentToServer {
    let message = peer.message().await;
    peer.push(&answer_to(&message)).await;
    message
}

/// Takes the next request and acknowledges it.
pub(crate) async fn acknowledge_request(peer: &mut Peer) -> Request {
    let request = peer.request().await;
    peer.answer(&answer_to(&request.message())).await;
    request
}

/// Waits for an event, over others.
pub(crate) async fn event<T>(events: &mut Events, what: &str, pick: impl Fn(Event) -> Option<T>) -> T {
    soon(what, async {
        while let Some(event) = events.next().await {
            if let Some(picked) = pick(event) {
                return picked;
            }
        }
        panic!("the client ended without: {what}")
    })
    .await
}

pub(crate) async fn disconnected(events: &mut Events) -> (String, Option<Duration>) {
    let pick = |event| match event {
        Event::Disconnected { reason, retry_in } => Some((reason, retry_in)),
        _ => None,
    };
    event(events, "that the client is disconnected", pick).await
}

pub(crate) async fn connected(events: &mut Events) {
    event(events, "that the client is connected", |event| {
        matches!(event, Event::Connected { .. }).then_some(())
    })
    .await;
}

pub(crate) async fn refused(events: &mut Events) -> String {
    let pick = |event| match event {
        Event::MessageRefused { reason } => Some(reason),
        _ => None,
    };
    event(events, "that a message was refused", pick).await
}

pub(crate) fn encoded(message: &ServerToAgent) -> Vec<u8> {
    message.encode_to_vec()
}
