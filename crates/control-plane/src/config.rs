//! What an operator sets: [`RawConfig`] as it was typed, [`Config`] as it was checked. An error names the flag.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use model::hosting::Subnet;
use opamp_proto::limits::{MAX_MESSAGE_CEILING, MessageLimit};

use crate::ca::CertificateFiles;
use crate::http::TrustedProxies;
use crate::services::Ranges;
pub use crate::services::{DEFAULT_MESH_RANGE, DEFAULT_NETWORK_RANGE};

/// The database's file in the data directory.
pub(crate) const DATABASE: &str = "muster.db";
/// The authority's certificate in the data directory.
pub(crate) const CA_FILE: &str = "ca.pem";

/// Flags as they were typed.
#[derive(Debug, Clone)]
pub struct RawConfig {
    /// `--data-dir`: where everything is kept; made when it does not exist.
    pub data_dir: PathBuf,
    /// `--opamp-listen`: where agents connect.
    pub opamp_listen: String,
    /// `--listen`: console and API.
    pub listen: String,
    /// `--insecure-http`: no TLS; only on loopback addresses.
    pub insecure_http: bool,
    /// `--public-url`: the console's URL as people and agents see it.
    pub public_url: Option<String>,
    /// `--tls-cert`: a certificate chain of one's own.
    pub tls_cert: Option<PathBuf>,
    /// `--tls-key`: its key.
    pub tls_key: Option<PathBuf>,
    /// `--trusted-proxy`: addresses or networks whose X-Forwarded headers are believed.
    pub trusted_proxies: Vec<String>,
    /// `--key-file`: the key that secrets are sealed with; `master.key` in the data directory by default.
    pub key_file: Option<PathBuf>,
    /// `--max-message`: the largest OpAMP message after decompression, such as `16MiB`.
    pub max_message: String,
    /// `--max-agents`: how many agents may be known at most; 0: no limit.
    pub max_agents: u64,
    /// `--agent-expiry`: how long a disconnected agent is remembered, such as `30d`; 0: for ever.
    pub agent_expiry: String,
    /// `--rollout-patience`: how long a rollout waits for agents that left before they answered, such as `5m`; 0: without
    /// end, where nobody else of the batch is left.
    pub rollout_patience: String,
    /// `--public-metrics`: `/metrics` needs no token.
    pub public_metrics: bool,
    /// The server's version, as the API and the database tell it.
    pub version: String,
    /// Addresses that networks of projects on hosts come from; empty: 10.208.0.0/12.
    pub network_range: String,
    /// Addresses of hosts in the mesh; empty: 10.98.0.0/16.
    pub mesh_range: String,
}

/// Checked settings.
#[derive(Debug, Clone)]
pub struct Config {
    pub(crate) data_dir: PathBuf,
    pub(crate) opamp_listen: SocketAddr,
    pub(crate) listen: SocketAddr,
    pub(crate) tls: TlsChoice,
    pub(crate) public_url: Option<PublicUrl>,
    pub(crate) trusted_proxies: TrustedProxies,
    pub(crate) key_file: PathBuf,
    pub(crate) max_message: MessageLimit,
    pub(crate) max_agents: Option<u64>,
    pub(crate) agent_expiry: Option<Duration>,
    pub(crate) rollout_patience: Option<Duration>,
    pub(crate) public_metrics: bool,
    pub(crate) version: String,
    /// Where addresses of containers and of hosts come from.
    pub(crate) ranges: Ranges,
    /// How long changes of agents are collected before they are written.
    pub(crate) write_behind: Duration,
}

/// Where TLS comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TlsChoice {
    /// Our own authority.
    Own,
    /// A certificate of one's own.
    Files(CertificateFiles),
    /// None: loopback only.
    Off,
}

/// `--public-url`, taken apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PublicUrl {
    /// Without a final slash.
    pub(crate) text: String,
    /// Its host, without brackets or port.
    pub(crate) host: String,
    /// Whether it is https.
    pub(crate) secure: bool,
}

/// A setting that makes no sense.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigError {
    /// The flag.
    pub flag: &'static str,
    /// What is wrong and what would be right.
    pub reason: String,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.flag, self.reason)
    }
}

impl std::error::Error for ConfigError {}

