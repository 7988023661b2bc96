//! The way to the control plane: name, TCP, TLS, and HTTP/1.1 on top. Always TLS (CONNECT-2).

use std::sync::Arc;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::task::JoinHandle;
use tokio_rustls::TlsConnector;
use url::Url;

use crate::trust;

/// A server that is spoken to.
#[derive(Debug, Clone)]
pub(crate) struct Endpoint {
    url: Url,
    host: String,
    port: u16,
}

impl Endpoint {
    /// An endpoint of a URL of `https` or `wss`.
    pub(crate) fn new(text: &str) -> Result<Self, String> {
        let url = Url::parse(text).map_err(|error| format!("{text:?} is not a URL: {error}"))?;
        if !matches!(url.scheme(), "https" | "wss") {
            return Err(format!("{text:?}: a host speaks with its control plane over https only"));
        }
        let host = match url.host() {
            Some(url::Host::Domain(name)) => name.to_owned(),
            Some(url::Host::Ipv4(ip)) => ip.to_string(),
            Some(url::Host::Ipv6(ip)) => ip.to_string(),
            None => return Err(format!("{text:?} names no server")),
        };
        let port = url.port().unwrap_or(443);
        Ok(Self { url, host, port })
    }

    /// Another path on the same server.
    pub(crate) fn at(&self, path: &str) -> Self {
        let mut url = self.url.clone();
        url.set_path(path);
        url.set_query(None);
        Self { url, ..self.clone() }
    }

    /// What goes into the request line.
    pub(crate) fn target(&self) -> &str {
        &self.url[url::Position::BeforePath..url::Position::AfterQuery]
    }

    /// What goes into the header `Host`.
    pub(crate) fn authority(&self) -> String {
        let host = if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() };
        if self.port == 443 { host } else { format!("{host}:{}", self.port) }
    }
}

impl std::fmt::Display for Endpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.authority())
    }
}

/// A connection with HTTP on it.
pub(crate) struct Connection {
    sender: SendRequest<Full<Bytes>>,
    driver: JoinHandle<()>,
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

impl Connection {
    /// Connects; the error is a sentence for people.
    pub(crate) async fn open(endpoint: &Endpoint, tls: &Arc<ClientConfig>) -> Result<Self, String> {
        let tcp = names::connect(&endpoint.host, endpoint.port).await.map_err(|error| error.to_string())?;
        // Small messages must not wait for each other; it is no failure where it cannot be set.
        let _ = tcp.set_nodelay(true);
        let name = ServerName::try_from(endpoint.host.clone())
            .map_err(|_| format!("{:?} cannot be the name of a TLS server", endpoint.host))?;
        let stream = TlsConnector::from(tls.clone())
            .connect(name, tcp)
            .await
            .map_err(|error| format!("{endpoint}: {}", trust::words(&error)))?;
        let (sender, connection) =
            handshake(TokioIo::new(stream)).await.map_err(|error| http_words(endpoint, &error))?;
        let driver = tokio::spawn(async move {
            if let Err(error) = connection.with_upgrades().await {
                tracing::debug!("a connection ended: {error}");
            }
        });
        Ok(Self { sender, driver })
    }

    pub(crate) async fn send(
        &mut self,
        endpoint: &Endpoint,
        request: Request<Full<Bytes>>,
    ) -> Result<Response<Incoming>, String> {
        self.sender.send_request(request).await.map_err(|error| http_words(endpoint, &error))
    }
}

fn http_words(endpoint: &Endpoint, error: &hyper::Error) -> String {
    use std::error::Error as _;
    let cause = error.source().map(|cause| format!(": {cause}")).unwrap_or_default();
    format!("{endpoint}: {error}{cause}")
}
