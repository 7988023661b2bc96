//! A replica as its host gets it.

use std::collections::BTreeMap;

use host_proto::desired as wire;
use host_proto::id::{FileId, VolumeId};
use host_proto::secret::Secret;
use model::hosting::{FileKind, Host, Phase, ProjectWorld, Release, Replica, Service};
use model::service::{Check, FileAccess, HostAddress, MountSource, Order, Pull, Restart, Scale, ServiceSpec};

use crate::hash::spec_hash;

/// A replica, and the files that it sees.
pub(super) struct Built {
    pub(super) spec: wire::ReplicaSpec,
    pub(super) files: Vec<FileUse>,
}

/// A file with the owner and permissions that a mount asks for: another file on the host for each combination.
pub(super) struct FileUse {
    pub(super) id: FileId,
    pub(super) file: FileId,
    pub(super) access: FileAccess,
}

pub(super) fn replica(
    project: &ProjectWorld,
    service: &Service,
    release: &Release,
    replica: &Replica,
    host: &Host,
) -> Built {
    let ServiceSpec { container, scale, update, .. } = &release.spec;
    let networks: Vec<wire::Attachment> = replica
        .addresses
        .iter()
        .map(|it| wire::Attachment { network_id: it.network_id.clone(), ip: it.ip, aliases: Vec::new() })
        .collect();
    let mut files = Vec::new();
    let mounts = container
        .mounts
        .iter()
        .map(|mount| {
            let source = source(project, release, &mount.source, host, &mut files);
            let read_only = mount.read_only || matches!(source, wire::MountSource::File { .. });
            wire::Mount { source, target: mount.target.clone(), read_only }
        })
        .collect();
    let spec = wire::ReplicaSpec {
        replica_id: replica.id.clone(),
        service_id: replica.service_id.clone(),
        release_id: replica.release_id.clone(),
        project: project.project.name.clone(),
        service: service.name.clone(),
        number: replica.number,
        name: super::container_name(&project.project.name, &service.name, replica.number, &replica.id),
        spec_hash: spec_hash(&release.container_hash, replica.addresses.iter().map(|it| &it.network_id)),
        desired: match replica.phase {
            Phase::Preparing => wire::DesiredRun::Stopped,
            Phase::Starting | Phase::Serving | Phase::Draining | Phase::Removing => wire::DesiredRun::Running,
        },
        kind: match scale {
            Scale::Singleton => wire::Kind::Singleton,
            Scale::Replicas { .. } => wire::Kind::Service,
        },
        image: wire::Image {
            reference: container.image.to_string(),
            digest: container.image.digest().map(str::to_owned),
            pull: match container.pull {
                Pull::Missing => wire::Pull::Missing,
                Pull::Always => wire::Pull::Always,
            },
        },
        command: container.command.clone(),
        entrypoint: container.entrypoint.clone(),
        workdir: container.working_dir.clone(),
        user: container.user.clone(),
        hostname: container.hostname.clone(),
        env: container.env.iter().map(|(name, value)| (name.clone(), Secret::new(value.as_str()))).collect(),
        mounts,
        networks,
        extra_hosts: extra_hosts(release, replica, project),
        resources: resources(&release.spec),
        restart: restart(container.restart),
        health: health(&release.spec),
        stop: wire::Stop { signal: container.stop.signal.clone(), grace_ms: container.stop.grace_ms },
        update_order: match update.order {
            Order::StartFirst => wire::UpdateOrder::StartFirst,
            Order::StopFirst => wire::UpdateOrder::StopFirst,
        },
        labels: container.labels.clone(),
        logging: logging(&release.spec),
        security: security(&release.spec),
        init: container.init,
        depends_on: Vec::new(),
    };
    Built { spec, files }
}

/// A mount whose source is nowhere names one that the state does not list, and its host refuses to make the replica:
/// without the mount it would keep its data where it is lost.
fn source(
    project: &ProjectWorld,
    release: &Release,
    source: &MountSource,
    host: &Host,
    files: &mut Vec<FileUse>,
) -> wire::MountSource {
    match source {
        MountSource::Volume { volume, .. } => {
            let here = |it: &&model::hosting::VolumePlace| it.spec.name == *volume && it.host_id == host.id;
            // One that goes with all that is in it is nobody's any more while there is another.
            let place = project.volumes.iter().filter(here).min_by_key(|it| it.doomed);
            let nowhere = || VolumeId::generate(0, [0; 10]);
            wire::MountSource::Volume { volume_id: place.map_or_else(nowhere, |it| it.id.clone()) }
        }
        MountSource::HostPath { path, .. } => wire::MountSource::HostPath { path: path.clone() },
        MountSource::Tmpfs { size_bytes, .. } => wire::MountSource::Tmpfs { size_bytes: *size_bytes },
        MountSource::Secret { secret, access } => file(release, FileKind::Secret, secret, *access, files),
        MountSource::Config { config, access } => file(release, FileKind::Config, config, *access, files),
    }
}

