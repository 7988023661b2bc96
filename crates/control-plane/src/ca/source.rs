//! Where TLS gets the certificate for each handshake: from our own authority, or from files that are read again
//! when they change. Both listeners use the same source; a renewal reaches the next handshake.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use arc_swap::ArcSwap;
use rcgen::SanType;
use rustls::ServerConfig;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use time::OffsetDateTime;

use super::authority::{Authority, CaError};

/// A certificate of one's own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CertificateFiles {
    /// The chain, leaf first, PEM.
    pub(crate) certificate: PathBuf,
    /// Its key, PEM.
    pub(crate) key: PathBuf,
}

/// Why files hold no usable certificate.
#[derive(Debug, thiserror::Error)]
pub enum FilesError {
    /// `--tls-cert`.
    #[error("--tls-cert: {} holds no certificate chain in PEM ({reason})", path.display())]
    Certificate {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// `--tls-key`.
    #[error("--tls-key: {} holds no usable private key in PEM ({reason})", path.display())]
    Key {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// The two do not belong together.
    #[error("--tls-key: the key in {} does not belong to the certificate in {}", key.display(), certificate.display())]
    Mismatch {
        /// The certificate's file.
        certificate: PathBuf,
        /// The key's file.
        key: PathBuf,
    },
}

/// The certificate in use, and how to get the next.
pub(crate) struct CertificateSource {
    current: Arc<Current>,
    origin: Origin,
}

enum Origin {
    Own { authority: Box<Authority>, names: Vec<SanType>, renew_at: Mutex<OffsetDateTime> },
    Files { files: CertificateFiles, read: Mutex<Stamp> },
}

/// When the two files were changed last.
type Stamp = [Option<SystemTime>; 2];

impl std::fmt::Debug for CertificateSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CertificateSource").finish_non_exhaustive()
    }
}

impl CertificateSource {
    /// Certificates of our own authority for these names.
    pub(crate) fn own(
        authority: Authority,
        names: Vec<SanType>,
        now: OffsetDateTime,
    ) -> Result<Self, CaError> {
        let (certified, renew_at) = authority.issue(&names, now)?;
        let authority = Box::new(authority);
        let origin = Origin::Own { authority, names, renew_at: Mutex::new(renew_at) };
        Ok(Self { current: Arc::new(Current(ArcSwap::from_pointee(certified))), origin })
    }

    /// A certificate in files.
    pub(crate) fn files(files: CertificateFiles) -> Result<Self, FilesError> {
        let read = stamp(&files);
        let certified = read_files(&files)?;
        let origin = Origin::Files { files, read: Mutex::new(read) };
        Ok(Self { current: Arc::new(Current(ArcSwap::from_pointee(certified))), origin })
    }

    /// SHA-256 of our own authority's public key; `None` for a certificate in files.
    pub(crate) fn authority_fingerprint(&self) -> Option<String> {
        match &self.origin {
            Origin::Own { authority, .. } => Some(authority.fingerprint()),
            Origin::Files { .. } => None,
        }
    }

    /// When the certificate in use ends, in seconds since 1970.
    pub(crate) fn ends(&self) -> Option<i64> {
        let current = self.current.0.load();
        let (_, leaf) = x509_parser::parse_x509_certificate(current.cert.first()?).ok()?;
        Some(leaf.validity().not_after.timestamp())
    }

    /// TLS settings that ask this source at each handshake.
    pub(crate) fn server_config(&self, protocols: &[&[u8]]) -> Result<Arc<ServerConfig>, rustls::Error> {
        let mut config = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_cert_resolver(self.current.clone());
        config.alpn_protocols = protocols.iter().map(|protocol| protocol.to_vec()).collect();
        Ok(Arc::new(config))
    }

