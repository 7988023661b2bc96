//! What containers may do and use: capabilities, kernel settings, limits of processes, logging, and the older keys for
//! memory and processors.

use std::collections::{BTreeMap, BTreeSet};

use super::problem::Problems;
use super::service::unsupported;
use super::walk::{At, shown};
use super::{environment, keys};
use crate::service::{Logging, Resources, Ulimit};

/// The capabilities that Linux has.
const CAPABILITIES: [&str; 42] = [
    "ALL",
    "AUDIT_CONTROL",
    "AUDIT_READ",
    "AUDIT_WRITE",
    "BLOCK_SUSPEND",
    "BPF",
    "CHECKPOINT_RESTORE",
    "CHOWN",
    "DAC_OVERRIDE",
    "DAC_READ_SEARCH",
    "FOWNER",
    "FSETID",
    "IPC_LOCK",
    "IPC_OWNER",
    "KILL",
    "LEASE",
    "LINUX_IMMUTABLE",
    "MAC_ADMIN",
    "MAC_OVERRIDE",
    "MKNOD",
    "NET_ADMIN",
    "NET_BIND_SERVICE",
    "NET_BROADCAST",
    "NET_RAW",
    "PERFMON",
    "SETFCAP",
    "SETGID",
    "SETPCAP",
    "SETUID",
    "SYSLOG",
    "SYS_ADMIN",
    "SYS_BOOT",
    "SYS_CHROOT",
    "SYS_MODULE",
    "SYS_NICE",
    "SYS_PACCT",
    "SYS_PTRACE",
    "SYS_RAWIO",
    "SYS_RESOURCE",
    "SYS_TIME",
    "SYS_TTY_CONFIG",
    "WAKE_ALARM",
];

/// Those with which a container gets out of its walls.
const DANGEROUS: [&str; 9] = [
    "ALL",
    "BPF",
    "DAC_READ_SEARCH",
    "MKNOD",
    "SYS_ADMIN",
    "SYS_BOOT",
    "SYS_MODULE",
    "SYS_PTRACE",
    "SYS_RAWIO",
];

/// The limits that Linux has, as engines name them.
const ULIMITS: [&str; 15] = [
    "as",
    "core",
    "cpu",
    "data",
    "fsize",
    "locks",
    "memlock",
    "msgqueue",
    "nice",
    "nofile",
    "nproc",
    "rss",
    "rtprio",
    "sigpending",
    "stack",
];

/// `cap_add:` and `cap_drop:`.
pub(super) fn capabilities(at: &At, is_given: bool, problems: &mut Problems<'_>) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for item in at.items(problems) {
        let Some(text) = item.text(problems) else { continue };
        let upper = text.to_ascii_uppercase();
        let name = upper.strip_prefix("CAP_").unwrap_or(&upper);
        if !CAPABILITIES.contains(&name) {
            problems.error(&item, format!("{} is no capability of Linux", shown(&text)));
            continue;
        }
        if is_given && DANGEROUS.contains(&name) && name != "MKNOD" {
            problems.warn(&item, format!("with {name} the container can take over its host"));
        }
        names.insert(name.to_owned());
    }
    names
}

/// `security_opt:`; whether programs cannot gain rights.
pub(super) fn options(at: &At, problems: &mut Problems<'_>) -> bool {
    let mut no_new_privileges = false;
    for item in at.items(problems) {
        let Some(text) = item.text(problems) else { continue };
        match text.replace('=', ":").as_str() {
            "no-new-privileges" | "no-new-privileges:true" => no_new_privileges = true,
            "no-new-privileges:false" => no_new_privileges = false,
            _ => {
                problems.error(&item, format!("{} is not supported; no-new-privileges:true is", shown(&text)))
            }
        }
    }
    no_new_privileges
}

/// `sysctls:`. Only what belongs to a container's own namespaces; the engine would refuse the rest at the start.
pub(super) fn sysctls(at: &At, problems: &mut Problems<'_>) -> BTreeMap<String, String> {
    const OWN: [&str; 4] = ["net.", "fs.mqueue.", "kernel.shm", "kernel.msg"];
    let mut settings = BTreeMap::new();
    for (name, value, item) in environment::pairs(at, problems) {
        let is_own = OWN.iter().any(|prefix| name.starts_with(prefix)) || name == "kernel.sem";
        match value {
            _ if !is_own => problems
                .error(&item, format!("{} is a setting of the whole host; set it there", shown(&name))),
            Some(value) => {
                settings.insert(name, value);
            }
            None => problems.error(&item, format!("{} has no value", shown(&name))),
        }
    }
    settings
}

