//! Sockets of console and API: TLS, HTTP/1.1 and HTTP/2, limits in time, an end in good order.

use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::ConnectInfo;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::service::TowerToHyperService;
use rustls::ServerConfig;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio_rustls::TlsAcceptor;
use tower::ServiceExt;

/// How long a handshake, and the headers of a request, may take.
const PATIENCE: Duration = Duration::from_secs(15);
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
                    tracing::warn!(%error, "no descriptor for another connection; waiting for one");
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

/// Resolves when the server stops. The guard that `wait_for` gives must not live over an await.
pub(super) async fn stopped(shutdown: &mut watch::Receiver<bool>) {
    let _ = shutdown.wait_for(|stop| *stop).await;
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
    let service = router.map_request(move |mut request: hyper::Request<hyper::body::Incoming>| {
        request.extensions_mut().insert(ConnectInfo(PeerAddress(peer)));
        request.map(axum::body::Body::new)
    });
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new()).header_read_timeout(PATIENCE);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(100)
        .keep_alive_interval(Duration::from_secs(60))
        .keep_alive_timeout(PATIENCE);
    let connection = builder.serve_connection(TokioIo::new(io), TowerToHyperService::new(service));
    let mut connection = pin!(connection);
    tokio::select! {
        // An error here is a peer that went away or spoke no HTTP: nothing to act on.
        _ = connection.as_mut() => {}
        () = stopped(&mut shutdown) => {
            connection.as_mut().graceful_shutdown();
            let _ = connection.await;
        }
    }
}
