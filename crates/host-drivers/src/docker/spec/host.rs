//! What a container may use and see of its host.

use std::collections::{BTreeMap, HashMap};
use std::path::{Component, Path, PathBuf};

use bollard::models::{
    HostConfig, HostConfigLogConfig, Mount, MountBindOptions, MountBindOptionsPropagationEnum,
    MountTmpfsOptions, MountType, ResourcesUlimits, RestartPolicy, RestartPolicyNameEnum,
};
use host_proto::DesiredState;
use host_proto::desired::{self, MountSource, ReplicaSpec, Resources, Volume, VolumeKind};

use super::{Networks, signed};
use crate::docker::EngineOptions;

/// What the engine is told about resources, mounts and rights.
pub(super) fn config(
    options: &EngineOptions,
    desired: &DesiredState,
    spec: &ReplicaSpec,
    networks: &Networks<'_>,
) -> Result<HostConfig, String> {
    let mounts = spec.mounts.iter().map(|one| mount(options, desired, one)).collect::<Result<Vec<_>, _>>()?;
    let security = &spec.security;
    let names = Names::of(desired, networks);
    let network_mode =
        networks.first().map_or_else(|| "none".to_owned(), |(network, _)| network.name.clone());
    Ok(HostConfig {
        network_mode: Some(network_mode),
        mounts: Some(mounts),
        restart_policy: Some(restart(&spec.restart)),
        log_config: Some(log(&spec.logging)),
        init: Some(spec.init),
        dns: names.servers,
        dns_search: names.search,
        extra_hosts: listed(&spec.extra_hosts),
        cap_add: listed(&security.cap_add),
        cap_drop: listed(&security.cap_drop),
        readonly_rootfs: Some(security.read_only_root),
        security_opt: security.no_new_privileges.then(|| vec!["no-new-privileges".to_owned()]),
        sysctls: (!security.sysctls.is_empty()).then(|| security.sysctls.clone().into_iter().collect()),
        ..resources(&spec.resources)
    })
}

fn listed(texts: &[String]) -> Option<Vec<String>> {
    (!texts.is_empty()).then(|| texts.to_vec())
}

fn resources(resources: &Resources) -> HostConfig {
    let ulimits = resources.ulimits.iter().map(|(name, limit)| ResourcesUlimits {
        name: Some(name.clone()),
        soft: Some(limit.soft),
        hard: Some(limit.hard),
    });
    HostConfig {
        // The engine counts in billionths of a processor.
        nano_cpus: resources.cpu_millis.map(|millis| signed(millis.saturating_mul(1_000_000))),
        memory: resources.memory_bytes.map(signed),
        memory_swap: resources.memory_swap_bytes.map(signed),
        memory_reservation: resources.memory_reserved_bytes.map(signed),
        pids_limit: resources.pids.map(signed),
        shm_size: resources.shm_bytes.map(signed),
        ulimits: (!resources.ulimits.is_empty()).then(|| ulimits.collect()),
        ..HostConfig::default()
    }
}

/// Whom a container asks for names: the gateways of its networks, where the host answers (R57).
struct Names {
    servers: Option<Vec<String>>,
    search: Option<Vec<String>>,
}

impl Names {
    fn of(desired: &DesiredState, networks: &Networks<'_>) -> Self {
        let answered: Vec<_> = networks.iter().filter(|(network, _)| network.internal_dns).collect();
        let servers: Vec<String> = answered.iter().map(|(network, _)| network.gateway.to_string()).collect();
        let mut search: Vec<String> = answered
            .iter()
            .map(|(network, _)| format!("{}.{}", network.project, desired.dns.domain))
            .collect();
        search.dedup();
        Self {
            servers: (!servers.is_empty()).then_some(servers),
            search: (!search.is_empty()).then_some(search),
        }
    }
}

fn restart(restart: &desired::Restart) -> RestartPolicy {
    let name = match restart.policy {
        desired::RestartPolicy::UnlessStopped | desired::RestartPolicy::Unknown => {
            RestartPolicyNameEnum::UNLESS_STOPPED
        }
        desired::RestartPolicy::OnFailure => RestartPolicyNameEnum::ON_FAILURE,
        desired::RestartPolicy::No => RestartPolicyNameEnum::NO,
    };
    let counts = name == RestartPolicyNameEnum::ON_FAILURE;
    let maximum_retry_count = restart.max_retries.filter(|_| counts).map(i64::from);
    RestartPolicy { name: Some(name), maximum_retry_count }
}

/// The `local` driver with our limits (R45): bounded, quick, and its files are nobody's business.
fn log(logging: &desired::Logging) -> HostConfigLogConfig {
    let files = logging.max_files.max(1);
    // The engine refuses to compress when there is no older file.
    let compress = files > 1;
    let config = HashMap::from([
        ("max-size".to_owned(), logging.max_size_bytes.max(1).to_string()),
        ("max-file".to_owned(), files.to_string()),
        ("compress".to_owned(), compress.to_string()),
    ]);
    HostConfigLogConfig { typ: Some("local".to_owned()), config: Some(config) }
}

