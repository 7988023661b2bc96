//! How many replicas, where, what comes first, and how one release follows another.

use std::fmt;

use serde::{Deserialize, Serialize};

/// How many replicas.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Scale {
    /// So many at the same time, up to [`super::MAX_REPLICAS`].
    Replicas {
        /// 0: none runs.
        count: u32,
    },
    /// One, and never two at once, not even while it is updated or its host is silent.
    Singleton,
}

impl Scale {
    /// How many replicas.
    pub const fn count(self) -> u32 {
        match self {
            Self::Replicas { count } => count,
            Self::Singleton => 1,
        }
    }
}

/// On which hosts.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Placement {
    /// Only on the host of this name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// Only on hosts that this selector matches: a text that [`crate::Selector::parse`] takes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selector: Option<String>,
    /// Over what replicas are spread; none: the hosts that the project is on come first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spread: Option<Spread>,
    /// What a host must have left.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub reserve: Reservation,
}

/// Over what replicas are spread evenly, as far as hosts can take them. Written as Compose files have it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum Spread {
    /// Over hosts.
    Hosts,
    /// Over the values of this label of hosts.
    Label(String),
}

impl From<String> for Spread {
    fn from(text: String) -> Self {
        if text == HOSTS { Self::Hosts } else { Self::Label(text) }
    }
}

impl From<Spread> for String {
    fn from(spread: Spread) -> Self {
        spread.to_string()
    }
}

impl fmt::Display for Spread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Hosts => f.write_str(HOSTS),
            Self::Label(key) => f.write_str(key),
        }
    }
}

/// What a file says for hosts: no label of that name can be meant.
const HOSTS: &str = "host";

/// What a host must have left for a replica. None: nothing is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Reservation {
    /// Thousandths of a processor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_millis: Option<u64>,
    /// Memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
}

/// How one release follows another: one replica at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Update {
    /// What comes first.
    pub order: Order,
    /// How long a new replica may take until it is ready; none: what its check allows, at least a minute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline_ms: Option<u64>,
}

/// What comes first in an update.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// The new replica starts; when it is ready, the old one stops.
    StartFirst,
    /// The old replica stops, then the new one starts.
    StopFirst,
}

impl Order {
    /// The word in files and in the API.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::StartFirst => "start_first",
            Self::StopFirst => "stop_first",
        }
    }
}

/// A service that comes first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dependency {
    /// Its name in the project.
    pub service: String,
    /// What it must have reached.
    pub condition: Condition,
}

/// What a service that comes first must have reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, PartialOrd, Ord)]
#[serde(rename_all = "snake_case")]
pub enum Condition {
    /// Its replicas run.
    Started,
    /// Its replicas are healthy.
    Healthy,
}
