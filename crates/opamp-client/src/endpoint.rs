//! Where the server is: a URL whose scheme chooses the transport and TLS, and nothing else does (`V18`).

use opamp_proto::agent::Transport;
use url::Url;

/// The path that is taken when the URL has none (MODEL-7).
const DEFAULT_PATH: &str = "/v1/opamp";

/// A server's address, checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    url: Url,
    transport: Transport,
    tls: bool,
}

/// Why a text is no endpoint.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidEndpoint {
    /// Not a URL at all.
    #[error("the endpoint is no URL")]
    NotAUrl(#[source] url::ParseError),
    /// A scheme that OpAMP does not have.
    #[error("the endpoint's scheme is {0:?}, it must be ws, wss, http or https")]
    Scheme(String),
    /// No host in it.
    #[error("the endpoint names no host")]
    Host,
    /// Credentials in a URL end up in logs.
    #[error("the endpoint holds a user name or a password; set an Authorization header instead")]
    Credentials,
}

impl Endpoint {
    /// Reads `ws://`, `wss://`, `http://` or `https://`; without a path it is `/v1/opamp`. Without a port it
    /// is the scheme's own (80 or 443), as everywhere on the web.
    pub fn parse(text: &str) -> Result<Self, InvalidEndpoint> {
        let mut url = Url::parse(text).map_err(InvalidEndpoint::NotAUrl)?;
        let (transport, tls) = match url.scheme() {
            "ws" => (Transport::WebSocket, false),
            "wss" => (Transport::WebSocket, true),
            "http" => (Transport::Http, false),
            "https" => (Transport::Http, true),
            other => return Err(InvalidEndpoint::Scheme(other.to_owned())),
        };
        if url.host_str().is_none_or(str::is_empty) {
            return Err(InvalidEndpoint::Host);
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(InvalidEndpoint::Credentials);
        }
        if url.path() == "/" || url.path().is_empty() {
            url.set_path(DEFAULT_PATH);
        }
        url.set_fragment(None);
        Ok(Self { url, transport, tls })
    }

    /// How messages travel to it.
    pub fn transport(&self) -> Transport {
        self.transport
    }

    /// Whether the way to it is encrypted.
    pub fn is_tls(&self) -> bool {
        self.tls
    }

    /// The host without a port; an IPv6 address without its brackets.
    pub fn host(&self) -> &str {
        self.url.host_str().unwrap_or_default().trim_start_matches('[').trim_end_matches(']')
    }

    /// The port, given or the scheme's own.
    pub fn port(&self) -> u16 {
        self.url.port_or_known_default().unwrap_or(if self.tls { 443 } else { 80 })
    }

    /// `host:port`, for a Host header and for messages; without the port where it is the scheme's own.
    pub fn authority(&self) -> String {
        match (self.url.host_str(), self.url.port()) {
            (Some(host), Some(port)) => format!("{host}:{port}"),
            (Some(host), None) => host.to_owned(),
            (None, _) => String::new(),
        }
    }

    /// Path and query, for the request line.
    pub fn target(&self) -> &str {
        &self.url[url::Position::BeforePath..url::Position::AfterQuery]
    }

    /// Follows a `Location`. A redirect stays on the transport, and never goes from TLS to plain text.
    pub(crate) fn redirected(&self, location: &str) -> Result<Self, String> {
        let mut url =
            self.url.join(location).map_err(|error| format!("the redirect's location is no URL: {error}"))?;
        let tls = matches!(url.scheme(), "https" | "wss");
        if !tls && !matches!(url.scheme(), "http" | "ws") {
            return Err(format!("the server redirects to the scheme {:?}", url.scheme()));
        }
        if self.tls && !tls {
            return Err("the server redirects from TLS to plain text, which is not followed".to_owned());
        }
        let scheme = match (self.transport, tls) {
            (Transport::WebSocket, false) => "ws",
            (Transport::WebSocket, true) => "wss",
            (Transport::Http, false) => "http",
            (Transport::Http, true) => "https",
        };
        url.set_scheme(scheme).map_err(|()| "the redirect's location cannot be used".to_owned())?;
        Self::parse(url.as_str()).map_err(|error| format!("the redirect's location cannot be used: {error}"))
    }

    /// Whether credentials for `self` may be shown to `other`: the same host and port, or the same host's
    /// standard TLS port in place of its plain one.
    pub(crate) fn trusts(&self, other: &Self) -> bool {
        let same_port = self.port() == other.port() && self.tls == other.tls;
        let upgraded = self.port() == 80 && other.port() == 443 && other.tls;
        self.host() == other.host() && (same_port || upgraded)
    }
}

impl std::fmt::Display for Endpoint {
    /// Without the query, which can hold a secret.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.url[..url::Position::AfterPath])
    }
}
