//! What Compose knows and Muster does not run, with the reason and what to do instead. A key that is in no table and
//! read by no module is not known at all.

/// What is said of a key that is not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Said {
    /// The file is refused.
    Refused(&'static str),
    /// Nothing is lost by leaving it out; the text says so.
    Harmless(&'static str),
    /// Nothing needs to be said.
    Fine,
}

use Said::{Fine, Harmless, Refused};

type Table = &'static [(&'static str, Said)];

const HOST_NAMESPACE: &str = "shares a namespace of the host with the container, which would take down the wall between \
                              the services; leave it out";
const HOST_DEVICE: &str = "devices of the host are not given to containers";
const PROCESSOR: &str = "only cpus: is supported for processors";
const NAMES: &str = "names come from Muster's own resolver; leave it out";
const ADDRESSES: &str = "addresses are given by Muster; leave it out and use names";
const HOOK: &str = "hooks are not supported; make it a part of the image's entrypoint";
const CGROUP: &str = "containers stay in the groups that the engine makes; leave it out";

/// Keys of a service that Muster does not run.
pub(super) const SERVICE: Table = &[
    ("annotations", Harmless("annotations are not kept; use labels")),
    ("attach", Fine),
    ("blkio_config", Refused("limits of disks are not supported; leave it out")),
    ("cgroup", Refused(HOST_NAMESPACE)),
    ("cgroup_parent", Refused(CGROUP)),
    ("cpu_count", Refused(PROCESSOR)),
    ("cpu_percent", Refused(PROCESSOR)),
    ("cpu_period", Refused(PROCESSOR)),
    ("cpu_quota", Refused(PROCESSOR)),
    ("cpu_rt_period", Refused(PROCESSOR)),
    ("cpu_rt_runtime", Refused(PROCESSOR)),
    ("cpu_shares", Refused(PROCESSOR)),
    ("cpuset", Refused(PROCESSOR)),
    ("credential_spec", Refused("is for Windows; hosts run Linux")),
    ("develop", Harmless("is for a developer's machine and does nothing here")),
    ("device_cgroup_rules", Refused(HOST_DEVICE)),
    ("devices", Refused(HOST_DEVICE)),
    ("dns", Refused(NAMES)),
    ("dns_opt", Refused(NAMES)),
    ("dns_search", Refused(NAMES)),
    ("domainname", Refused(NAMES)),
    ("external_links", Refused("containers outside of the project are not reached; publish a port instead")),
    ("gpus", Refused("graphics processors come later")),
    (
        "group_add",
        Refused("further groups are not supported; give user: a user and a group, such as \"1000:1000\""),
    ),
    ("ipc", Refused(HOST_NAMESPACE)),
    ("isolation", Refused("is for Windows; hosts run Linux")),
    ("label_file", Refused("files with labels are not read; write the labels under labels:")),
    ("mac_address", Refused(ADDRESSES)),
    ("mem_swappiness", Refused("is not supported; use mem_limit and memswap_limit")),
    ("models", Refused("models are not supported")),
    (
        "network_mode",
        Refused(
            "a service is on the networks of its project, with the ports that ports: publishes; use networks: and ports:",
        ),
    ),
    (
        "oom_kill_disable",
        Refused("a container without memory is ended, or the host would be; raise mem_limit instead"),
    ),
    ("oom_score_adj", Refused("is not supported; leave it out")),
    ("pid", Refused(HOST_NAMESPACE)),
    (
        "platform",
        Refused(
            "an image is taken for its host's own platform; choose hosts by x-muster.placement.selector instead",
        ),
    ),
    ("post_start", Refused(HOOK)),
    ("pre_stop", Refused(HOOK)),
    ("privileged", Refused("would give the container the host; add what it needs under cap_add:")),
    ("provider", Refused("services of other providers are not supported")),
    ("runtime", Refused("containers run in the engine's own runtime; leave it out")),
    ("stdin_open", Harmless("nothing is attached to its input, which stays empty")),
    ("storage_opt", Refused("is not supported; leave it out")),
    ("tty", Harmless("there is no terminal; output is kept as plain lines")),
    ("use_api_socket", Refused("would give the container the engine, and with it the host")),
    ("userns_mode", Refused(HOST_NAMESPACE)),
    ("uts", Refused(HOST_NAMESPACE)),
    ("volumes_from", Refused("name the volumes of the other service under volumes:")),
];

/// Keys at the top of a file.
pub(super) const TOP: Table =
    &[("include", Fine), ("models", Refused("models are not supported")), ("version", Fine)];

/// Keys of `deploy:`.
pub(super) const DEPLOY: Table = &[
    ("endpoint_mode", Harmless("a name leads to the replicas themselves, one after another")),
    ("labels", Harmless("labels of a service are not kept; labels: beside it go to the containers")),
    (
        "rollback_config",
        Harmless("a failed update leaves the old replicas as they are, so that nothing is rolled back"),
    ),
];

