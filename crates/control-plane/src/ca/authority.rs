//! The certificate authority: made once, its key sealed in the database, its certificate public.

use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer,
    KeyPair, KeyUsagePurpose, SanType, SerialNumber,
};
use rustls::crypto::aws_lc_rs::sign::any_supported_type;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::sign::CertifiedKey;
use time::{Duration, OffsetDateTime};

/// How long an authority is good. Clients pin its key, so it outlives many servers.
const AUTHORITY_DAYS: i64 = 3650;
/// How long a server's certificate is good.
const LEAF_DAYS: i64 = 90;
/// A clock that is behind by less than this still believes a fresh certificate.
const BACKDATED: Duration = Duration::hours(25);

/// A certificate authority with its key.
pub(crate) struct Authority {
    certificate: CertificateDer<'static>,
    certificate_pem: String,
    issuer: Issuer<'static, KeyPair>,
}

/// Why certificates cannot be made or read.
#[derive(Debug, thiserror::Error)]
pub enum CaError {
    /// A certificate or key could not be made or read.
    #[error("the certificate authority cannot be used")]
    Certificate(#[from] rcgen::Error),
    /// A stored certificate or key makes no sense.
    #[error("the stored certificate authority is damaged")]
    Damaged,
    /// TLS does not take the key.
    #[error("the server's key cannot be used")]
    Key(#[source] rustls::Error),
    /// No randomness.
    #[error("the system gives no random bytes")]
    Random(#[from] std::io::Error),
}

impl std::fmt::Debug for Authority {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Authority").finish_non_exhaustive()
    }
}

impl Authority {
    /// A new authority, and its key in PEM, to be sealed.
    pub(crate) fn generate(now: OffsetDateTime) -> Result<(Self, String), CaError> {
        let key = KeyPair::generate()?;
        let mut params = CertificateParams::default();
        params.distinguished_name = name("Muster certificate authority");
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        params.not_before = now - BACKDATED;
        params.not_after = now + Duration::days(AUTHORITY_DAYS);
        params.serial_number = Some(serial()?);
        let certificate = params.self_signed(&key)?;
        let key_pem = key.serialize_pem();
        Ok((Self::load(&certificate.pem(), &key_pem)?, key_pem))
    }

    /// The authority of a stored certificate and its key.
    pub(crate) fn load(certificate_pem: &str, key_pem: &str) -> Result<Self, CaError> {
        let certificate =
            CertificateDer::from_pem_slice(certificate_pem.as_bytes()).map_err(|_| CaError::Damaged)?;
        let issuer = Issuer::from_ca_cert_der(&certificate, KeyPair::from_pem(key_pem)?)?;
        Ok(Self { certificate, certificate_pem: certificate_pem.to_owned(), issuer })
    }

    /// The certificate that clients are given, PEM.
    pub(crate) fn certificate_pem(&self) -> &str {
        &self.certificate_pem
    }

    /// SHA-256 of the authority's public key, hexadecimal.
    pub(crate) fn fingerprint(&self) -> String {
        super::fingerprint(&self.certificate).unwrap_or_default()
    }

    /// A certificate for these names with a key of its own, and when to make the next.
    pub(crate) fn issue(
        &self,
        names: &[SanType],
        now: OffsetDateTime,
    ) -> Result<(CertifiedKey, OffsetDateTime), CaError> {
        let key = KeyPair::generate()?;
        let mut params = CertificateParams::default();
        params.distinguished_name = name("Muster server");
        params.subject_alt_names = names.to_vec();
        params.is_ca = IsCa::ExplicitNoCa;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        params.use_authority_key_identifier_extension = true;
        params.not_before = now - BACKDATED;
        params.not_after = now + Duration::days(LEAF_DAYS);
        params.serial_number = Some(serial()?);
        let leaf = params.signed_by(&key, &self.issuer)?;
        let private = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let signing = any_supported_type(&private).map_err(CaError::Key)?;
        // The authority goes along, so that a client that pins its key can find it.
        let chain = vec![leaf.der().clone(), self.certificate.clone()];
        Ok((CertifiedKey::new(chain, signing), now + Duration::days(LEAF_DAYS * 2 / 3)))
    }
}

fn name(common: &str) -> DistinguishedName {
    let mut name = DistinguishedName::new();
    name.push(DnType::CommonName, common);
    name
}

fn serial() -> Result<SerialNumber, CaError> {
    let mut bytes = crate::random::bytes::<16>()?;
    // Positive, as RFC 5280 wants it.
    bytes[0] &= 0x7f;
    Ok(SerialNumber::from_slice(&bytes))
}

#[cfg(test)]
mod tests {
    use x509_parser::prelude::{FromDer, X509Certificate};

    use super::*;

    #[test]
    fn h43_h44_a_clock_that_is_a_day_behind_believes_a_new_authority_and_its_certificates() {
        let now = OffsetDateTime::now_utc();
        let (authority, _) = Authority::generate(now).unwrap();
        let (leaf, _) = authority.issue(&[SanType::IpAddress([127, 0, 0, 1].into())], now).unwrap();
        let behind = (now - Duration::days(1)).unix_timestamp();
        for certificate in &leaf.cert {
            let (_, parsed) = X509Certificate::from_der(certificate).unwrap();
            assert!(parsed.validity().not_before.timestamp() <= behind, "{}", parsed.validity().not_before);
        }
    }

    #[test]
    fn a_stored_authority_goes_on_issuing_under_the_same_fingerprint() {
        let now = OffsetDateTime::now_utc();
        let (made, key) = Authority::generate(now).unwrap();
        let loaded = Authority::load(made.certificate_pem(), &key).unwrap();
        assert_eq!(made.fingerprint(), loaded.fingerprint());
        assert_eq!(made.fingerprint().len(), 64);
        let (leaf, renew) = loaded.issue(&[SanType::IpAddress([127, 0, 0, 1].into())], now).unwrap();
        assert!(renew > now && renew < now + Duration::days(LEAF_DAYS));
        let (_, authority) = X509Certificate::from_der(&leaf.cert[1]).unwrap();
        let (_, leaf) = X509Certificate::from_der(&leaf.cert[0]).unwrap();
        leaf.verify_signature(Some(authority.public_key())).unwrap();
        assert!(authority.is_ca() && !leaf.is_ca());
    }
}
