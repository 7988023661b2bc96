//! What the services of a project share: networks and volumes. Secrets and configurations are named by mounts and
//! kept by whoever stores them.

use std::collections::BTreeMap;

use host_proto::desired::{VolumeKind, volume_kind};
use serde::{Deserialize, Serialize};

/// A network of a project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetworkSpec {
    /// Its name in the project.
    pub name: String,
    /// Whether nothing outside of it is reached from it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub internal: bool,
}

/// A volume of a project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VolumeSpec {
    /// Its name in the project.
    pub name: String,
    /// Options of the engine's local driver; empty: a directory of the engine.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub options: BTreeMap<String, String>,
}

impl VolumeSpec {
    /// What its options make of it. A path of the host must be allowed by that host.
    pub fn kind(&self) -> VolumeKind<'_> {
        volume_kind(&self.options)
    }
}
