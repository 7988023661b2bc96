//! What simulated hosts say: who they are when they join and connect, and that every replica runs.

use host_proto::{
    Secret,
    desired::ReplicaSpec,
    join::JoinRequest,
    message::{AgentBuild, Disk, DockerFacts, Facts, Foreign, Hello, Identity, ProtocolVersion},
    report::{HealthState, ReplicaReport, ReplicaState},
};

/// A moment, where only its length counts.
pub(super) const NOW: &str = "2026-01-01T00:00:00Z";

/// The request of the machine of this name.
pub(super) fn join(name: &str, token: &str) -> JoinRequest {
    JoinRequest {
        join_token: Secret::new(token),
        machine_id: format!("machine-of-{name}"),
        instance_id: format!("instance-of-{name}"),
        wg_public_key: format!("key-of-{name}"),
        wg_endpoints: Vec::new(),
        facts: facts(name),
        requested_name: None,
    }
}

/// Its first message on a connection; the session fills in what it knows better.
pub(super) fn hello(name: &str) -> Hello {
    Hello {
        protocol: ProtocolVersion::CURRENT,
        features: vec!["logs".to_owned()],
        agent: AgentBuild {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            arch: "x86_64".to_owned(),
            os: "linux".to_owned(),
            started_at: NOW.to_owned(),
        },
        identity: Identity {
            machine_id: format!("machine-of-{name}"),
            instance_id: format!("instance-of-{name}"),
            boot_id: format!("boot-of-{name}"),
            wg_public_key: format!("key-of-{name}"),
            session_secret_prev: None,
        },
        time_at: NOW.to_owned(),
        facts: facts(name),
        epoch: None,
        generation: 0,
        section_hashes: Default::default(),
        from_cache: false,
        cache_age_ms: None,
        replicas: Vec::new(),
        replicas_known: true,
        foreign: Foreign { containers: 1, networks: 3, ports: vec![22], blocks: Vec::new() },
    }
}

/// About as much as a small machine has to say.
fn facts(name: &str) -> Facts {
    let disk = |mount: &str| Disk {
        mount: mount.to_owned(),
        total_bytes: 40 << 30,
        free_bytes: 20 << 30,
        fs: "ext4".to_owned(),
    };
    Facts {
        hostname: name.to_owned(),
        kernel: "6.1.0-28-amd64".to_owned(),
        arch: "x86_64".to_owned(),
        os_release: "Debian GNU/Linux 12 (bookworm)".to_owned(),
        cpu_count: 2,
        memory_bytes: 8 << 30,
        disk: vec![disk("/"), disk("/var/lib/docker")],
        docker: Some(DockerFacts {
            version: "28.5.2".to_owned(),
            api_min: "1.24".to_owned(),
            api_max: "1.51".to_owned(),
            api: "1.51".to_owned(),
            storage_driver: "overlay2".to_owned(),
            firewall_backend: "iptables".to_owned(),
            cgroup_version: "2".to_owned(),
            live_restore: true,
            root_dir: "/var/lib/docker".to_owned(),
        }),
        virtualization: "kvm".to_owned(),
        ..Facts::default()
    }
}

/// The report of a replica that works.
pub(super) fn running(spec: &ReplicaSpec) -> ReplicaReport {
    ReplicaReport {
        replica_id: spec.replica_id.clone(),
        service_id: spec.service_id.clone(),
        release_id: spec.release_id.clone(),
        spec_hash: spec.spec_hash.clone(),
        container_id: Some("c0ffee".repeat(10)),
        state: ReplicaState::Running,
        health: HealthState::None,
        started_at: Some(NOW.to_owned()),
        exit_code: None,
        oom_killed: false,
        restarts: 0,
        ip: spec.networks.first().map(|network| network.ip.into()),
        image_digest: None,
        last_error: None,
        last_log_lines: Vec::new(),
        held_reason: None,
    }
}
