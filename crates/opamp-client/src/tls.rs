//! TLS towards the server: verified by default (`C27`), with the system's certificate authorities, others on
//! top, pinned keys in their place, and a certificate of the agent's own where the server wants one.

use std::fmt;
use std::sync::Arc;

use outbound::trust::{self, Authorities, Judge, Shown, refused};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{CertificateError, ClientConfig, RootCertStore};

/// SHA-256 of a certificate authority's public key (its SubjectPublicKeyInfo, as DER).
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct SpkiPin([u8; 32]);

/// How to trust the server and how to be known to it.
#[derive(Debug, Default)]
pub struct Tls {
    extra_ca: Vec<CertificateDer<'static>>,
    pins: Vec<SpkiPin>,
    identity: Option<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>)>,
    without_system_ca: bool,
    insecure: bool,
}

/// Why TLS cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum InvalidTls {
    /// The text is no PEM with at least one certificate.
    #[error("the certificate authority's PEM holds no usable certificate: {0}")]
    Authority(String),
    /// The agent's own certificate or key cannot be used.
    #[error("the client certificate cannot be used: {0}")]
    Identity(String),
    /// No pin in this text.
    #[error(
        "a pin is the SHA-256 of a public key as 64 hexadecimal digits or 44 characters of Base64, with or without \"sha256/\" in front"
    )]
    Pin,
    /// Nothing would be trusted.
    #[error("no certificate authority is trusted: the system has none and none was given")]
    NoAuthority,
    /// The TLS library refuses the combination.
    #[error("TLS cannot be set up: {0}")]
    Setup(String),
}

impl Tls {
    /// Trusts the system's certificate authorities.
    pub fn new() -> Self {
        Self::default()
    }

    /// Trusts one or more certificate authorities as well, given as PEM.
    pub fn with_ca_pem(mut self, pem: &[u8]) -> Result<Self, InvalidTls> {
        let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
        let found = found.map_err(|error| InvalidTls::Authority(error.to_string()))?;
        if found.is_empty() {
            return Err(InvalidTls::Authority("there is no CERTIFICATE block in it".to_owned()));
        }
        self.extra_ca.extend(found);
        Ok(self)
    }

    /// Trusts only what was given here, not the system's certificate authorities.
    #[must_use]
    pub fn without_system_ca(mut self) -> Self {
        self.without_system_ca = true;
        self
    }

    /// Trusts exactly the certificate authorities with a pinned key. The server's certificate must lead to
    /// one that is in the server's chain or was given with [`Self::with_ca_pem`].
    #[must_use]
    pub fn with_pin(mut self, pin: SpkiPin) -> Self {
        self.pins.push(pin);
        self
    }

    /// Shows the server a certificate of the agent's own; chain and key as PEM.
    pub fn with_client_certificate_pem(mut self, chain: &[u8], key: &[u8]) -> Result<Self, InvalidTls> {
        let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(chain).collect();
        let certificates = certificates.map_err(|error| InvalidTls::Identity(error.to_string()))?;
        let key =
            PrivateKeyDer::from_pem_slice(key).map_err(|error| InvalidTls::Identity(error.to_string()))?;
        self.identity = Some((certificates, key));
        Ok(self)
    }

    /// Accepts any certificate. Whoever is on the way can then read and change everything, credentials too.
    #[must_use]
    pub fn danger_accept_any_certificate(mut self) -> Self {
        self.insecure = true;
        self
    }

    pub(crate) fn build(self) -> Result<Arc<ClientConfig>, InvalidTls> {
        let setup = |error: rustls::Error| InvalidTls::Setup(error.to_string());
        let builder = trust::client(self.trust()?).map_err(setup)?;
        let mut config = match self.identity {
            None => builder.with_no_client_auth(),
            Some((chain, key)) => builder
                .with_client_auth_cert(chain, key)
                .map_err(|error| InvalidTls::Identity(error.to_string()))?,
        };
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Arc::new(config))
    }

    fn trust(&self) -> Result<Trust, InvalidTls> {
        if self.insecure {
            return Ok(Trust::Anyone);
        }
        if !self.pins.is_empty() {
            let pins = self.pins.iter().map(|pin| pin.0).collect();
            return Ok(Trust::Pins { pins, known: self.extra_ca.clone() });
        }
        let mut roots = RootCertStore::empty();
        if !self.without_system_ca {
            // Single unreadable files among hundreds are the system's affair.
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        }
        for authority in &self.extra_ca {
            roots.add(authority.clone()).map_err(|error| InvalidTls::Authority(error.to_string()))?;
        }
        if roots.is_empty() {
            return Err(InvalidTls::NoAuthority);
        }
        let authorities = Authorities::new(roots).map_err(|error| InvalidTls::Setup(error.to_string()))?;
        Ok(Trust::Authorities(authorities))
    }
}

