//! The private certificate authority and the server's certificate. The authority lives for ten years and is what
//! clients pin; the leaf lives for ninety days, is made anew at each start and never touches a disk.

mod authority;
mod names;
mod source;

pub(crate) use authority::Authority;
pub use authority::CaError;
pub(crate) use names::server_names;
pub(crate) use source::{CertificateFiles, CertificateSource, FilesError};

use std::net::IpAddr;

use rustls::sign::CertifiedKey;
use sha2::{Digest, Sha256};
use x509_parser::prelude::{FromDer, X509Certificate};

/// An authority that nobody keeps, as PEM, and a certificate of it for one address, good for ninety days.
///
/// # Errors
/// When the system gives no random bytes, or TLS does not take the key.
pub fn throwaway_certificate(address: IpAddr) -> Result<(String, CertifiedKey), CaError> {
    let now = time::OffsetDateTime::now_utc();
    let (authority, _) = Authority::generate(now)?;
    let (key, _) = authority.issue(&[rcgen::SanType::IpAddress(address)], now)?;
    Ok((authority.certificate_pem().to_owned(), key))
}

/// SHA-256 of a certificate's public key (SPKI), hexadecimal: what clients pin.
pub(crate) fn fingerprint(der: &[u8]) -> Option<String> {
    let (_, certificate) = X509Certificate::from_der(der).ok()?;
    Some(hex::encode(Sha256::digest(certificate.public_key().raw)))
}
