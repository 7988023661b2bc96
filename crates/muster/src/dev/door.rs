//! A way in with TLS for the host of `muster dev`: hosts speak with their control plane over TLS and nothing else, and this
//! server has none. What comes in here goes on to it, on the same machine.

use std::net::SocketAddr;
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::sign::SingleCertAndKey;
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

/// The door, open.
pub(super) struct Door {
    listener: TcpListener,
    acceptor: TlsAcceptor,
    /// What a host checks it against: an authority that was made for this start.
    pub(super) authority_pem: String,
    /// `127.0.0.1:` and a port that the kernel chose.
    pub(super) address: SocketAddr,
}

impl Door {
    /// Opens it.
    pub(super) async fn open() -> anyhow::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let address = listener.local_addr()?;
        let (authority_pem, key) = control_plane::throwaway_certificate(address.ip())?;
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_cert_resolver(Arc::new(SingleCertAndKey::from(key)));
        Ok(Self { listener, acceptor: TlsAcceptor::from(Arc::new(config)), authority_pem, address })
    }

    /// Lets through to `server` what comes, until its task is ended.
    pub(super) async fn serve(self, server: SocketAddr) {
        loop {
            let Ok((stream, _)) = self.listener.accept().await else {
                tokio::time::sleep(std::time::Duration::from_millis(100)).await;
                continue;
            };
            let acceptor = self.acceptor.clone();
            tokio::spawn(async move {
                if let Err(error) = pass(acceptor, stream, server).await {
                    tracing::debug!("a connection of the host ended: {error}");
                }
            });
        }
    }
}

async fn pass(acceptor: TlsAcceptor, stream: TcpStream, server: SocketAddr) -> std::io::Result<()> {
    let mut inside = TcpStream::connect(server).await?;
    let mut outside = acceptor.accept(stream).await?;
    tokio::io::copy_bidirectional(&mut outside, &mut inside).await?;
    Ok(())
}
