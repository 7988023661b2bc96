//! Certificates: when they end, and whether they are for the name that people and agents use.

use std::path::Path;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use time::OffsetDateTime;
use x509_parser::prelude::{FromDer, GeneralName, X509Certificate};

use super::{Finding, Subject};
use crate::config::{CA_FILE, public_url};

/// Time enough to get another.
const SOON_DAYS: i64 = 14;

pub(super) fn look(subject: &Subject) -> Vec<Finding> {
    let (check, path) = match &subject.tls_cert {
        Some(path) => ("certificate", path.clone()),
        None => ("authority", subject.data_dir.join(CA_FILE)),
    };
    let der = match CertificateDer::from_pem_file(&path).map_err(|error| error.to_string()) {
        Ok(der) => der,
        Err(_) if subject.tls_cert.is_none() => {
            return vec![Finding::skipped(check, format!("there is no {} yet", path.display()))];
        }
        Err(reason) => {
            let advice = "name a file with the chain in PEM, the server's own certificate first";
            return vec![Finding::failed(check, format!("--tls-cert: {}: {reason}", path.display()), advice)];
        }
    };
    let Ok((_, certificate)) = X509Certificate::from_der(&der) else {
        return vec![Finding::failed(
            check,
            format!("{} holds no certificate", path.display()),
            "replace the file",
        )];
    };
    let mut findings = vec![end(check, &path, &certificate)];
    if let (Some(url), true) = (&subject.public_url, subject.tls_cert.is_some()) {
        findings.push(names(&certificate, url));
    }
    findings
}

fn end(check: &'static str, path: &Path, certificate: &X509Certificate<'_>) -> Finding {
    let left = certificate.validity().not_after.timestamp() - OffsetDateTime::now_utc().unix_timestamp();
    let days = left.div_euclid(86_400);
    let shown = path.display();
    let advice = "get another and put it in the place of this one; a running server reads it within a minute";
    if left <= 0 {
        Finding::failed(check, format!("{shown} ended {} days ago", -days), advice)
    } else if days < SOON_DAYS {
        Finding::warning(check, format!("{shown} ends in {days} days"), advice)
    } else {
        Finding::ok(check, format!("{shown} is good for {days} days"))
    }
}

/// Whether the certificate is for the host of `--public-url`. Our own authority always makes one that is.
fn names(certificate: &X509Certificate<'_>, url: &str) -> Finding {
    let check = "names";
    let host = match public_url(url) {
        Ok(url) => url.host,
        Err(error) => {
            return Finding::failed(check, error.to_string(), "write it as https://muster.example.org");
        }
    };
    let extension = certificate.subject_alternative_name().ok().flatten();
    let names: Vec<String> = extension
        .map(|extension| extension.value.general_names.iter().filter_map(name).collect())
        .unwrap_or_default();
    if names.iter().any(|name| covers(name, &host)) {
        return Finding::ok(check, format!("the certificate is for {host}"));
    }
    let finding = format!("the certificate is for {}, and not for {host} of --public-url", names.join(", "));
    Finding::failed(check, finding, "get one for that name, or set --public-url to one of these")
}

fn name(name: &GeneralName<'_>) -> Option<String> {
    match name {
        GeneralName::DNSName(name) => Some((*name).to_owned()),
        GeneralName::IPAddress(bytes) => match <[u8; 4]>::try_from(*bytes) {
            Ok(v4) => Some(std::net::Ipv4Addr::from(v4).to_string()),
            Err(_) => <[u8; 16]>::try_from(*bytes).ok().map(|v6| std::net::Ipv6Addr::from(v6).to_string()),
        },
        _ => None,
    }
}

/// RFC 9525: a star stands for the first label.
fn covers(name: &str, host: &str) -> bool {
    let rest = |text: &str| text.split_once('.').map(|(_, rest)| rest.to_ascii_lowercase());
    match name.strip_prefix("*.") {
        Some(domain) => rest(host).is_some_and(|rest| rest.eq_ignore_ascii_case(domain)),
        None => name.eq_ignore_ascii_case(host),
    }
}
