//! What the control plane's certificate is checked against (CONNECT-2, JOIN-10): authorities given as certificates,
//! authorities given by the hash of their key, and the system's. Every refusal says what a person can do.

use std::sync::Arc;

use host_proto::join::TrustAnchor;
use outbound::trust::{self, Authorities, Judge, Shown, refused};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{CertificateError, ClientConfig, RootCertStore};

/// Why nothing could be trusted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the control plane's certificate cannot be checked: {0}")]
pub struct BadTrust(String);

/// How to check the control plane. Only HTTP/1.1 is offered: an upgrade to WebSocket needs it.
///
/// # Errors
/// When there is nothing to check it against.
pub fn client_config(anchors: &[TrustAnchor]) -> Result<Arc<ClientConfig>, BadTrust> {
    let builder = trust::client(Trust::new(anchors)?).map_err(|error| BadTrust(error.to_string()))?;
    let mut config = builder.with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

#[derive(Debug)]
struct Trust {
    roots: RootCertStore,
    /// SHA-256 of authorities' keys.
    pins: Vec<[u8; 32]>,
}

impl Trust {
    fn new(anchors: &[TrustAnchor]) -> Result<Self, BadTrust> {
        let mut roots = RootCertStore::empty();
        let mut pins = Vec::new();
        for anchor in anchors {
            match anchor {
                TrustAnchor::Spki { sha256 } => pins.push(pin(sha256)?),
                TrustAnchor::Ca { pem } => add_pem(&mut roots, pem)?,
                TrustAnchor::System => {
                    // Single unreadable files among hundreds are the system's affair.
                    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
                }
                TrustAnchor::Unknown => {}
            }
        }
        if roots.is_empty() && pins.is_empty() {
            return Err(BadTrust("no authority was given".to_owned()));
        }
        Ok(Self { roots, pins })
    }

    /// The authorities for one handshake: those given, and those of the server's chain whose key is pinned.
    fn authorities(&self, intermediates: &[CertificateDer<'_>]) -> Result<Authorities, rustls::Error> {
        let mut roots = self.roots.clone();
        trust::add_pinned(&mut roots, &self.pins, intermediates)?;
        if roots.is_empty() {
            return Err(refused(
                "none of its authorities has the key that this host was told to trust; either this is another server, \
                 or somebody stands between",
            ));
        }
        Authorities::new(roots)
    }
}

impl Judge for Trust {
    fn judge(&self, shown: &Shown<'_>) -> Result<(), rustls::Error> {
        let authorities = self.authorities(shown.intermediates)?;
        authorities.vouch(shown).map_err(|error| explain(error, shown.name))
    }
}

/// A pin as 64 hexadecimal digits, with or without `sha256:` in front.
fn pin(text: &str) -> Result<[u8; 32], BadTrust> {
    let digits = text.trim().trim_start_matches("sha256:");
    let bytes = hex::decode(digits).ok().and_then(|bytes| bytes.try_into().ok());
    bytes.ok_or_else(|| BadTrust("a pin is the SHA-256 of a public key as 64 hexadecimal digits".to_owned()))
}

fn add_pem(roots: &mut RootCertStore, pem: &str) -> Result<(), BadTrust> {
    let before = roots.len();
    for certificate in CertificateDer::pem_slice_iter(pem.as_bytes()) {
        let certificate = certificate.map_err(|error| BadTrust(error.to_string()))?;
        roots.add(certificate).map_err(|error| BadTrust(error.to_string()))?;
    }
    if roots.len() == before {
        return Err(BadTrust("there is no certificate in the authority's PEM".to_owned()));
    }
    Ok(())
}

fn explain(error: rustls::Error, name: &ServerName<'_>) -> rustls::Error {
    let rustls::Error::InvalidCertificate(reason) = &error else { return error };
    let name = name.to_str();
    match reason {
        CertificateError::UnknownIssuer => {
            refused("it was issued by an authority that this host was not told to trust")
        }
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            refused(format!(
                "it is not for the name {name:?}: use a name that it holds, or give the control plane one for this name"
            ))
        }
        // R10: skew is the usual reason, and the machine's clock is the last place where one looks.
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            refused("it has expired, or the clock of this machine is wrong")
        }
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            refused("it is not valid yet, or the clock of this machine is wrong")
        }
        _ => error,
    }
}

/// What a TLS error says, in words for people.
pub(crate) fn words(error: &std::io::Error) -> String {
    match trust::cause(error) {
        Some(rustls::Error::InvalidCertificate(CertificateError::Other(other))) => {
            format!("the server's certificate was refused: {other}")
        }
        Some(other) => format!("TLS failed: {other}"),
        None => format!("TLS failed: {error}"),
    }
}