/// Keys of `deploy.update_config:`.
pub(super) const UPDATE: Table = &[
    ("delay", Harmless("the next replica follows when the one before is ready")),
    ("failure_action", Harmless("a failed update always ends, and the old replicas stay")),
    ("max_failure_ratio", Harmless("the first replica that fails ends the update")),
    ("monitor", Harmless("a replica is watched until it is ready; x-muster.deadline says how long")),
    ("parallelism", Harmless("replicas are updated one at a time")),
];

/// Keys of `deploy.placement:`.
pub(super) const PLACEMENT: Table = &[
    ("constraints", Refused("use x-muster.placement with host: or selector:")),
    ("max_replicas_per_node", Refused("use x-muster.placement with spread: host")),
    ("preferences", Refused("use x-muster.placement with spread:")),
];

/// Keys of a network at the top.
pub(super) const NETWORK: Table = &[
    ("attachable", Fine),
    ("driver_opts", Refused("networks have no options; leave it out")),
    ("enable_ipv4", Harmless("networks have addresses of version 4")),
    ("enable_ipv6", Refused("networks have addresses of version 4 only")),
    (
        "external",
        Refused(
            "networks belong to one project, and projects do not know each other's names; leave external: out, and reach \
         other projects by a port that they publish",
        ),
    ),
    ("ipam", Refused(ADDRESSES)),
    ("labels", Harmless("labels of networks are not kept")),
    ("name", Harmless("names of networks on hosts are Muster's own")),
];

/// Keys of a service's network.
pub(super) const ATTACHMENT: Table = &[
    ("driver_opts", Refused("networks have no options; leave it out")),
    ("gw_priority", Refused("the way out is Muster's to choose; leave it out")),
    ("interface_name", Refused("names of interfaces are the engine's; leave it out")),
    ("ipv4_address", Refused(ADDRESSES)),
    ("ipv6_address", Refused(ADDRESSES)),
    ("link_local_ips", Refused(ADDRESSES)),
    ("mac_address", Refused(ADDRESSES)),
    ("priority", Harmless("networks are joined all at once")),
];

/// Keys of a volume at the top.
pub(super) const VOLUME: Table = &[
    (
        "external",
        Refused(
            "a volume that Muster did not make is never taken over; leave external: out, and copy the data once",
        ),
    ),
    ("labels", Harmless("labels of volumes are not kept")),
    ("name", Harmless("names of volumes on hosts are Muster's own")),
];

/// Keys of a secret or configuration at the top, beside what says where it is.
pub(super) const FILE: Table = &[
    ("driver", Refused("is for Swarm; give file: or set the secret with muster secrets set")),
    ("driver_opts", Refused("is for Swarm; leave it out")),
    ("labels", Harmless("labels are not kept")),
    ("template_driver", Refused("is for Swarm; leave it out")),
];

/// Keys of a port's long form.
pub(super) const PORT: Table = &[("app_protocol", Fine), ("mode", Fine), ("name", Fine)];

/// Keys of a volume's long form.
pub(super) const MOUNT: Table = &[("consistency", Fine)];

/// Keys of a limit of resources.
pub(super) const RESOURCES: Table =
    &[("devices", Refused(HOST_DEVICE)), ("generic_resources", Refused(HOST_DEVICE))];

/// Keys of a service that are read, for slips.
pub(super) const KNOWN: [&str; 45] = [
    "build",
    "cap_add",
    "cap_drop",
    "command",
    "configs",
    "container_name",
    "cpus",
    "depends_on",
    "deploy",
    "entrypoint",
    "env_file",
    "environment",
    "expose",
    "extends",
    "extra_hosts",
    "healthcheck",
    "hostname",
    "image",
    "init",
    "labels",
    "links",
    "logging",
    "mem_limit",
    "mem_reservation",
    "memswap_limit",
    "networks",
    "pids_limit",
    "ports",
    "profiles",
    "pull_policy",
    "read_only",
    "restart",
    "scale",
    "secrets",
    "security_opt",
    "shm_size",
    "stop_grace_period",
    "stop_signal",
    "sysctls",
    "tmpfs",
    "ulimits",
    "user",
    "volumes",
    "working_dir",
    "x-muster",
];

/// For a key that no table has and nothing reads.
pub(super) fn of(table: Table, key: &str) -> Option<Said> {
    table.iter().find(|(name, _)| *name == key).map(|(_, said)| *said)
}

/// The known key that a text is most likely meant to be.
pub(super) fn similar<'k>(key: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    if key.len() > 40 {
        return None;
    }
    let allowed = if key.len() <= 4 { 1 } else { 2 };
    let distances = known.into_iter().map(|name| (distance(key, name), name));
    distances.filter(|(distance, _)| *distance <= allowed).min().map(|(_, name)| name)
}

/// How many letters must be changed, added or left out.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut corner = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let change = corner + usize::from(x != *y);
            corner = row[j + 1];
            row[j + 1] = change.min(row[j] + 1).min(corner + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_is_recognised() {
        let known = ["image", "ports", "environment", "init"];
        assert_eq!(similar("enviroment", known), Some("environment"));
        assert_eq!(similar("port", known), Some("ports"));
        assert_eq!(similar("imgae", known), Some("image"));
        assert_eq!(similar("zzz", known), None);
        assert_eq!(similar("", known), None);
    }
}
