//! A listener on a port of the kernel's choice, with or without TLS. A test is the server's script: it accepts a
//! connection, reads what came and answers what it likes; see [`Peer`]. Nothing here checks or repairs that.

use std::net::SocketAddr;
use std::sync::Arc;

use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

use crate::{Peer, soon};

/// A server that does what a test says.
pub struct FakeServer {
    listener: TcpListener,
    address: SocketAddr,
    tls: Option<TlsAcceptor>,
}

impl FakeServer {
    /// A server without TLS on loopback.
    pub async fn plain() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        Self { listener, address, tls: None }
    }

    /// A server with TLS on loopback.
    pub async fn tls(config: rustls::ServerConfig) -> Self {
        let tls = Some(TlsAcceptor::from(Arc::new(config)));
        Self { tls, ..Self::plain().await }
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// A URL of it, with the host as an address.
    pub fn url(&self, scheme: &str) -> String {
        format!("{scheme}://{}/v1/opamp", self.address)
    }

    /// A URL of it, with another name for the host.
    pub fn url_for(&self, scheme: &str, host: &str) -> String {
        format!("{scheme}://{host}:{}/v1/opamp", self.address.port())
    }

    /// The next connection, after its TLS handshake.
    pub async fn accept(&self) -> Peer {
        soon("a connection", async {
            loop {
                let stream = self.accept_tcp().await;
                match &self.tls {
                    None => return Peer::new(Box::new(stream)),
                    Some(tls) => {
                        // A client that does not trust us is not the connection that the test waits for.
                        if let Ok(stream) = tls.accept(stream).await {
                            return Peer::new(Box::new(stream));
                        }
                    }
                }
            }
        })
        .await
    }

    /// The next connection as it is, also where TLS is spoken.
    pub async fn accept_tcp(&self) -> TcpStream {
        let (stream, _) = soon("a TCP connection", self.listener.accept()).await.unwrap();
        stream.set_nodelay(true).unwrap();
        stream
    }

    /// Tries one TLS handshake and says whether the client went along.
    pub async fn handshake(&self) -> Result<Peer, std::io::Error> {
        let stream = self.accept_tcp().await;
        let tls = self.tls.as_ref().expect("a server with TLS");
        let stream = soon("a TLS handshake", tls.accept(stream)).await?;
        Ok(Peer::new(Box::new(stream)))
    }

    /// Whether a connection waits to be accepted now.
    pub async fn has_waiting(&self) -> bool {
        let accepted = std::pin::pin!(self.listener.accept());
        matches!(
            futures_util::future::select(accepted, std::future::ready(())).await,
            futures_util::future::Either::Left(_)
        )
    }
}
