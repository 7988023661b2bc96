//! Connecting, with the API version settled anew each time (R36): an engine may have been replaced by another one.

use std::fmt;
use std::str::FromStr;
use std::sync::Mutex;
use std::time::Duration;

use bollard::{API_DEFAULT_VERSION, BollardRequest, Docker};
use host_proto::message::DockerFacts;
use reconcile::{Trouble, TroubleKind};

use super::trouble::within;
use super::{Engine, EngineOptions};

/// For an answer about the engine itself.
const QUICK: Duration = Duration::from_secs(10);
/// Longest wait of the library for the head of an answer. Our own limits, which differ by call, are shorter.
const LIBRARY_LIMIT_S: u64 = 3600;

/// A version of the engine's API.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ApiVersion {
    /// As in 1.41.
    pub major: u16,
    /// As in 1.41.
    pub minor: u16,
}

impl ApiVersion {
    /// The oldest that has all that is needed: Docker 20.10.
    pub const OLDEST: Self = Self { major: 1, minor: 41 };
    /// The newest whose changes were read.
    pub const NEWEST: Self = Self { major: 1, minor: 52 };
    /// Which network is a container's way out can be said; direct routing is refused unless it is allowed.
    pub(crate) const GATEWAY_PRIORITY: Self = Self { major: 1, minor: 48 };
    /// Interfaces can be named that direct routing is allowed from.
    pub(crate) const TRUSTED_INTERFACES: Self = Self { major: 1, minor: 50 };

    /// The version to speak with an engine that knows these, or why there is none.
    fn settle(oldest: Self, newest: Self) -> Result<Self, String> {
        let chosen = newest.min(Self::NEWEST);
        if newest < Self::OLDEST {
            Err(format!(
                "the engine speaks API {newest}; {} (Docker 20.10) is the oldest that works",
                Self::OLDEST
            ))
        } else if oldest > chosen {
            Err(format!(
                "the engine wants API {oldest} or newer; this version of Muster knows up to {}",
                Self::NEWEST
            ))
        } else {
            Ok(chosen)
        }
    }
}

impl fmt::Display for ApiVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

impl FromStr for ApiVersion {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let bad = || format!("`{text}` is not a version of an engine's API");
        let (major, minor) = text.split_once('.').ok_or_else(bad)?;
        let (major, minor) = (major.parse().map_err(|_| bad())?, minor.parse().map_err(|_| bad())?);
        Ok(Self { major, minor })
    }
}

/// What an engine says of itself.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct EngineInfo {
    /// For `hello`.
    pub facts: DockerFacts,
    /// Containers, foreign ones too.
    pub containers: u64,
}

impl Engine {
    /// Connects and settles the version.
    ///
    /// # Errors
    ///
    /// [`TroubleKind::Unavailable`] while nothing answers, [`TroubleKind::Refused`] when there is no common version.
    pub async fn connect(options: EngineOptions) -> Result<Self, Trouble> {
        let socket = options.socket.to_string_lossy().into_owned();
        let docker = Docker::connect_with_unix(&socket, LIBRARY_LIMIT_S, API_DEFAULT_VERSION)
            .map_err(|error| super::trouble::of("connect", error))?;
        // Without a version in the path every engine answers this one.
        let version = within(QUICK, "version", docker.version()).await?;
        let newest = version.api_version.unwrap_or_default();
        let oldest = version.min_api_version.unwrap_or_else(|| newest.clone());
        let api = oldest
            .parse()
            .and_then(|oldest| ApiVersion::settle(oldest, newest.parse()?))
            .map_err(|text| Trouble { text, kind: TroubleKind::Refused })?;
        let docker = docker.with_request_modifier(move |request| versioned(request, api));
        Ok(Self { docker, api, options, images: Mutex::default(), started: Mutex::default() })
    }

    /// Asks the engine about itself.
    pub async fn info(&self) -> Result<EngineInfo, Trouble> {
        let version = within(QUICK, "version", self.docker.version()).await?;
        let info = within(QUICK, "info", self.docker.info()).await?;
        let cgroup = info.cgroup_version.map(|version| version.to_string()).unwrap_or_default();
        let facts = DockerFacts {
            version: version.version.unwrap_or_default(),
            api_min: version.min_api_version.unwrap_or_default(),
            api_max: version.api_version.unwrap_or_default(),
            api: self.api.to_string(),
            storage_driver: info.driver.unwrap_or_default(),
            firewall_backend: info
                .firewall_backend
                .and_then(|backend| backend.driver)
                .unwrap_or_else(|| "iptables".to_owned()),
            cgroup_version: cgroup,
            live_restore: info.live_restore_enabled.unwrap_or_default(),
            root_dir: info.docker_root_dir.unwrap_or_default(),
        };
        let containers = info.containers.and_then(|count| u64::try_from(count).ok()).unwrap_or_default();
        Ok(EngineInfo { facts, containers })
    }
}

/// Puts the version into the path. The library leaves it out, and without it the engine's own default decides how it
/// behaves.
fn versioned(mut request: BollardRequest, api: ApiVersion) -> BollardRequest {
    let mut parts = request.uri().clone().into_parts();
    let path = parts.path_and_query.as_ref().map_or("/", |path| path.as_str());
    if path.starts_with("/v1.") {
        return request;
    }
    let Ok(path) = format!("/v{api}{path}").parse() else { return request };
    parts.path_and_query = Some(path);
    if let Ok(uri) = parts.try_into() {
        *request.uri_mut() = uri;
    }
    request
}

#[cfg(test)]
mod tests {
    use super::*;

    fn api(text: &str) -> ApiVersion {
        text.parse().unwrap()
    }

    #[test]
    fn r36_the_newest_common_version_is_spoken() {
        assert_eq!(ApiVersion::settle(api("1.12"), api("1.41")), Ok(api("1.41")));
        assert_eq!(ApiVersion::settle(api("1.44"), api("1.51")), Ok(api("1.51")));
        assert_eq!(ApiVersion::settle(api("1.44"), api("1.99")), Ok(ApiVersion::NEWEST));
        assert!(ApiVersion::settle(api("1.12"), api("1.40")).unwrap_err().contains("1.41"));
        assert!(ApiVersion::settle(api("1.90"), api("1.99")).unwrap_err().contains("1.90"));
        assert!("1".parse::<ApiVersion>().is_err());
    }
}