#[derive(Debug)]
enum Trust {
    Authorities(Authorities),
    Pins { pins: Vec<[u8; 32]>, known: Vec<CertificateDer<'static>> },
    Anyone,
}

/// Says of a certificate that is refused who issued it and what can be done.
impl Judge for Trust {
    fn judge(&self, shown: &Shown<'_>) -> Result<(), rustls::Error> {
        let believed = match self {
            Self::Anyone => return Ok(()),
            Self::Authorities(authorities) => authorities.vouch(shown),
            Self::Pins { pins, known } => pinned(pins, shown.intermediates.iter().chain(known))?.vouch(shown),
        };
        believed.map_err(|error| explain(error, shown))
    }
}

fn pinned<'a>(
    pins: &[[u8; 32]],
    candidates: impl Iterator<Item = &'a CertificateDer<'a>>,
) -> Result<Authorities, rustls::Error> {
    let mut roots = RootCertStore::empty();
    trust::add_pinned(&mut roots, pins, candidates)?;
    if roots.is_empty() {
        let text = "none of the server's certificate authorities has a pinned key; \
                    either the pin is of another server, or the server does not send its authority's certificate";
        return Err(refused(text));
    }
    Authorities::new(roots)
}

fn explain(error: rustls::Error, shown: &Shown<'_>) -> rustls::Error {
    let rustls::Error::InvalidCertificate(reason) = &error else { return error };
    let issuer = issuer(shown.leaf).unwrap_or_else(|| "an unknown authority".to_owned());
    let name = shown.name.to_str();
    match reason {
        reason if untrusted(reason) => refused(format!(
            "the server's certificate was issued by {issuer}, which is not trusted; \
             if it is yours, give its certificate to the client as an additional certificate authority"
        )),
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            refused(format!(
                "the server's certificate, issued by {issuer}, is not for the name {name:?}; \
             use a name that it holds, or give the server a certificate for this one"
            ))
        }
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => refused(format!(
            "the server's certificate, issued by {issuer}, has expired, or this machine's clock is wrong"
        )),
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => refused(format!(
            "the server's certificate, issued by {issuer}, is not valid yet, or this machine's clock is wrong"
        )),
        _ => error,
    }
}

/// A self-signed certificate fails as a certificate authority in the wrong place, which the TLS library knows
/// only by name.
fn untrusted(reason: &CertificateError) -> bool {
    match reason {
        CertificateError::UnknownIssuer => true,
        CertificateError::Other(other) => format!("{other:?}").contains("CaUsedAsEndEntity"),
        _ => false,
    }
}

fn issuer(certificate: &CertificateDer<'_>) -> Option<String> {
    let (_, parsed) = x509_parser::parse_x509_certificate(certificate).ok()?;
    let text = parsed.issuer().to_string();
    let text: String = text.chars().filter(|c| !c.is_control()).take(200).collect();
    Some(format!("{text:?}"))
}

impl SpkiPin {
    /// The pin of a certificate, given as DER; `None` when it is no certificate.
    pub fn of_certificate(certificate: &[u8]) -> Option<Self> {
        trust::spki_sha256(&CertificateDer::from(certificate)).map(Self)
    }
}

impl std::str::FromStr for SpkiPin {
    type Err = InvalidTls;

    fn from_str(text: &str) -> Result<Self, InvalidTls> {
        use base64::Engine as _;
        let text = text.trim().trim_start_matches("sha256/").trim_start_matches("sha256:");
        let bytes = match text.len() {
            64 => (0..32)
                .map(|i| text.get(2 * i..2 * i + 2).and_then(|pair| u8::from_str_radix(pair, 16).ok()))
                .collect(),
            _ => base64::prelude::BASE64_STANDARD.decode(text).ok(),
        };
        bytes.and_then(|bytes: Vec<u8>| bytes.try_into().ok()).map(Self).ok_or(InvalidTls::Pin)
    }
}

impl fmt::Display for SpkiPin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for SpkiPin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
