//! Which servers a client believes. Whom it believes is a [`Judge`]'s to say; that the server holds the key of the
//! certificate that it shows is proved here, for each of them.

use std::fmt;
use std::io;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WantsClientCert, WebPkiServerVerifier};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{
    CertificateError, ClientConfig, ConfigBuilder, DigitallySignedStruct, Error, OtherError, RootCertStore,
    SignatureScheme,
};
use sha2::{Digest, Sha256};

/// Says of a server whether it is believed.
pub trait Judge: fmt::Debug + Send + Sync + 'static {
    /// Looks at what a server shows.
    ///
    /// # Errors
    /// Why it is not believed; [`refused`] makes one in words for people.
    fn judge(&self, shown: &Shown<'_>) -> Result<(), Error>;
}

/// What a server shows, and to whom.
#[derive(Debug)]
pub struct Shown<'a> {
    /// Its own certificate.
    pub leaf: &'a CertificateDer<'a>,
    /// Those that shall lead from its own to an authority, in the order of the handshake.
    pub intermediates: &'a [CertificateDer<'a>],
    /// The name by which it was called.
    pub name: &'a ServerName<'a>,
    ocsp: &'a [u8],
    now: UnixTime,
}

impl Shown<'_> {
    /// All certificates, the server's own first.
    pub fn chain(&self) -> impl Iterator<Item = &CertificateDer<'_>> {
        std::iter::once(self.leaf).chain(self.intermediates)
    }
}

/// Certificate authorities.
#[derive(Debug, Clone)]
pub struct Authorities(Arc<WebPkiServerVerifier>);

impl Authorities {
    /// These and no others.
    ///
    /// # Errors
    /// When there is none.
    pub fn new(roots: RootCertStore) -> Result<Self, Error> {
        WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider())
            .build()
            .map(Self)
            .map_err(|error| Error::General(error.to_string()))
    }

    /// Whether what is shown leads to one of them, now and for that name.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn vouch(&self, shown: &Shown<'_>) -> Result<(), Error> {
        let Shown { leaf, intermediates, name, ocsp, now } = shown;
        self.0.verify_server_cert(leaf, intermediates, name, ocsp, *now).map(|_| ())
    }
}

/// SHA-256 of a certificate's public key (its SubjectPublicKeyInfo), which outlives the renewal of the certificate; `None`
/// when it is no certificate.
pub fn spki_sha256(certificate: &CertificateDer<'_>) -> Option<[u8; 32]> {
    let parsed = ParsedCertificate::try_from(certificate).ok()?;
    Some(Sha256::digest(parsed.subject_public_key_info()).into())
}

/// Adds those certificates to the roots whose key is one of the pinned.
///
/// # Errors
/// When a certificate with such a key is no authority.
pub fn add_pinned<'a>(
    roots: &mut RootCertStore,
    pins: &[[u8; 32]],
    candidates: impl IntoIterator<Item = &'a CertificateDer<'a>>,
) -> Result<(), Error> {
    for candidate in candidates {
        if spki_sha256(candidate).is_some_and(|key| pins.contains(&key)) {
            roots.add(candidate.clone().into_owned())?;
        }
    }
    Ok(())
}

/// TLS settings of a client that believes whom the judge believes; its own certificate, if it has one, comes next.
///
/// # Errors
/// When the cryptography has no cipher for any version of the protocol.
pub fn client(judge: impl Judge) -> Result<ConfigBuilder<ClientConfig, WantsClientCert>, Error> {
    let provider = provider();
    let verifier = Arc::new(Verifier { judge, provider: provider.clone() });
    let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    Ok(builder.dangerous().with_custom_certificate_verifier(verifier))
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::aws_lc_rs::default_provider())
}

#[derive(Debug)]
struct Verifier<J> {
    judge: J,
    provider: Arc<CryptoProvider>,
}

impl<J: Judge> ServerCertVerifier for Verifier<J> {
    fn verify_server_cert(
        &self,
        leaf: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        self.judge.judge(&Shown { leaf, intermediates, name, ocsp, now })?;
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

/// Why a certificate was refused, in words for people.
#[derive(Debug)]
struct Refused(String);

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Refused {}

/// A refusal in words for people.
pub fn refused(words: impl Into<String>) -> Error {
    Error::InvalidCertificate(CertificateError::Other(OtherError(Arc::new(Refused(words.into())))))
}

/// The TLS error within one of input and output.
pub fn cause(error: &io::Error) -> Option<&Error> {
    error.get_ref()?.downcast_ref()
}

/// The words of a refusal that was made by [`refused`].
pub fn refusal(error: &Error) -> Option<&str> {
    match error {
        Error::InvalidCertificate(CertificateError::Other(other)) => {
            other.0.downcast_ref::<Refused>().map(|refused| refused.0.as_str())
        }
        _ => None,
    }
}
