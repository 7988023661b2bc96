//! The WebSocket: handshake, and frames both ways at once. The only module that knows the WebSocket library. Texts are
//! deflated without context takeover (R21, R23), and no message is longer than 16 MiB after inflation (REQ-11, R22).

mod open;
mod pump;

use host_proto::agent::{Failure, Input};
use host_proto::message::CloseCode;
use tokio::sync::mpsc;

pub(crate) use open::{Way, problem};
use pump::Pump;

/// What the owner of the connection asks for.
#[derive(Debug)]
pub(crate) enum Order {
    Text(String),
    Ping,
    Close(CloseCode, String),
}

/// Something that happened on a connection, with its number: what comes late from an older one is dropped.
pub(crate) type Happened = (u64, Input);

/// Opens a connection and carries frames until it ends. Says `Connected`, then `Text`, `Heard` and `Sent`, and at the end
/// `Failed`.
pub(crate) async fn run(
    way: Way,
    number: u64,
    mut orders: mpsc::UnboundedReceiver<Order>,
    happened: mpsc::Sender<Happened>,
) {
    let failure = match open::open(&way).await {
        Ok(pump) => carry(pump, number, &mut orders, &happened).await,
        Err(failure) => failure,
    };
    // Nobody listens any more when the agent ends.
    let _ = happened.send((number, Input::Failed(failure))).await;
}

async fn carry(
    mut pump: Pump,
    number: u64,
    orders: &mut mpsc::UnboundedReceiver<Order>,
    happened: &mpsc::Sender<Happened>,
) -> Failure {
    let mut next = Some(Input::Connected);
    loop {
        if let Some(input) = next.take()
            && happened.send((number, input)).await.is_err()
        {
            return Failure::Broken("the agent ends".to_owned());
        }
        tokio::select! {
            step = pump.step() => match step {
                pump::Step::Happened(input) => next = Some(input),
                pump::Step::Ended(failure) => return failure,
            },
            order = orders.recv() => match order {
                Some(order) => pump.order(order),
                None => return Failure::Broken("the agent ends".to_owned()),
            },
        }
    }
}