    /// Renews what is due; whether there is a new certificate. On failure the old one stays.
    pub(crate) fn refresh(
        &self,
        now: OffsetDateTime,
    ) -> Result<bool, Box<dyn std::error::Error + Send + Sync>> {
        match &self.origin {
            Origin::Own { authority, names, renew_at } => {
                let mut renew_at = renew_at.lock().unwrap_or_else(PoisonError::into_inner);
                if now < *renew_at {
                    return Ok(false);
                }
                let (certified, next) = authority.issue(names, now)?;
                *renew_at = next;
                self.current.0.store(Arc::new(certified));
            }
            Origin::Files { files, read } => {
                let mut read = read.lock().unwrap_or_else(PoisonError::into_inner);
                let found = stamp(files);
                if found == *read {
                    return Ok(false);
                }
                self.current.0.store(Arc::new(read_files(files)?));
                *read = found;
            }
        }
        Ok(true)
    }
}

fn stamp(files: &CertificateFiles) -> Stamp {
    [&files.certificate, &files.key].map(|path| std::fs::metadata(path).and_then(|file| file.modified()).ok())
}

fn read_files(files: &CertificateFiles) -> Result<CertifiedKey, FilesError> {
    let chain = CertificateDer::pem_file_iter(&files.certificate)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|error| bad_certificate(&files.certificate, error.to_string()))?;
    if chain.is_empty() {
        return Err(bad_certificate(&files.certificate, "no certificate found".to_owned()));
    }
    let bad_key = |reason: String| FilesError::Key { path: files.key.clone(), reason };
    let key = PrivateKeyDer::from_pem_file(&files.key).map_err(|error| bad_key(error.to_string()))?;
    let signing = aws_lc_rs::sign::any_supported_type(&key).map_err(|error| bad_key(error.to_string()))?;
    let certified = CertifiedKey::new(chain, signing);
    match certified.keys_match() {
        Ok(()) | Err(rustls::Error::InconsistentKeys(rustls::InconsistentKeys::Unknown)) => Ok(certified),
        Err(_) => {
            Err(FilesError::Mismatch { certificate: files.certificate.clone(), key: files.key.clone() })
        }
    }
}

fn bad_certificate(path: &Path, reason: String) -> FilesError {
    FilesError::Certificate { path: path.to_owned(), reason }
}

/// The certificate of the moment.
#[derive(Debug)]
struct Current(ArcSwap<CertifiedKey>);

impl ResolvesServerCert for Current {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.0.load_full())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(dir: &Path) -> CertificateFiles {
        let key = rcgen::KeyPair::generate().unwrap();
        let params = rcgen::CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        let files = CertificateFiles { certificate: dir.join("cert.pem"), key: dir.join("key.pem") };
        std::fs::write(&files.certificate, params.self_signed(&key).unwrap().pem()).unwrap();
        std::fs::write(&files.key, key.serialize_pem()).unwrap();
        files
    }

    #[test]
    fn a_certificate_is_renewed_when_two_thirds_of_its_life_are_over() {
        let now = OffsetDateTime::now_utc();
        let (authority, _) = Authority::generate(now).unwrap();
        let source = CertificateSource::own(authority, Vec::new(), now).unwrap();
        let first = source.current.0.load_full();
        assert!(!source.refresh(now + time::Duration::days(59)).unwrap());
        assert!(source.refresh(now + time::Duration::days(61)).unwrap());
        assert_ne!(first.cert[0], source.current.0.load_full().cert[0]);
        assert_eq!(first.cert[1], source.current.0.load_full().cert[1]);
    }

    #[test]
    fn files_that_do_not_fit_are_refused_and_the_flag_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let files = write(dir.path());
        CertificateSource::files(files.clone()).unwrap();
        let other = tempfile::tempdir().unwrap();
        let strangers = write(other.path());
        let mixed = CertificateFiles { key: strangers.key.clone(), ..files.clone() };
        assert!(matches!(CertificateSource::files(mixed), Err(FilesError::Mismatch { .. })));
        std::fs::write(&strangers.key, "junk").unwrap();
        let text = CertificateSource::files(strangers).unwrap_err().to_string();
        assert!(text.starts_with("--tls-key"), "{text}");
        let none = CertificateFiles { certificate: dir.path().join("none"), ..files };
        let text = CertificateSource::files(none).unwrap_err().to_string();
        assert!(text.starts_with("--tls-cert"), "{text}");
    }
}
