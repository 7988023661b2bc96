//! The private certificate authority and the server's certificate. The authority lives for ten years and is what
//! clients pin; the leaf lives for ninety days, is made anew at each start and never touches a disk.

mod authority;
mod names;
mod source;

pub(crate) use authority::{Authority, CaError};
pub(crate) use names::server_names;
pub(crate) use source::{CertificateFiles, CertificateSource, FilesError};

use sha2::{Digest, Sha256};
use x509_parser::prelude::{FromDer, X509Certificate};

/// SHA-256 of a certificate's public key (SPKI), hexadecimal: what clients pin.
pub(crate) fn fingerprint(der: &[u8]) -> Option<String> {
    let (_, certificate) = X509Certificate::from_der(der).ok()?;
    Some(hex::encode(Sha256::digest(certificate.public_key().raw)))
}
