//! A certificate authority that lives for one test, and server certificates from it.

use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, KeyUsagePurpose};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::server::WebPkiClientVerifier;
use time::{Duration, OffsetDateTime};

/// A certificate authority.
pub struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
}

impl Authority {
    /// An authority of that name.
    pub fn new(name: &str) -> Self {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        Self { issuer }
    }

    /// The authority's certificate as PEM.
    pub fn pem(&self) -> String {
        self.issuer.pem()
    }

    /// The authority's certificate as DER.
    pub fn der(&self) -> CertificateDer<'static> {
        self.issuer.der().clone()
    }

    /// A certificate and key for some names, as PEM.
    pub fn issue_pem(&self, names: &[&str]) -> (String, String) {
        let (certificate, key) = self.issue(names);
        (certificate.pem(), key.serialize_pem())
    }

    /// TLS settings for a server with some names. It shows its authority's certificate too.
    pub fn server_config(&self, names: &[&str]) -> rustls::ServerConfig {
        self.shown(self.issue(names))
    }

    /// The same with a certificate that is valid from and until so many days from now.
    pub fn server_config_valid(&self, names: &[&str], (from, until): (i64, i64)) -> rustls::ServerConfig {
        let now = OffsetDateTime::now_utc();
        let valid = (now + Duration::days(from), now + Duration::days(until));
        self.shown(self.issue_valid(names, Some(valid)))
    }

    fn shown(&self, (certificate, key): (rcgen::Certificate, KeyPair)) -> rustls::ServerConfig {
        let chain = vec![certificate.der().clone(), self.der()];
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
        server_config(chain, key)
    }

    /// The same for a server that lets in only clients with a certificate of this authority.
    pub fn server_config_for_clients(&self, names: &[&str]) -> rustls::ServerConfig {
        let (certificate, key) = self.issue(names);
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let mut roots = rustls::RootCertStore::empty();
        roots.add(self.der()).unwrap();
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let clients =
            WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider.clone()).build().unwrap();
        rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_client_cert_verifier(clients)
            .with_single_cert(vec![certificate.der().clone()], key)
            .unwrap()
    }

    fn issue(&self, names: &[&str]) -> (rcgen::Certificate, KeyPair) {
        self.issue_valid(names, None)
    }

    fn issue_valid(
        &self,
        names: &[&str],
        valid: Option<(OffsetDateTime, OffsetDateTime)>,
    ) -> (rcgen::Certificate, KeyPair) {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(names).unwrap();
        if let Some((from, until)) = valid {
            (params.not_before, params.not_after) = (from, until);
        }
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        (certificate, key)
    }
}

/// TLS settings for a server that signed its certificate itself.
pub fn self_signed(names: &[&str]) -> rustls::ServerConfig {
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let made = rcgen::generate_simple_self_signed(names).unwrap();
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(made.signing_key.serialize_der()));
    server_config(vec![made.cert.der().clone()], key)
}

fn server_config(chain: Vec<CertificateDer<'static>>, key: PrivateKeyDer<'static>) -> rustls::ServerConfig {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .unwrap()
}