fn wrong<T>(flag: &'static str, reason: impl Into<String>) -> Result<T, ConfigError> {
    Err(ConfigError { flag, reason: reason.into() })
}

impl RawConfig {
    /// The given places and version, everything else as it is by default.
    pub fn new(
        data_dir: impl Into<PathBuf>,
        opamp_listen: impl Into<String>,
        listen: impl Into<String>,
        version: impl Into<String>,
    ) -> Self {
        Self {
            data_dir: data_dir.into(),
            opamp_listen: opamp_listen.into(),
            listen: listen.into(),
            insecure_http: false,
            public_url: None,
            tls_cert: None,
            tls_key: None,
            trusted_proxies: Vec::new(),
            key_file: None,
            max_message: "16MiB".to_owned(),
            max_agents: 0,
            agent_expiry: "30d".to_owned(),
            rollout_patience: "5m".to_owned(),
            public_metrics: false,
            network_range: String::new(),
            mesh_range: String::new(),
            version: version.into(),
        }
    }

    /// Checks each setting and how they go together.
    pub fn check(self) -> Result<Config, ConfigError> {
        let opamp_listen = address("--opamp-listen", &self.opamp_listen, 4320)?;
        let listen = address("--listen", &self.listen, 5050)?;
        if opamp_listen == listen && listen.port() != 0 {
            return wrong(
                "--opamp-listen",
                format!("{listen} is also --listen; the two need ports of their own"),
            );
        }
        let tls = tls_choice(self.insecure_http, self.tls_cert, self.tls_key)?;
        if tls == TlsChoice::Off {
            for (flag, address) in [("--opamp-listen", opamp_listen), ("--listen", listen)] {
                if !address.ip().to_canonical().is_loopback() {
                    let reason = format!(
                        "is for trials on one machine, but {flag} is {address}: \
                         listen on 127.0.0.1, or leave --insecure-http out (TLS needs no set-up)"
                    );
                    return wrong("--insecure-http", reason);
                }
            }
        }
        let public_url = self.public_url.map(|url| public_url(&url)).transpose()?;
        if let Some(url) = public_url.as_ref().filter(|url| !url.secure && tls != TlsChoice::Off) {
            let reason = format!("{} is http, and this server speaks HTTPS: write https://", url.text);
            return wrong("--public-url", reason);
        }
        Ok(Config {
            key_file: self.key_file.unwrap_or_else(|| self.data_dir.join("master.key")),
            data_dir: self.data_dir,
            opamp_listen,
            listen,
            tls,
            public_url,
            trusted_proxies: TrustedProxies::parse(&self.trusted_proxies)
                .or_else(|reason| wrong("--trusted-proxy", reason))?,
            max_message: max_message(&self.max_message)?,
            max_agents: (self.max_agents > 0).then_some(self.max_agents),
            agent_expiry: duration("--agent-expiry", &self.agent_expiry)?,
            rollout_patience: duration("--rollout-patience", &self.rollout_patience)?,
            public_metrics: self.public_metrics,
            version: self.version,
            ranges: Ranges {
                networks: range("--network-range", &self.network_range, DEFAULT_NETWORK_RANGE, 16)?,
                mesh: range("--mesh-range", &self.mesh_range, DEFAULT_MESH_RANGE, 24)?,
            },
            write_behind: Duration::from_secs(1),
        })
    }
}

/// A block of addresses with at least so many of them that `most` leading bits are the same at most.
fn range(flag: &'static str, text: &str, usual: &str, most: u8) -> Result<Subnet, ConfigError> {
    let text = if text.is_empty() { usual } else { text };
    let subnet: Subnet =
        text.parse().or_else(|error: model::hosting::BadSubnet| wrong(flag, error.to_string()))?;
    if subnet.prefix > most {
        return wrong(flag, format!("{text} is too small, it must be a /{most} or larger"));
    }
    Ok(subnet)
}

impl Config {
    /// Writes changes of agents after this time instead of after a second: for tests.
    #[must_use]
    pub fn with_write_behind(mut self, interval: Duration) -> Self {
        self.write_behind = interval;
        self
    }

    pub(crate) fn database(&self) -> PathBuf {
        self.data_dir.join(DATABASE)
    }

