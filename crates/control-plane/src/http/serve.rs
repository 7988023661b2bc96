//! Sockets of console and API: TLS, HTTP/1.1 and HTTP/2, limits in time, an end in good order.

use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes, HttpBody};
use axum::extract::ConnectInfo;
use axum::http::{HeaderMap, header};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::service::TowerToHyperService;
use opamp_server::Seldom;
use rustls::ServerConfig;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::time::Instant;
use tokio_rustls::TlsAcceptor;
use tower::ServiceExt;

use crate::tasks::stopped;

/// How long a handshake, and the headers of a request, may take.
const PATIENCE: Duration = Duration::from_secs(15);
/// How long a connection lives after its last request began, streams of events aside. Longer than any answer takes to
/// make, and enough to fetch it: without a bound, connections that ask for nothing or read nothing would take every
/// place.
const IDLE: Duration = Duration::from_secs(120);
/// Connections that can be open at once: people and scripts, not agents.
const MAX_CONNECTIONS: usize = 2048;
/// How long open requests may take to end at shutdown.
const DRAIN: Duration = Duration::from_secs(3);
/// How long to wait when the process has no descriptor left.
const OUT_OF_DESCRIPTORS: Duration = Duration::from_millis(100);

/// The first byte of a TLS connection: a handshake record (RFC 8446, section 5.1).
const TLS_HANDSHAKE: u8 = 22;

/// Where a connection came from, as the socket says.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PeerAddress(pub(crate) SocketAddr);

/// Serves until `shutdown` is true, then lets open requests end.
pub(crate) async fn serve(
    listener: TcpListener,
    tls: Option<Arc<ServerConfig>>,
    router: Router,
    mut shutdown: watch::Receiver<bool>,
) {
    let places = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    let no_descriptor = Seldom::new();
    loop {
        let Ok(place) = places.clone().acquire_owned().await else { break };
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = stopped(&mut shutdown) => break,
        };
        let (stream, peer) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                if matches!(error.raw_os_error(), Some(23 | 24)) {
                    if let Some(times) = no_descriptor.count() {
                        tracing::warn!(
                            %error,
                            times,
                            "no descriptor for another connection of the console ({times} times since this was said \
                             last): raise the limit of open files (ulimit -n)"
                        );
                    }
                    tokio::time::sleep(OUT_OF_DESCRIPTORS).await;
                }
                continue;
            }
        };
        let connection = welcome(stream, peer, tls.clone(), router.clone(), shutdown.clone());
        tokio::spawn(async move {
            connection.await;
            drop(place);
        });
    }
    let all = u32::try_from(MAX_CONNECTIONS).unwrap_or(u32::MAX);
    let _ = tokio::time::timeout(DRAIN, places.acquire_many(all)).await;
}

async fn welcome(
    stream: TcpStream,
    peer: SocketAddr,
    tls: Option<Arc<ServerConfig>>,
    router: Router,
    shutdown: watch::Receiver<bool>,
) {
    let _ = stream.set_nodelay(true);
    match tls {
        None => connection(stream, peer, router, shutdown).await,
        Some(config) => {
            let Some(stream) = expect_tls(stream).await else { return };
            match tokio::time::timeout(PATIENCE, TlsAcceptor::from(config).accept(stream)).await {
                Ok(Ok(stream)) => connection(stream, peer, router, shutdown).await,
                _ => tracing::debug!(%peer, "the TLS handshake failed"),
            }
        }
    }
}

/// Whoever speaks plain HTTP to the TLS port is told so; most often it is a person who typed http:// for https://.
async fn expect_tls(mut stream: TcpStream) -> Option<TcpStream> {
    let mut first = [0];
    let looked = tokio::time::timeout(PATIENCE, stream.peek(&mut first)).await;
    if !matches!(looked, Ok(Ok(1))) || first[0] == TLS_HANDSHAKE {
        return matches!(looked, Ok(Ok(1))).then_some(stream);
    }
    let body = "This port speaks HTTPS: write https:// instead of http://\n";
    let length = body.len();
    let answer = format!(
        "HTTP/1.1 400 Bad Request\r\ncontent-type: text/plain\r\ncontent-length: {length}\r\n\
         connection: close\r\n\r\n{body}"
    );
    // What was sent is read first: closing a socket with unread bytes takes the answer back.
    let mut sink = [0; 4096];
    let _ = tokio::time::timeout(PATIENCE, stream.read(&mut sink)).await;
    let _ = stream.write_all(answer.as_bytes()).await;
    let _ = stream.shutdown().await;
    None
}

