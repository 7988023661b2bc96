//! Sockets and TLS: accepts connections and serves HTTP/1.1 on each until it ends or becomes a WebSocket.

use std::future::{Future, poll_fn};
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Poll;
use std::time::Duration;

use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio_rustls::LazyConfigAcceptor;
use tokio_rustls::server::TlsStream;

use crate::agent::Peer;
use crate::handler::Handler;
use crate::server::Shared;
use crate::service::OpampService;

/// Where each handshake gets its TLS settings, so that a renewed certificate is used at once.
pub type TlsSource = Arc<dyn Fn() -> Arc<rustls::ServerConfig> + Send + Sync>;

/// How long to wait when the process has no descriptor left for another connection.
const OUT_OF_DESCRIPTORS: Duration = Duration::from_millis(100);

/// Accepts until the listener breaks.
pub(crate) async fn accept_all<H: Handler>(
    shared: Arc<Shared<H>>,
    listener: TcpListener,
    tls: Option<TlsSource>,
) -> io::Result<()> {
    loop {
        match listener.accept().await {
            Ok((stream, address)) => {
                tokio::spawn(welcome(shared.clone(), stream, address, tls.clone()));
            }
            Err(error) if is_passing(&error) => {}
            Err(error) if matches!(error.raw_os_error(), Some(23 | 24)) => {
                if let Some(times) = shared.no_descriptor.count() {
                    tracing::warn!(
                        %error,
                        times,
                        "no descriptor for another connection ({times} times since this was said last): \
                         raise the limit of open files (ulimit -n), or connect fewer agents"
                    );
                }
                tokio::time::sleep(OUT_OF_DESCRIPTORS).await;
            }
            Err(error) => return Err(error),
        }
    }
}

/// Whether only the one connection failed, before it was accepted.
fn is_passing(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset, Interrupted};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset | Interrupted)
}

async fn welcome<H: Handler>(
    shared: Arc<Shared<H>>,
    stream: TcpStream,
    address: SocketAddr,
    tls: Option<TlsSource>,
) {
    let _ = stream.set_nodelay(true);
    let Some(tls) = tls else {
        let peer = Peer { address: Some(address), certificate: None };
        return serve_connection(shared, stream, Arc::new(peer)).await;
    };
    let handshake = Box::pin(handshake(&shared, stream, tls));
    match tokio::time::timeout(shared.settings.first_request, handshake).await {
        Ok(Some(stream)) => {
            let chain = stream.get_ref().1.peer_certificates();
            let certificate = chain.and_then(|chain| chain.first()).map(|leaf| Arc::from(leaf.as_ref()));
            let peer = Peer { address: Some(address), certificate };
            serve_connection(shared, stream, Arc::new(peer)).await;
        }
        _ => tracing::debug!(peer = %address, "the TLS handshake failed"),
    }
}

/// A place among the handshakes is held only while there is something to compute, never while the peer is waited for:
/// peers that begin a handshake and fall silent would take every place.
async fn handshake<H: Handler>(
    shared: &Shared<H>,
    stream: TcpStream,
    tls: TlsSource,
) -> Option<TlsStream<TcpStream>> {
    let hello = LazyConfigAcceptor::new(rustls::server::Acceptor::default(), stream).await.ok()?;
    let place = shared.handshakes.acquire().await.ok()?;
    let mut rest = pin!(hello.into_stream(tls()));
    // The first poll answers the hello, which is all the work.
    let first = poll_fn(|cx| Poll::Ready(rest.as_mut().poll(cx))).await;
    drop(place);
    match first {
        Poll::Ready(done) => done.ok(),
        Poll::Pending => rest.await.ok(),
    }
}

/// Resolves when the server closes.
async fn closed(closing: &mut watch::Receiver<bool>) {
    let _ = closing.wait_for(|closing| *closing).await;
}

/// Serves HTTP/1.1 on a stream. Returns when the connection ends or has become a WebSocket, which goes on in a
/// task of its own.
pub(crate) async fn serve_connection<H, I>(shared: Arc<Shared<H>>, io: I, peer: Arc<Peer>)
where
    H: Handler,
    I: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let clock = shared.clock;
    let used = Arc::new(AtomicU64::new(0));
    let service = OpampService::at_its_path(shared.clone());
    let note = used.clone();
    let answer = service_fn(move |mut request: hyper::Request<Incoming>| {
        note.store(clock.now().0.max(1), Ordering::Relaxed);
        request.extensions_mut().insert(peer.clone());
        let service = service.clone();
        async move { Ok::<_, std::convert::Infallible>(service.answer(request).await) }
    });
    let connection = http1::Builder::new()
        .max_buf_size(64 * 1024)
        .serve_connection(TokioIo::new(io), answer)
        .with_upgrades();
    let mut connection = pin!(connection);
    let mut closing = shared.closing();
    let mut idle = pin!(tokio::time::sleep(shared.settings.first_request));
    loop {
        tokio::select! {
            // An error here is a peer that went away or spoke no HTTP: nothing to act on.
            _ = connection.as_mut() => return,
            () = closed(&mut closing) => {
                connection.as_mut().graceful_shutdown();
                let _ = tokio::time::timeout(shared.settings.write_timeout, connection).await;
                return;
            }
            () = idle.as_mut() => match used.load(Ordering::Relaxed) {
                0 => return,
                last => {
                    let until = clock.instant(opamp_proto::Moment(last)) + shared.settings.keep_alive;
                    if until <= tokio::time::Instant::now() {
                        connection.as_mut().graceful_shutdown();
                        let _ = tokio::time::timeout(shared.settings.write_timeout, connection).await;
                        return;
                    }
                    idle.as_mut().reset(until);
                }
            },
        }
    }
}
