//! A container as it stands in a list, and networks and volumes by their labels.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use bollard::models::{
    ContainerSummary, ContainerSummaryHealthStatusEnum, ContainerSummaryStateEnum, MountPoint,
};
use host_proto::id::{FileId, HostId};
use host_proto::report::HealthState;
use reconcile::{Container, ContainerState, Listed, OfOther};

use super::{FilePlaces, labels, status};

/// Reads a container of ours. `None` for one that is no replica, whose labels say nothing that is understood, or that has
/// them from one of ours that somebody copied: it is left alone then.
pub(crate) fn container(places: &FilePlaces, summary: ContainerSummary) -> Option<Container> {
    let found = summary.labels.unwrap_or_default();
    let label = |name: &str| found.get(name).map(String::as_str);
    if label(labels::KIND) != Some(labels::REPLICA_KIND) {
        return None;
    }
    // One without this label was made before there was one.
    let is_its_own =
        |name: &String| label(labels::NAME).is_none_or(|own| name.trim_start_matches('/') == own);
    let name = summary.names?.into_iter().find(is_its_own)?;
    let text = summary.status.unwrap_or_default();
    let mounts = summary.mounts.unwrap_or_default();
    let networks = summary.network_settings.and_then(|settings| settings.networks).unwrap_or_default();
    Some(Container {
        id: summary.id?,
        name: name.trim_start_matches('/').to_owned(),
        replica_id: label(labels::REPLICA)?.parse().ok()?,
        service_id: label(labels::SERVICE)?.parse().ok()?,
        release_id: label(labels::RELEASE)?.parse().ok()?,
        title: title(label),
        spec_hash: label(labels::SPEC_HASH)?.to_owned(),
        state: state(summary.state),
        health: match summary.health.and_then(|health| health.status) {
            Some(said) => health(said),
            None => status::health(&text),
        },
        exit_code: status::exit_code(&text),
        image: summary.image_id.unwrap_or_default(),
        networks: networks
            .into_iter()
            .map(|(name, end)| (name, end.ip_address.and_then(|ip| ip.parse().ok())))
            .collect(),
        volumes: volumes(&mounts),
        files: mounts.iter().filter_map(|mount| places.file_at(mount.source.as_deref()?)).collect(),
        details: None,
    })
}

fn title<'a>(label: impl Fn(&str) -> Option<&'a str>) -> String {
    let part = |name| label(name).unwrap_or("?");
    format!("{}/{}-{}", part(labels::PROJECT), part(labels::SERVICE_NAME), part(labels::NUMBER))
}

fn volumes(mounts: &[MountPoint]) -> BTreeSet<String> {
    let volumes = mounts.iter().filter(|mount| mount.typ.as_deref() == Some("volume"));
    volumes.filter_map(|mount| mount.name.clone()).collect()
}

fn state(said: Option<ContainerSummaryStateEnum>) -> ContainerState {
    match said {
        Some(ContainerSummaryStateEnum::CREATED) => ContainerState::Created,
        // One that is being stopped still runs.
        Some(ContainerSummaryStateEnum::RUNNING | ContainerSummaryStateEnum::STOPPING) => {
            ContainerState::Running
        }
        Some(ContainerSummaryStateEnum::PAUSED) => ContainerState::Paused,
        Some(ContainerSummaryStateEnum::RESTARTING) => ContainerState::Restarting,
        Some(ContainerSummaryStateEnum::REMOVING) => ContainerState::Removing,
        Some(ContainerSummaryStateEnum::EXITED) => ContainerState::Exited,
        Some(ContainerSummaryStateEnum::DEAD) => ContainerState::Dead,
        Some(ContainerSummaryStateEnum::EMPTY) | None => ContainerState::Unknown,
    }
}

fn health(said: ContainerSummaryHealthStatusEnum) -> HealthState {
    match said {
        ContainerSummaryHealthStatusEnum::STARTING => HealthState::Starting,
        ContainerSummaryHealthStatusEnum::HEALTHY => HealthState::Healthy,
        ContainerSummaryHealthStatusEnum::UNHEALTHY => HealthState::Unhealthy,
        ContainerSummaryHealthStatusEnum::NONE | ContainerSummaryHealthStatusEnum::EMPTY => HealthState::None,
    }
}

/// Whether an object with these labels is one of ours.
pub(crate) fn is_ours(host: &HostId, id_label: &str, found: &HashMap<String, String>) -> bool {
    found.get(labels::HOST).map(String::as_str) == Some(host.as_str()) && found.contains_key(id_label)
}

/// Sorts named objects into ours, by the label that holds the identifier, and others.
pub(crate) fn listed(
    host: &HostId,
    id_label: &str,
    objects: impl IntoIterator<Item = (String, HashMap<String, String>)>,
) -> Listed {
    let mut ours = BTreeMap::new();
    let mut foreign = BTreeSet::new();
    let mut of_others = Vec::new();
    for (name, mut found) in objects {
        let owner = found.remove(labels::HOST);
        match (found.remove(id_label), owner) {
            (Some(id), Some(owner)) if owner == host.as_str() => {
                ours.insert(id, name);
            }
            (id, owner) => {
                let owner = owner.and_then(|owner| owner.parse().ok());
                of_others.extend(id.zip(owner).map(|(id, host)| OfOther { id, name: name.clone(), host }));
                foreign.insert(name);
            }
        }
    }
    of_others.sort_by(|one, other| one.name.cmp(&other.name));
    Listed { ours, foreign, of_others }
}

impl FilePlaces {
    /// Which file of ours lies at a path, by the path alone.
    pub(crate) fn file_at(&self, path: &str) -> Option<FileId> {
        let path = std::path::Path::new(path);
        let folder = path.parent()?;
        let ours = folder == self.files || folder == self.secrets;
        path.file_name()?.to_str().filter(|_| ours)?.parse().ok()
    }
}
