//! Where the load goes: the server's address, how to reach it and from which source addresses.

use std::{
    fmt,
    net::{IpAddr, Ipv4Addr, SocketAddr, ToSocketAddrs},
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
};

use anyhow::{Context, bail, ensure};
use rustls::pki_types::{CertificateDer, ServerName, pem::PemObject};
use tokio::net::{TcpSocket, TcpStream};

use super::stream::Stream;

/// A server under load.
#[derive(Clone)]
pub(super) struct Target {
    address: SocketAddr,
    tls: Option<(tokio_rustls::TlsConnector, ServerName<'static>)>,
    /// The lines of each request that are the same for all agents: Host and Authorization.
    pub(super) headers: String,
    pub(super) path: String,
    source: Arc<AtomicU32>,
}

impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.address, self.path)
    }
}

impl Target {
    /// `url` with the scheme http, https, ws or wss. Anything but loopback needs `permitted`.
    pub(super) fn new(
        url: &str,
        token: Option<&str>,
        ca: Option<&Path>,
        permitted: bool,
    ) -> anyhow::Result<Self> {
        let url = url::Url::parse(url).with_context(|| format!("{:?} is no URL", api::without_user(url)))?;
        let secure = match url.scheme() {
            "http" | "ws" => false,
            "https" | "wss" => true,
            other => bail!("the URL's scheme is {other}, it must be http, https, ws or wss"),
        };
        let host = url.host_str().context("the URL names no host")?.trim_matches(['[', ']']).to_owned();
        let port = url.port().unwrap_or(if secure { 443 } else { 80 });
        let address = (host.as_str(), port)
            .to_socket_addrs()
            .with_context(|| format!("the name {host} cannot be resolved"))?
            .next()
            .with_context(|| format!("the name {host} has no address"))?;
        ensure!(
            permitted || address.ip().is_loopback(),
            "{address} is not on this machine. This is a load generator: aim it only at a server of your own, \
             and say so with --yes"
        );
        let tls = if secure { Some((connector(ca)?, ServerName::try_from(host.clone())?)) } else { None };
        let mut headers = format!("Host: {host}:{port}\r\n");
        if let Some(token) = token {
            ensure!(
                token.bytes().all(|byte| byte.is_ascii_graphic()),
                "the token holds characters that no header may hold"
            );
            headers.push_str(&format!("Authorization: Bearer {token}\r\n"));
        }
        Ok(Self {
            address,
            tls,
            headers,
            path: url.path().to_owned(),
            source: Arc::new(AtomicU32::new(getrandom::u32()?)),
        })
    }

    /// The same server, at another path and with another credential.
    pub(super) fn as_host(&self, path: &str, token: &str) -> Self {
        let headers = format!("{}Authorization: Bearer {token}\r\n", self.headers);
        Self { headers, path: path.to_owned(), ..self.clone() }
    }

    /// A new connection, with TLS when the URL asks for it.
    pub(super) async fn connect(&self) -> anyhow::Result<Stream> {
        let tcp = self.dial().await.with_context(|| format!("cannot connect to {}", self.address))?;
        tcp.set_nodelay(true)?;
        Ok(match &self.tls {
            None => Stream::Plain(tcp),
            Some((connector, name)) => Stream::Tls(Box::new(connector.connect(name.clone(), tcp).await?)),
        })
    }

    /// From many addresses of the loopback network in turn: one address has about 28,000 ports, and a closed
    /// connection keeps its port for a minute.
    async fn dial(&self) -> std::io::Result<TcpStream> {
        let IpAddr::V4(ip) = self.address.ip() else { return TcpStream::connect(self.address).await };
        if !ip.is_loopback() {
            return TcpStream::connect(self.address).await;
        }
        let number = self.source.fetch_add(1, Ordering::Relaxed);
        let source = Ipv4Addr::new(127, 0, 1 + (number / 250 % 4) as u8, 1 + (number % 250) as u8);
        let socket = TcpSocket::new_v4()?;
        socket.set_reuseaddr(true)?;
        socket.bind(SocketAddr::from((source, 0)))?;
        socket.connect(self.address).await
    }
}

fn connector(ca: Option<&Path>) -> anyhow::Result<tokio_rustls::TlsConnector> {
    let ca = ca.context("for https give the authority's certificate with --ca-file")?;
    let mut roots = rustls::RootCertStore::empty();
    for certificate in
        CertificateDer::pem_file_iter(ca).with_context(|| format!("cannot read {}", ca.display()))?
    {
        roots.add(certificate?)?;
    }
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(tokio_rustls::TlsConnector::from(Arc::new(config)))
}
