//! Which servers a client believes: those that the system's roots vouch for, or the one whose certificate
//! authority (or own certificate) has a pinned public key. A pin is SHA-256 over the SPKI, so it outlives
//! the renewal of a certificate.

use std::sync::{Arc, Mutex};

use outbound::trust::{self, Authorities, Judge, Shown, spki_sha256};
use rustls::pki_types::ServerName;
use rustls::{CertificateError, ClientConfig, Error, RootCertStore};

/// Whom to believe.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trust {
    /// The roots of the operating system.
    System,
    /// A certificate in the server's chain has a public key with this SHA-256.
    Pinned([u8; 32]),
}

impl Trust {
    /// The TLS settings, or `None` for the ones that reqwest makes of the system's roots.
    pub(super) fn tls(&self) -> Result<Option<ClientConfig>, Error> {
        match self {
            Self::System => Ok(None),
            Self::Pinned(pin) => Ok(Some(trust::client(Pinned(*pin))?.with_no_client_auth())),
        }
    }
}

/// The public keys (SPKI, SHA-256) that the server at `host:port` shows, leaf first. Nothing is verified:
/// this is what a person compares with the fingerprint that the server printed.
pub async fn presented_keys(host: &str, port: u16) -> std::io::Result<Vec<[u8; 32]>> {
    let recorder = Recorder::default();
    let config = trust::client(recorder.clone()).map_err(std::io::Error::other)?.with_no_client_auth();
    let stream = names::connect(host, port).await?;
    let name =
        ServerName::try_from(host.trim_matches(['[', ']']).to_owned()).map_err(std::io::Error::other)?;
    tokio_rustls::TlsConnector::from(Arc::new(config)).connect(name, stream).await?;
    let keys = recorder.0.lock().map(|keys| keys.clone()).unwrap_or_default();
    Ok(keys)
}

/// The chain must lead to the certificate with the pinned key, and the name must fit, exactly as if that
/// certificate were the only root.
#[derive(Debug)]
struct Pinned([u8; 32]);

impl Judge for Pinned {
    fn judge(&self, shown: &Shown<'_>) -> Result<(), Error> {
        if spki_sha256(shown.leaf) == Some(self.0) {
            // The very key was pinned: there is no authority to ask about its name.
            return Ok(());
        }
        let mut roots = RootCertStore::empty();
        trust::add_pinned(&mut roots, &[self.0], shown.intermediates)?;
        if roots.is_empty() {
            return Err(Error::InvalidCertificate(CertificateError::UnknownIssuer));
        }
        Authorities::new(roots)?.vouch(shown)
    }
}

/// Believes everyone and remembers whom: only for showing fingerprints, never for a request.
#[derive(Debug, Default, Clone)]
struct Recorder(Arc<Mutex<Vec<[u8; 32]>>>);

impl Judge for Recorder {
    fn judge(&self, shown: &Shown<'_>) -> Result<(), Error> {
        if let Ok(mut keys) = self.0.lock() {
            *keys = shown.chain().filter_map(spki_sha256).collect();
        }
        Ok(())
    }
}