/// `ulimits:`: a number, or a soft and a hard one.
pub(super) fn ulimits(at: &At, problems: &mut Problems<'_>) -> BTreeMap<String, Ulimit> {
    let mut limits = BTreeMap::new();
    for (name, value) in at.entries(problems) {
        if !ULIMITS.contains(&name.as_str()) {
            problems.error(&value, format!("{} is no limit of processes", shown(&name)));
            continue;
        }
        let (soft, hard) = if value.is_map() {
            let (mut soft, mut hard) = (None, None);
            for (key, item) in value.entries(problems) {
                match key.as_str() {
                    "soft" => soft = limit(&item, problems),
                    "hard" => hard = limit(&item, problems),
                    _ => unsupported(&item, &key, &[], &["soft", "hard"], problems),
                }
            }
            if value.get("soft").is_none() || value.get("hard").is_none() {
                problems.error(&value, "has not both soft and hard");
            }
            (soft, hard)
        } else {
            let both = limit(&value, problems);
            (both, both)
        };
        let (Some(soft), Some(hard)) = (soft, hard) else { continue };
        if hard >= 0 && (soft < 0 || soft > hard) {
            problems.error(&value, "the soft limit is above the hard one");
            continue;
        }
        limits.insert(name, Ulimit { soft, hard });
    }
    limits
}

fn limit(at: &At, problems: &mut Problems<'_>) -> Option<i64> {
    let text = at.text(problems)?;
    match text.trim().parse::<i64>() {
        Ok(number) if number >= -1 => Some(number),
        Ok(_) | Err(_) => {
            problems.error(at, format!("{} is no limit: a number, or -1 for none", shown(&text)));
            None
        }
    }
}

/// `logging:`. Output is always kept by the engine in its own compact form; only how much of it is to be said.
pub(super) fn logging(at: &At, problems: &mut Problems<'_>) -> Logging {
    let mut logging = Logging::default();
    for (key, value) in at.entries(problems) {
        match key.as_str() {
            "driver" => {
                let driver = value.text(problems).unwrap_or_default();
                if !matches!(driver.as_str(), "" | "local" | "json-file") {
                    let text = "would keep output from muster logs; leave it out";
                    problems.error(&value, format!("the driver {} {text}", shown(&driver)));
                }
            }
            "options" => {
                for (name, option) in value.entries(problems) {
                    log_option(&name, &option, &mut logging, problems);
                }
            }
            _ => unsupported(&value, &key, &[], &["driver", "options"], problems),
        }
    }
    logging
}

fn log_option(name: &str, option: &At, logging: &mut Logging, problems: &mut Problems<'_>) {
    match name {
        "max-size" => match option.bytes(problems) {
            Some(bytes) if bytes < 64 << 10 => problems.error(option, "must be at least 64k"),
            size => logging.max_size_bytes = size,
        },
        "max-file" => match option.small(100, problems) {
            Some(0) => problems.error(option, "must be at least 1"),
            files => logging.max_files = files,
        },
        "compress" | "mode" | "max-buffer-size" | "labels" | "labels-regex" | "env" | "env-regex" | "tag" => {
            problems.warn(option, "does nothing; max-size and max-file do");
        }
        _ => problems.error(option, format!("{} is not supported; max-size and max-file are", shown(name))),
    }
}

/// Keys of a service that limit resources. Whether the key was one.
pub(super) fn resource(
    key: &str,
    value: &At,
    resources: &mut Resources,
    problems: &mut Problems<'_>,
) -> bool {
    match key {
        "cpus" => resources.cpu_millis = value.cpu_millis(problems).filter(|millis| *millis > 0),
        "mem_limit" => resources.memory_bytes = memory(value, problems),
        // -1 takes the limit of swap away, which is what no limit means here.
        "memswap_limit" if value.node.text() == Some("-1") => resources.memory_swap_bytes = None,
        "memswap_limit" => resources.memory_swap_bytes = memory(value, problems),
        "pids_limit" if value.node.text() == Some("-1") => resources.pids = None,
        "pids_limit" => resources.pids = value.small(u32::MAX, problems).filter(|pids| *pids > 0),
        "shm_size" => resources.shm_bytes = value.bytes(problems).filter(|bytes| *bytes > 0),
        _ => return false,
    }
    true
}

/// A limit of memory: 0 is none, and engines take no less than 6 MiB.
pub(super) fn memory(value: &At, problems: &mut Problems<'_>) -> Option<u64> {
    match value.bytes(problems)? {
        0 => None,
        bytes if bytes < 6 << 20 => {
            problems.error(value, "must be at least 6m");
            None
        }
        bytes => Some(bytes),
    }
}

/// `deploy.resources.limits`
pub(super) fn deploy_limits(at: &At, resources: &mut Resources, problems: &mut Problems<'_>) {
    for (key, value) in at.entries(problems) {
        match key.as_str() {
            _ if value.is_null() => {}
            "cpus" => resources.cpu_millis = value.cpu_millis(problems).filter(|millis| *millis > 0),
            "memory" => resources.memory_bytes = memory(&value, problems),
            "pids" => resources.pids = value.small(u32::MAX, problems).filter(|pids| *pids > 0),
            _ => unsupported(&value, &key, keys::RESOURCES, &["cpus", "memory", "pids"], problems),
        }
    }
}