fn mount(options: &EngineOptions, desired: &DesiredState, mount: &desired::Mount) -> Result<Mount, String> {
    let base =
        Mount { target: Some(mount.target.clone()), read_only: Some(mount.read_only), ..Mount::default() };
    Ok(match &mount.source {
        MountSource::Volume { volume_id } => {
            let volume =
                desired.volume(volume_id).ok_or_else(|| format!("there is no volume {volume_id}"))?;
            // Again at each container: what a path leads to may be another thing than when the volume was made.
            volume_options(options, volume)?;
            Mount { typ: Some(MountType::VOLUME), source: Some(volume.name.clone()), ..base }
        }
        MountSource::File { file_id } => {
            let file = desired.file(file_id).ok_or_else(|| format!("there is no file {file_id}"))?;
            let place = options.files.of(file).to_string_lossy().into_owned();
            Mount { read_only: Some(true), ..bind(base, place) }
        }
        MountSource::Tmpfs { size_bytes } => {
            let tmpfs =
                MountTmpfsOptions { size_bytes: size_bytes.map(signed), ..MountTmpfsOptions::default() };
            Mount { typ: Some(MountType::TMPFS), tmpfs_options: Some(tmpfs), ..base }
        }
        MountSource::HostPath { path } => bind(base, allowed_path(&options.allow_host_paths, path)?),
    })
}

/// A path of the host, without the mounts below it coming or going later.
fn bind(base: Mount, source: String) -> Mount {
    let private = MountBindOptions {
        propagation: Some(MountBindOptionsPropagationEnum::RPRIVATE),
        ..MountBindOptions::default()
    };
    Mount { typ: Some(MountType::BIND), source: Some(source), bind_options: Some(private), ..base }
}

/// The options of a volume as the engine is given them: a path of the host is what it leads to, and has to be allowed.
pub(in crate::docker) fn volume_options(
    options: &EngineOptions,
    volume: &Volume,
) -> Result<BTreeMap<String, String>, String> {
    let mut given = volume.options.clone();
    match volume.kind() {
        VolumeKind::HostPath(path) => {
            given.insert("device".to_owned(), allowed_path(&options.allow_host_paths, path)?);
        }
        VolumeKind::Refused(why) => return Err(format!("the volume {}: {why}", volume.name)),
        VolumeKind::Directory | VolumeKind::Memory | VolumeKind::Remote => {}
    }
    Ok(given)
}

/// Where a path leads, if that lies at or below one that is allowed. Links are followed first: whoever may write below an
/// allowed path can make one to anywhere.
fn allowed_path(allowed: &[PathBuf], path: &str) -> Result<String, String> {
    let refused =
        || format!("the agent of this host does not let services mount {path}: see its --allow-host-path");
    let plain = |path: &Path| {
        path.is_absolute() && path.components().all(|part| !matches!(part, Component::ParentDir))
    };
    let below = |path: &Path, root: &PathBuf| plain(path) && path.starts_with(root);
    if !allowed.iter().any(|root| below(Path::new(path), root)) {
        return Err(refused());
    }
    let real = std::fs::canonicalize(path).map_err(|error| format!("{path} on this host: {error}"))?;
    let roots = allowed.iter().filter_map(|root| std::fs::canonicalize(root).ok());
    if !roots.into_iter().any(|root| real.starts_with(root)) {
        return Err(refused());
    }
    real.into_os_string().into_string().map_err(|_| format!("{path} leads to a name that is no text"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn host_paths_are_mounted_only_below_what_the_operator_allows_and_by_where_they_lead() {
        let folder = tempfile::tempdir().unwrap();
        let at = |path: &str| folder.path().join(path).to_string_lossy().into_owned();
        for path in ["data/app", "database"] {
            std::fs::create_dir_all(at(path)).unwrap();
        }
        let link = |to: &str, path: &str| std::os::unix::fs::symlink(to, at(path)).unwrap();
        link("/etc", "data/out");
        link("app", "data/in");
        link(&at("data"), "other-name");
        let allowed = [PathBuf::from(at("data"))];
        for (path, leads_to) in [
            ("data", Some("data")),
            ("data/app", Some("data/app")),
            ("data/in", Some("data/app")),
            ("data/out", None),
            ("data/out/passwd", None),
            ("database", None),
            ("data/../database", None),
            ("other-name", None),
            ("data/nothing", None),
        ] {
            assert_eq!(allowed_path(&allowed, &at(path)).ok(), leads_to.map(at), "{path}");
        }
        assert!(allowed_path(&allowed, "data").is_err() && allowed_path(&allowed, "/").is_err());
        assert_eq!(allowed_path(&[at("other-name").into()], &at("other-name/app")).unwrap(), at("data/app"));
        assert!(allowed_path(&[], &at("data")).is_err());
    }
}