async fn connection<I>(io: I, peer: SocketAddr, router: Router, mut shutdown: watch::Receiver<bool>)
where
    I: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let usage = Arc::new(Usage::new(PATIENCE, IDLE));
    let noted = usage.clone();
    let service = router
        .map_request(move |mut request: hyper::Request<hyper::body::Incoming>| {
            noted.note();
            request.extensions_mut().insert(ConnectInfo(PeerAddress(peer)));
            request.map(Body::new)
        })
        .map_response({
            let usage = usage.clone();
            move |response: axum::response::Response| match is_stream(response.headers()) {
                true => response.map(|body| Body::new(Streaming::new(body, usage.clone()))),
                false => response,
            }
        });
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new()).header_read_timeout(PATIENCE);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(100)
        .keep_alive_interval(Duration::from_secs(60))
        .keep_alive_timeout(PATIENCE);
    let connection =
        builder.serve_connection_with_upgrades(TokioIo::new(io), TowerToHyperService::new(service));
    let mut connection = pin!(connection);
    tokio::select! {
        // An error here is a peer that went away or spoke no HTTP: nothing to act on.
        _ = connection.as_mut() => return,
        () = stopped(&mut shutdown) => {}
        () = usage.is_over() => {}
    }
    connection.as_mut().graceful_shutdown();
    let _ = tokio::time::timeout(PATIENCE, connection).await;
}

fn is_stream(headers: &HeaderMap) -> bool {
    const KINDS: [&[u8]; 3] = [b"text/event-stream", b"application/x-ndjson", b"application/octet-stream"];
    let kind = headers.get(header::CONTENT_TYPE).map(axum::http::HeaderValue::as_bytes);
    kind.is_some_and(|kind| KINDS.iter().any(|it| kind.starts_with(it)))
}

/// What a connection is used for.
struct Usage {
    opened: Instant,
    /// When the last request began, in milliseconds since `opened`; 0: none did yet.
    begun: AtomicU64,
    streams: AtomicUsize,
    /// How long it may take to its first request, and after its last.
    patience: Duration,
    idle: Duration,
}

impl Usage {
    fn new(patience: Duration, idle: Duration) -> Self {
        let (begun, streams) = (AtomicU64::new(0), AtomicUsize::new(0));
        Self { opened: Instant::now(), begun, streams, patience, idle }
    }

    /// A request begins, or a stream ends.
    fn note(&self) {
        let now = u64::try_from(self.opened.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.begun.store(now.max(1), Ordering::Relaxed);
    }

    /// Resolves when the connection was unused for too long.
    async fn is_over(&self) {
        loop {
            let until = match self.begun.load(Ordering::Relaxed) {
                0 => self.opened + self.patience,
                begun => self.opened + Duration::from_millis(begun) + self.idle,
            };
            if self.streams.load(Ordering::Relaxed) > 0 {
                tokio::time::sleep(self.idle).await;
            } else if until > Instant::now() {
                tokio::time::sleep_until(until).await;
            } else {
                return;
            }
        }
    }
}

/// The body of a stream of events, which keeps its connection.
struct Streaming {
    body: Body,
    usage: Arc<Usage>,
}

impl Streaming {
    fn new(body: Body, usage: Arc<Usage>) -> Self {
        usage.streams.fetch_add(1, Ordering::Relaxed);
        Self { body, usage }
    }
}

impl Drop for Streaming {
    fn drop(&mut self) {
        self.usage.note();
        self.usage.streams.fetch_sub(1, Ordering::Relaxed);
    }
}

impl HttpBody for Streaming {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<hyper::body::Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOON: Duration = Duration::from_millis(50);
    const LATER: Duration = Duration::from_millis(200);

    #[tokio::test]
    async fn a_connection_that_asks_for_nothing_is_over_soon_and_a_used_one_later() {
        let usage = Usage::new(SOON, LATER);
        usage.is_over().await;
        assert!((SOON..LATER).contains(&usage.opened.elapsed()));
        usage.note();
        usage.is_over().await;
        assert!(usage.opened.elapsed() >= SOON + LATER);
    }

    #[tokio::test]
    async fn a_stream_of_events_keeps_its_connection() {
        let usage = Arc::new(Usage::new(SOON, LATER));
        let stream = Streaming::new(Body::empty(), usage.clone());
        assert!(tokio::time::timeout(3 * LATER, usage.is_over()).await.is_err());
        drop(stream);
        usage.is_over().await;
    }
}
