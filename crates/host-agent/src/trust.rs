//! What the control plane's certificate is checked against (CONNECT-2, JOIN-10): authorities given as certificates,
//! authorities given by the hash of their key, and the system's. Every refusal says what a person can do.

use std::fmt;
use std::sync::Arc;

use host_proto::join::TrustAnchor;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, OtherError, RootCertStore, SignatureScheme,
};
use sha2::{Digest as _, Sha256};

/// Why nothing could be trusted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the control plane's certificate cannot be checked: {0}")]
pub struct BadTrust(String);

/// How to check the control plane. Only HTTP/1.1 is offered: an upgrade to WebSocket needs it.
///
/// # Errors
/// When there is nothing to check it against.
pub fn client_config(anchors: &[TrustAnchor]) -> Result<Arc<ClientConfig>, BadTrust> {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let verifier = Arc::new(Verifier::new(anchors, provider.clone())?);
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| BadTrust(error.to_string()))?
        .dangerous()
        .with_custom_certificate_verifier(verifier)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

#[derive(Debug)]
struct Verifier {
    roots: RootCertStore,
    /// SHA-256 of authorities' keys.
    pins: Vec<[u8; 32]>,
    provider: Arc<CryptoProvider>,
}

impl Verifier {
    fn new(anchors: &[TrustAnchor], provider: Arc<CryptoProvider>) -> Result<Self, BadTrust> {
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
        Ok(Self { roots, pins, provider })
    }

    /// The roots for one handshake: those given, and those of the server's chain whose key is pinned.
    fn roots_of(&self, intermediates: &[CertificateDer<'_>]) -> Result<RootCertStore, rustls::Error> {
        let mut roots = self.roots.clone();
        for candidate in intermediates.iter().filter(|candidate| self.is_pinned(candidate)) {
            roots.add(candidate.clone().into_owned())?;
        }
        if roots.is_empty() {
            return Err(refused(
                "none of its authorities has the key that this host was told to trust; either this is another server, \
                 or somebody stands between"
                    .to_owned(),
            ));
        }
        Ok(roots)
    }

    fn is_pinned(&self, certificate: &CertificateDer<'_>) -> bool {
        let Ok(parsed) = ParsedCertificate::try_from(certificate) else { return false };
        let digest: [u8; 32] = Sha256::digest(parsed.subject_public_key_info()).into();
        self.pins.contains(&digest)
    }
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let roots = self.roots_of(intermediates)?;
        WebPkiServerVerifier::builder_with_provider(Arc::new(roots), self.provider.clone())
            .build()
            .map_err(|error| rustls::Error::General(error.to_string()))?
            .verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now)
            .map_err(|error| explain(error, server_name))
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, cert, dss, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, cert, dss, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
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

/// A refused certificate, in words for people.
#[derive(Debug)]
struct Refused(String);

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Refused {}

fn refused(text: String) -> rustls::Error {
    rustls::Error::InvalidCertificate(CertificateError::Other(OtherError(Arc::new(Refused(text)))))
}

fn explain(error: rustls::Error, name: &ServerName<'_>) -> rustls::Error {
    let rustls::Error::InvalidCertificate(reason) = &error else { return error };
    let name = name.to_str();
    match reason {
        CertificateError::UnknownIssuer => {
            refused("it was issued by an authority that this host was not told to trust".to_owned())
        }
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            refused(format!(
                "it is not for the name {name:?}: use a name that it holds, or give the control plane one for this name"
            ))
        }
        // R10: skew is the usual reason, and the machine's clock is the last place where one looks.
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            refused("it has expired, or the clock of this machine is wrong".to_owned())
        }
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            refused("it is not valid yet, or the clock of this machine is wrong".to_owned())
        }
        _ => error,
    }
}

/// What a TLS error says, in words for people.
pub(crate) fn words(error: &std::io::Error) -> String {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
    match inner {
        Some(rustls::Error::InvalidCertificate(CertificateError::Other(other))) => {
            format!("the server's certificate was refused: {other}")
        }
        Some(other) => format!("TLS failed: {other}"),
        None => format!("TLS failed: {error}"),
    }
}
