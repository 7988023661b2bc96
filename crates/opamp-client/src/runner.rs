//! The task that owns an agent session: it carries commands, time and what comes from the server into the
//! session, and the session's outputs to the server, to storage and to the application. It never waits for the
//! network itself: a carrier task does, and can be dropped at any moment.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use opamp_proto::agent::{self, AgentSession, Input, Output, Restarting, Saved, Transport};
use opamp_proto::{InstanceUid, Moment};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::dial::Way;
use crate::events::{Event, Queue, RemoteConfig};
use crate::storage::Storage;
use crate::ws::Order;
use crate::{http, ws};

/// What a connection heard, with the number of the connection: what an old one still says is told apart.
type Numbered = (u64, Input);

pub(crate) struct Runner {
    pub(crate) session: AgentSession,
    pub(crate) way: Arc<Way>,
    pub(crate) storage: Arc<Mutex<dyn Storage>>,
    pub(crate) commands: mpsc::UnboundedReceiver<Input>,
    pub(crate) events: Arc<Queue>,
    pub(crate) uid: watch::Sender<InstanceUid>,
    /// Dropped at the very end: whoever waits for the stop waits for that.
    pub(crate) running: watch::Sender<()>,
    pub(crate) clock: Instant,
    pub(crate) carrier: Option<Carrier>,
    pub(crate) generation: u64,
    pub(crate) inputs: (mpsc::Sender<Numbered>, mpsc::Receiver<Numbered>),
}

/// A task that holds the connection to the server.
pub(crate) struct Carrier {
    task: JoinHandle<()>,
    orders: Orders,
}

enum Orders {
    WebSocket(mpsc::UnboundedSender<Order>),
    Http(mpsc::UnboundedSender<(InstanceUid, Bytes)>),
}

/// A carrier's way back. What a dropped carrier still says is not heard.
pub(crate) struct Inputs {
    generation: u64,
    sender: mpsc::Sender<Numbered>,
}

impl Inputs {
    pub(crate) async fn send(&self, input: Input) {
        // An error means that the runner is gone, and then this task is about to be dropped.
        let _ = self.sender.send((self.generation, input)).await;
    }
}

impl Runner {
    pub(crate) async fn run(mut self) {
        self.handle(Input::Start);
        while self.carry_out().await {
            let next = self.session.poll_timeout();
            let timer = async {
                match next {
                    Some(moment) => {
                        tokio::time::sleep_until(self.clock + Duration::from_millis(moment.0)).await
                    }
                    None => std::future::pending().await,
                }
            };
            let input = tokio::select! {
                // The application that let go of its handle wants no more agent.
                command = self.commands.recv() => command.unwrap_or(Input::Stop),
                Some((generation, input)) = self.inputs.1.recv() => {
                    if generation != self.generation {
                        continue;
                    }
                    input
                }
                () = timer => Input::Timer,
            };
            self.handle(input);
        }
        self.drop_carrier().await;
        self.events.end();
        drop(self.running);
    }

    fn handle(&mut self, input: Input) {
        if matches!(input, Input::Failed(_)) && self.way.endpoint.transport() == Transport::WebSocket {
            // The carrier has ended; the next one is another generation.
            self.carrier = None;
        }
        let now = self.now();
        self.session.handle(now, input);
    }

    /// The runner's clock starts with it and counts whole milliseconds, rounded up so that a timer that has
    /// fired is not early.
    fn now(&self) -> Moment {
        let elapsed = self.clock.elapsed();
        Moment(u64::try_from(elapsed.as_micros().div_ceil(1000)).unwrap_or(u64::MAX))
    }

    /// False: the session is over.
    async fn carry_out(&mut self) -> bool {
        while let Some(output) = self.session.poll_output() {
            match output {
                Output::Persist(saved) => self.persist(saved).await,
                Output::Connect => self.connect().await,
                Output::Send { instance_uid, payload } => self.send(instance_uid, payload),
                Output::Close => {
                    if let Some(Carrier { orders: Orders::WebSocket(orders), .. }) = &self.carrier {
                        let _ = orders.send(Order::Close);
                    }
                }
                Output::Abort => self.drop_carrier().await,
                Output::ApplyConfig { hash, config } => {
                    self.events.push(Event::RemoteConfig(RemoteConfig { hash, config }));
                }
                Output::Event(event) => self.tell(event),
                Output::Stopped => return false,
            }
        }
        true
    }