    /// The certificate authority's certificate, for clients.
    pub(crate) fn ca_file(&self) -> PathBuf {
        self.data_dir.join(CA_FILE)
    }

    /// The addresses that are listened on.
    pub(crate) fn addresses(&self) -> [IpAddr; 2] {
        [self.opamp_listen.ip(), self.listen.ip()]
    }
}

/// `port` is the one of the example in the error.
fn address(flag: &'static str, text: &str, port: u16) -> Result<SocketAddr, ConfigError> {
    let text =
        text.strip_prefix("localhost:").map_or_else(|| text.to_owned(), |port| format!("127.0.0.1:{port}"));
    text.parse().or_else(|_| {
        wrong(flag, format!("{text:?} is no address, write it as 0.0.0.0:{port} or [::]:{port}"))
    })
}

fn tls_choice(off: bool, cert: Option<PathBuf>, key: Option<PathBuf>) -> Result<TlsChoice, ConfigError> {
    match (off, cert, key) {
        (true, None, None) => Ok(TlsChoice::Off),
        (true, ..) => wrong("--insecure-http", "does not go with --tls-cert and --tls-key"),
        (false, Some(certificate), Some(key)) => Ok(TlsChoice::Files(CertificateFiles { certificate, key })),
        (false, None, None) => Ok(TlsChoice::Own),
        (false, Some(_), None) => wrong("--tls-cert", "needs --tls-key beside it"),
        (false, None, Some(_)) => wrong("--tls-key", "needs --tls-cert beside it"),
    }
}

pub(crate) fn public_url(text: &str) -> Result<PublicUrl, ConfigError> {
    let flag = "--public-url";
    let trimmed = text.trim_end_matches('/');
    let text = &api::without_user(text);
    let uri: http::Uri = trimmed
        .parse()
        .or_else(|_| wrong(flag, format!("{text:?} is no URL such as https://muster.example.org")))?;
    let secure = match uri.scheme_str() {
        Some("https") => true,
        Some("http") => false,
        _ => return wrong(flag, format!("{text:?} must begin with https:// or http://")),
    };
    let host = uri.host().unwrap_or_default().trim_matches(['[', ']']);
    if host.is_empty() || uri.authority().is_some_and(|authority| authority.as_str().contains('@')) {
        return wrong(flag, format!("{text:?} must name a host, and no user"));
    }
    if !matches!(uri.path(), "" | "/") || uri.query().is_some() {
        return wrong(flag, format!("{text:?} must end after the host and port: a path is not supported"));
    }
    Ok(PublicUrl { text: trimmed.to_owned(), host: host.to_owned(), secure })
}

fn max_message(text: &str) -> Result<MessageLimit, ConfigError> {
    let flag = "--max-message";
    let digits = text.trim_end_matches(|c: char| !c.is_ascii_digit());
    let factor = match text[digits.len()..].trim() {
        "" | "B" => Some(1),
        "KiB" | "K" | "k" => Some(1024),
        "MiB" | "M" | "m" => Some(1024 * 1024),
        _ => None,
    };
    let bytes =
        factor.zip(digits.parse::<usize>().ok()).and_then(|(factor, number)| number.checked_mul(factor));
    let Some(bytes) = bytes else { return wrong(flag, format!("{text:?} is no size, write it as 16MiB")) };
    if bytes < 1024 {
        return wrong(
            flag,
            format!("{text} is too small for any report: 1KiB to {MAX_MESSAGE_CEILING} bytes"),
        );
    }
    MessageLimit::try_new(bytes).or_else(|error| wrong(flag, error.to_string()))
}

/// `90s`, `15m`, `12h`, `30d`; `0`: none.
fn duration(flag: &'static str, text: &str) -> Result<Option<Duration>, ConfigError> {
    match parse_duration(text) {
        Some(Duration::ZERO) => Ok(None),
        Some(duration) => Ok(Some(duration)),
        None => wrong(flag, format!("{text:?} is no duration, write it as 90s, 15m, 12h or 30d")),
    }
}

