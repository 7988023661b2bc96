//! Connections: taken in when there is room, led to the first replica that can be reached, carried until both sides end.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

use super::Served;
use super::relay::{self, Flow};

/// How long one replica may take to accept; then the next is tried.
const CONNECT_FOR: Duration = Duration::from_secs(2);
/// How long all may take together.
const ALL_FOR: Duration = Duration::from_secs(10);

/// Takes in connections until it is dropped. Room is found first: while there is none, the kernel's queue holds them.
pub(super) async fn accept(listener: TcpListener, served: Arc<Served>) {
    loop {
        let (Ok(own), Ok(shared)) = tokio::join!(
            Arc::clone(&served.limit).acquire_owned(),
            Arc::clone(&served.budget).acquire_owned()
        ) else {
            return;
        };
        match listener.accept().await {
            Ok((client, _)) => {
                let served = Arc::clone(&served);
                tokio::spawn(async move {
                    served.counters.accepted.fetch_add(1, Ordering::Relaxed);
                    served.counters.active.fetch_add(1, Ordering::Relaxed);
                    session(client, &served).await;
                    served.counters.active.fetch_sub(1, Ordering::Relaxed);
                    drop((own, shared));
                });
            }
            // Out of descriptors, or the client was gone already: in both cases later is better than at once.
            Err(error) => {
                tracing::debug!("a connection was not taken in: {error}");
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
    }
}

async fn session(client: TcpStream, served: &Served) {
    let Some((upstream, address)) = timeout(ALL_FOR, connect(served)).await.ok().flatten() else {
        served.counters.failed.fetch_add(1, Ordering::Relaxed);
        relay::reset(&client);
        return;
    };
    let mut life = served.lives.begin(address.ip());
    let flow = Flow::new(&served.counters.bytes_in, &served.counters.bytes_out);
    let carried = async {
        relay::prepare(&client)?;
        relay::prepare(&upstream)?;
        relay::carry(&client, &upstream, &flow).await
    };
    let whole = tokio::select! {
        ended = carried => ended.is_ok(),
        () = life.over() => false,
    };
    if !whole {
        relay::reset(&client);
        relay::reset(&upstream);
    }
}

async fn connect(served: &Served) -> Option<(TcpStream, SocketAddr)> {
    let order = served.pool().order(Instant::now());
    for upstream in order {
        match timeout(CONNECT_FOR, TcpStream::connect(upstream)).await {
            Ok(Ok(stream)) => {
                served.pool().works(upstream);
                return Some((stream, upstream));
            }
            Ok(Err(error)) => tracing::debug!(%upstream, "{upstream} does not accept: {error}"),
            Err(_) => tracing::debug!(%upstream, "{upstream} does not answer"),
        }
        served.pool().failed(upstream, Instant::now());
    }
    None
}
