//! The way to a server up to the first byte of HTTP: name, TCP, TLS. Every failure says what a person can do.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use opamp_proto::agent::Failure;
use outbound::trust;
use rustls::pki_types::ServerName;
use rustls::{CertificateError, ClientConfig};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use crate::endpoint::Endpoint;
use crate::headers::HeadersProvider;

/// Everything that attempts have in common.
pub(crate) struct Way {
    pub(crate) endpoint: Endpoint,
    pub(crate) tls: Option<Arc<ClientConfig>>,
    pub(crate) headers: Arc<dyn HeadersProvider>,
    pub(crate) user_agent: String,
    /// Largest message that is read, in bytes after decompression.
    pub(crate) max_message: usize,
    pub(crate) max_redirects: u32,
    /// Whether large requests are compressed (HTTP-17).
    pub(crate) gzip_requests: bool,
    /// Silence after which a WebSocket is pinged, and then that again before it is given up (`C22`).
    pub(crate) keep_alive: Duration,
}

/// How long one of several addresses may keep us from the next.
const ADDRESS_TIMEOUT: Duration = Duration::from_secs(10);

pub(crate) trait Io: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Io for T {}

pub(crate) async fn dial(
    endpoint: &Endpoint,
    tls: Option<&Arc<ClientConfig>>,
) -> Result<Box<dyn Io>, Failure> {
    let tcp = connect(endpoint).await.map_err(Failure::Broken)?;
    // Small messages that must not wait for each other; it is no failure where it cannot be set.
    let _ = tcp.set_nodelay(true);
    match tls.filter(|_| endpoint.is_tls()) {
        None => Ok(Box::new(tcp)),
        Some(config) => {
            let name = ServerName::try_from(endpoint.host().to_owned()).map_err(|_| {
                Failure::Broken(format!("{:?} cannot be the name of a TLS server", endpoint.host()))
            })?;
            let connecting = TlsConnector::from(config.clone()).connect(name, tcp);
            let stream = connecting.await.map_err(|error| Failure::Broken(tls_error(endpoint, &error)))?;
            Ok(Box::new(stream))
        }
    }
}

async fn connect(endpoint: &Endpoint) -> Result<TcpStream, String> {
    let (host, port) = (endpoint.host(), endpoint.port());
    let addresses = tokio::net::lookup_host((host, port))
        .await
        .map_err(|error| format!("the name {host:?} cannot be resolved: {error}"))?;
    let mut last = format!("the name {host:?} has no address");
    for address in addresses {
        match tokio::time::timeout(ADDRESS_TIMEOUT, TcpStream::connect(address)).await {
            Ok(Ok(stream)) => return Ok(stream),
            Ok(Err(error)) if error.kind() == io::ErrorKind::ConnectionRefused => {
                last = format!("nothing listens on {host} port {port} (connection refused)");
            }
            Ok(Err(error)) => last = format!("{host} port {port} cannot be reached: {error}"),
            Err(_) => {
                last = format!("{host} port {port} did not accept a connection within {ADDRESS_TIMEOUT:?}")
            }
        }
    }
    Err(last)
}

fn tls_error(endpoint: &Endpoint, error: &io::Error) -> String {
    let authority = endpoint.authority();
    let cause = trust::cause(error);
    if let Some(words) = cause.and_then(trust::refusal) {
        return format!("{authority}: {words}");
    }
    match cause {
        Some(rustls::Error::InvalidCertificate(CertificateError::Other(other))) => {
            format!("{authority}: the server's certificate is not accepted: {other}")
        }
        Some(rustls::Error::InvalidMessage(_)) => {
            format!(
                "{authority} does not speak TLS on this port; if that is intended, use {}",
                plain_url(endpoint)
            )
        }
        Some(rustls::Error::AlertReceived(alert)) => refused_by_peer(&authority, *alert),
        Some(other) => format!("the TLS handshake with {authority} failed: {other}"),
        None if error.kind() == io::ErrorKind::UnexpectedEof
            || error.kind() == io::ErrorKind::ConnectionReset =>
        {
            format!(
                "{authority} closed the connection during the TLS handshake; it may not speak TLS on this port"
            )
        }
        None => format!("the TLS handshake with {authority} failed: {error}"),
    }
}

/// An alert can also come after the handshake: a TLS 1.3 server looks at the client's certificate last.
pub(crate) fn late_alert(endpoint: &Endpoint, error: &(dyn std::error::Error + 'static)) -> Option<String> {
    let mut cause = Some(error);
    while let Some(error) = cause {
        let inner = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        if let Some(rustls::Error::AlertReceived(alert)) = inner.and_then(|inner| inner.downcast_ref()) {
            return Some(refused_by_peer(&endpoint.authority(), *alert));
        }
        cause = error.source();
    }
    None
}

fn refused_by_peer(authority: &str, alert: rustls::AlertDescription) -> String {
    format!(
        "{authority} ended the TLS connection with the alert {alert:?}; it may want a client certificate, or another one"
    )
}

fn plain_url(endpoint: &Endpoint) -> String {
    endpoint.to_string().replacen("wss://", "ws://", 1).replacen("https://", "http://", 1)
}