    async fn connect(&mut self) {
        self.drop_carrier().await;
        let (orders, received) = mpsc::unbounded_channel();
        let (way, inputs) = (self.way.clone(), self.inputs());
        let task = tokio::spawn(async move {
            let failure = ws::run(&way, received, &inputs).await;
            inputs.send(Input::Failed(failure)).await;
        });
        self.carrier = Some(Carrier { task, orders: Orders::WebSocket(orders) });
    }

    fn send(&mut self, instance_uid: InstanceUid, payload: Bytes) {
        if self.carrier.is_none() && self.way.endpoint.transport() == Transport::Http {
            self.carrier = Some(self.http_carrier());
        }
        // A carrier that has just ended has said so, and its failure is the next input.
        match &self.carrier {
            Some(Carrier { orders: Orders::WebSocket(orders), .. }) => {
                drop(orders.send(Order::Send(payload)))
            }
            Some(Carrier { orders: Orders::Http(orders), .. }) => drop(orders.send((instance_uid, payload))),
            None => {}
        }
    }

    fn http_carrier(&mut self) -> Carrier {
        let (orders, mut received) = mpsc::unbounded_channel::<(InstanceUid, Bytes)>();
        let (way, inputs) = (self.way.clone(), self.inputs());
        let task = tokio::spawn(async move {
            let mut connection = None;
            while let Some((instance_uid, payload)) = received.recv().await {
                let input = match http::exchange(&way, &mut connection, instance_uid, &payload).await {
                    Ok(body) => Input::Received(body),
                    Err(failure) => Input::Failed(failure),
                };
                inputs.send(input).await;
            }
        });
        Carrier { task, orders: Orders::Http(orders) }
    }

    fn inputs(&mut self) -> Inputs {
        self.generation += 1;
        Inputs { generation: self.generation, sender: self.inputs.0.clone() }
    }

    /// DUP-1: waits until the connection is really gone, which is at the carrier's next pause.
    async fn drop_carrier(&mut self) {
        if let Some(carrier) = self.carrier.take() {
            self.generation += 1;
            carrier.task.abort();
            let _ = carrier.task.await;
        }
    }

    async fn persist(&mut self, saved: Saved) {
        let _ = self.uid.send(saved.instance_uid);
        let storage = self.storage.clone();
        let stored = tokio::task::spawn_blocking(move || {
            storage.lock().unwrap_or_else(PoisonError::into_inner).save(&saved)
        });
        let reason = match stored.await {
            Ok(Ok(())) => return,
            Ok(Err(error)) => error.to_string(),
            Err(error) => error.to_string(),
        };
        tracing::error!(reason, "the agent's state could not be stored");
        self.events.push(Event::StorageFailed { reason });
    }

    fn tell(&self, event: agent::Event) {
        let event = match event {
            agent::Event::Connected { server } => {
                tracing::info!(endpoint = %self.way.endpoint, "connected");
                Event::Connected { server }
            }
            agent::Event::Disconnected { reason, next } => {
                let retry_in = match next {
                    Restarting::In(pause) => Some(pause),
                    Restarting::Never => None,
                };
                tracing::info!(endpoint = %self.way.endpoint, reason, ?retry_in, "not connected");
                Event::Disconnected { reason, retry_in }
            }
            agent::Event::FullStateRequested => Event::FullStateRequested,
            agent::Event::InstanceUidChanged { old, new } => Event::InstanceUidChanged { old, new },
            agent::Event::RestartRequested => Event::RestartRequested,
            agent::Event::MessageRefused { reason } => {
                tracing::warn!(reason, "the server refused a message");
                Event::MessageRefused { reason }
            }
            agent::Event::Ignored { reason } => {
                tracing::warn!(reason, "ignored");
                Event::Ignored { reason }
            }
        };
        self.events.push(event);
    }
}
