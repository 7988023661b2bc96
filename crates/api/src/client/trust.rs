//! Which servers a client believes: those that the system's roots vouch for, or the one whose certificate
//! authority (or own certificate) has a pinned public key. A pin is SHA-256 over the SPKI, so it outlives
//! the renewal of a certificate.

use std::sync::{Arc, Mutex};

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use sha2::{Digest, Sha256};
use x509_parser::prelude::{FromDer, X509Certificate};

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
    pub(super) fn tls(&self) -> Option<ClientConfig> {
        match self {
            Self::System => None,
            Self::Pinned(pin) => Some(client_config(Arc::new(PinVerifier { pin: *pin }))),
        }
    }
}

fn client_config(verifier: Arc<dyn ServerCertVerifier>) -> ClientConfig {
    let builder = ClientConfig::builder_with_provider(provider()).with_safe_default_protocol_versions();
    // The provider has ciphers for both protocol versions, so this cannot fail.
    let builder = builder.unwrap_or_else(|_| ClientConfig::builder());
    builder.dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth()
}

fn provider() -> Arc<rustls::crypto::CryptoProvider> {
    Arc::new(rustls::crypto::aws_lc_rs::default_provider())
}

/// SHA-256 of a certificate's public key.
fn spki_sha256(certificate: &CertificateDer<'_>) -> Option<[u8; 32]> {
    let (_, parsed) = X509Certificate::from_der(certificate).ok()?;
    Some(Sha256::digest(parsed.public_key().raw).into())
}

/// The public keys (SPKI, SHA-256) that the server at `host:port` shows, leaf first. Nothing is verified:
/// this is what a person compares with the fingerprint that the server printed.
pub async fn presented_keys(host: &str, port: u16) -> std::io::Result<Vec<[u8; 32]>> {
    let recorder = Arc::new(Recorder::default());
    let config = client_config(recorder.clone());
    let stream = names::connect(host, port).await?;
    let name =
        ServerName::try_from(host.trim_matches(['[', ']']).to_owned()).map_err(std::io::Error::other)?;
    tokio_rustls::TlsConnector::from(Arc::new(config)).connect(name, stream).await?;
    let keys = recorder.keys.lock().map(|keys| keys.clone()).unwrap_or_default();
    Ok(keys)
}

/// The chain must lead to the certificate with the pinned key, and the name must fit, exactly as if that
/// certificate were the only root.
#[derive(Debug)]
struct PinVerifier {
    pin: [u8; 32],
}

impl ServerCertVerifier for PinVerifier {
    fn verify_server_cert(
        &self,
        leaf: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let pinned = |certificate: &&CertificateDer<'_>| spki_sha256(certificate) == Some(self.pin);
        if pinned(&leaf) {
            // The very key was pinned: there is no authority to ask about its name.
            return Ok(ServerCertVerified::assertion());
        }
        let Some(anchor) = intermediates.iter().find(pinned) else {
            return Err(Error::InvalidCertificate(CertificateError::UnknownIssuer));
        };
        let mut roots = RootCertStore::empty();
        roots.add(anchor.clone().into_owned())?;
        let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider())
            .build()
            .map_err(|e| Error::General(e.to_string()))?;
        verifier.verify_server_cert(leaf, intermediates, name, ocsp, now)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = provider().signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, certificate, signature, &algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = provider().signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, certificate, signature, &algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        provider().signature_verification_algorithms.supported_schemes()
    }
}

/// Believes everyone and remembers whom: only for showing fingerprints, never for a request.
#[derive(Debug, Default)]
struct Recorder {
    keys: Mutex<Vec<[u8; 32]>>,
}

impl ServerCertVerifier for Recorder {
    fn verify_server_cert(
        &self,
        leaf: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        if let Ok(mut keys) = self.keys.lock() {
            *keys = std::iter::once(leaf).chain(intermediates).filter_map(spki_sha256).collect();
        }
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        provider().signature_verification_algorithms.supported_schemes()
    }
}