/// Reads `90s`, `15m`, `12h` or `30d`; a bare number is 0 only.
pub fn parse_duration(text: &str) -> Option<Duration> {
    if text == "0" {
        return Some(Duration::ZERO);
    }
    let unit = text.chars().last()?;
    let number: u64 = text[..text.len() - unit.len_utf8()].parse().ok()?;
    let seconds = match unit {
        's' => 1,
        'm' => 60,
        'h' => 3600,
        'd' => 86_400,
        _ => return None,
    };
    // A century is "for ever" by any other name, and keeps sums of moments in range.
    number.checked_mul(seconds).filter(|seconds| *seconds <= 100 * 366 * 86_400).map(Duration::from_secs)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw() -> RawConfig {
        RawConfig::new("/nowhere", "127.0.0.1:4320", "127.0.0.1:5050", "0")
    }

    #[test]
    fn a_wrong_setting_names_its_flag() {
        type Change = fn(&mut RawConfig);
        let cases: [(&str, Change); 15] = [
            ("--opamp-listen", |raw| raw.opamp_listen = "4320".to_owned()),
            ("--opamp-listen", |raw| raw.opamp_listen = "127.0.0.1:5050".to_owned()),
            ("--listen", |raw| raw.listen = "nowhere:80".to_owned()),
            ("--insecure-http", |raw| (raw.insecure_http, raw.listen) = (true, "0.0.0.0:5050".to_owned())),
            ("--insecure-http", |raw| (raw.insecure_http, raw.tls_cert) = (true, Some("c".into()))),
            ("--tls-cert", |raw| raw.tls_cert = Some("c".into())),
            ("--tls-key", |raw| raw.tls_key = Some("k".into())),
            ("--public-url", |raw| raw.public_url = Some("muster.example.org".to_owned())),
            ("--public-url", |raw| raw.public_url = Some("https://a.example/path".to_owned())),
            ("--trusted-proxy", |raw| raw.trusted_proxies = vec!["10.0.0.0/33".to_owned()]),
            ("--max-message", |raw| raw.max_message = "65MiB".to_owned()),
            ("--max-message", |raw| raw.max_message = "lots".to_owned()),
            ("--max-message", |raw| raw.max_message = "5".to_owned()),
            ("--agent-expiry", |raw| raw.agent_expiry = "a month".to_owned()),
            ("--rollout-patience", |raw| raw.rollout_patience = "long".to_owned()),
        ];
        for (flag, change) in cases {
            let mut raw = raw();
            change(&mut raw);
            let error = raw.check().unwrap_err();
            assert_eq!(error.flag, flag, "{error}");
            assert!(error.to_string().starts_with(&format!("{flag}: ")));
        }
    }

    #[test]
    fn an_error_shows_an_example_that_fits_and_no_password() {
        let mut wrong = raw();
        wrong.listen = "5050".to_owned();
        assert!(wrong.check().unwrap_err().reason.contains("0.0.0.0:5050"));
        for url in
            ["https://me:secret@muster.example.org", "ftp://me:secret@a", "https://me:secret@", "secret@ a"]
        {
            let mut wrong = raw();
            wrong.public_url = Some(url.to_owned());
            let text = wrong.check().unwrap_err().to_string();
            assert!(!text.contains("secret"), "{text}");
        }
    }

    #[test]
    fn what_is_set_is_understood() {
        let config = RawConfig {
            public_url: Some("https://muster.example.org:8443/".to_owned()),
            max_message: "64MiB".to_owned(),
            max_agents: 5,
            agent_expiry: "0".to_owned(),
            insecure_http: true,
            listen: "localhost:0".to_owned(),
            ..raw()
        };
        let config = config.check().unwrap();
        let url = config.public_url.unwrap();
        assert_eq!(
            (url.text.as_str(), url.host.as_str(), url.secure),
            ("https://muster.example.org:8443", "muster.example.org", true)
        );
        assert_eq!(config.max_message.bytes(), 64 << 20);
        assert_eq!((config.max_agents, config.agent_expiry), (Some(5), None));
        assert_eq!(config.key_file, PathBuf::from("/nowhere/master.key"));
    }

    #[test]
    fn durations_have_a_unit() {
        assert_eq!(parse_duration("90s"), Some(Duration::from_secs(90)));
        assert_eq!(parse_duration("30d"), Some(Duration::from_secs(2_592_000)));
        for junk in ["", "s", "1", "1w", "-1d", "1.5h", "99999999999d", "é"] {
            assert_eq!(parse_duration(junk), None, "{junk}");
        }
    }
}