fn file(
    release: &Release,
    kind: FileKind,
    name: &str,
    access: FileAccess,
    files: &mut Vec<FileUse>,
) -> wire::MountSource {
    let FileAccess { uid, gid, mode } = access;
    let known = release.files.get(&(kind, name.to_owned())).and_then(|file| {
        let id: FileId = format!("{file}-{uid}-{gid}-{mode:o}").parse().ok()?;
        Some((id, file.clone()))
    });
    let Some((id, file)) = known else {
        return wire::MountSource::File { file_id: FileId::generate(0, [0; 10]) };
    };
    files.push(FileUse { id: id.clone(), file, access });
    wire::MountSource::File { file_id: id }
}

fn extra_hosts(release: &Release, replica: &Replica, project: &ProjectWorld) -> Vec<String> {
    let first = replica.addresses.first();
    let place = first.and_then(|it| project.networks.iter().find(|place| place.id == it.network_id));
    let hosts = release.spec.container.extra_hosts.iter().filter_map(|host| {
        let ip = match &host.address {
            HostAddress::Ip(ip) => ip.to_string(),
            HostAddress::Gateway => place?.subnet.gateway().to_string(),
        };
        Some(format!("{}:{ip}", host.name))
    });
    hosts.collect()
}

fn resources(spec: &ServiceSpec) -> wire::Resources {
    let its = &spec.container.resources;
    let limit = |(name, limit): (&String, &model::service::Ulimit)| {
        (name.clone(), wire::Ulimit { soft: limit.soft, hard: limit.hard })
    };
    wire::Resources {
        cpu_millis: its.cpu_millis,
        memory_bytes: its.memory_bytes,
        memory_swap_bytes: its.memory_swap_bytes,
        memory_reserved_bytes: spec.placement.reserve.memory_bytes,
        pids: its.pids.map(u64::from),
        shm_bytes: its.shm_bytes,
        ulimits: spec.container.ulimits.iter().map(limit).collect::<BTreeMap<_, _>>(),
    }
}

fn restart(restart: Restart) -> wire::Restart {
    match restart {
        Restart::Always => wire::Restart { policy: wire::RestartPolicy::UnlessStopped, max_retries: None },
        Restart::OnFailure { max_retries } => {
            wire::Restart { policy: wire::RestartPolicy::OnFailure, max_retries }
        }
        Restart::Never => wire::Restart { policy: wire::RestartPolicy::No, max_retries: None },
    }
}

fn health(spec: &ServiceSpec) -> wire::Health {
    let Some(health) = &spec.container.health else { return wire::Health::default() };
    wire::Health {
        check: match &health.check {
            Check::None => wire::HealthCheck::Disabled,
            // Engines want to be told that it is a program and no line for a shell.
            Check::Exec { command } => wire::HealthCheck::Exec {
                command: std::iter::once("CMD".to_owned()).chain(command.iter().cloned()).collect(),
            },
            Check::Http { port, path, expect, .. } => {
                wire::HealthCheck::Http { path: path.clone(), port: *port, expect: expect.clone() }
            }
            Check::Tcp { port } => wire::HealthCheck::Tcp { port: *port },
        },
        interval_ms: health.interval_ms,
        timeout_ms: health.timeout_ms,
        start_period_ms: health.start_period_ms,
        retries: health.retries,
        success_threshold: health.success_threshold,
    }
}

fn logging(spec: &ServiceSpec) -> wire::Logging {
    let usual = wire::Logging::default();
    let its = &spec.container.logging;
    wire::Logging {
        max_size_bytes: its.max_size_bytes.unwrap_or(usual.max_size_bytes),
        max_files: its.max_files.unwrap_or(usual.max_files),
    }
}

fn security(spec: &ServiceSpec) -> wire::Security {
    let its = &spec.container.security;
    wire::Security {
        cap_add: its.cap_add.iter().cloned().collect(),
        cap_drop: its.cap_drop.iter().cloned().collect(),
        read_only_root: its.read_only_root,
        no_new_privileges: its.no_new_privileges,
        sysctls: its.sysctls.clone(),
    }
}
