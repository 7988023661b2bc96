//! What a container uses, from its control groups: of version 1, where each controller has a tree of its own, or 2.

use std::fs;
use std::path::{Path, PathBuf};

/// Limits beyond this are none: version 1 writes "no limit" as a huge number.
const NO_LIMIT: u64 = 1 << 60;

/// What a container uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Usage {
    pub(super) cpu_us: u64,
    /// Without what the kernel could drop.
    pub(super) memory_bytes: u64,
    /// 0 if there is none.
    pub(super) limit_bytes: u64,
    pub(super) pids: u64,
}

/// Reads what the container uses whose first process is in these groups (the text of `/proc/PID/cgroup`). `None` when
/// they are not of this container: its process has ended, and the number may be another one's.
pub(super) fn read(root: &Path, groups: &str, container: &str) -> Option<Usage> {
    if !groups.contains(container) {
        return None;
    }
    let v1 = |controller: &str| folder_v1(root, groups, controller);
    match v1("memory") {
        Some(memory) => Some(Usage {
            cpu_us: number(&v1("cpuacct")?.join("cpuacct.usage")) / 1000,
            memory_bytes: number(&memory.join("memory.usage_in_bytes"))
                .saturating_sub(field(&memory.join("memory.stat"), "total_inactive_file")),
            limit_bytes: limit(&memory.join("memory.limit_in_bytes")),
            pids: v1("pids").map_or(0, |pids| number(&pids.join("pids.current"))),
        }),
        None => {
            let path = groups.lines().find_map(|line| line.strip_prefix("0::"))?;
            let folder = root.join(path.trim_start_matches('/'));
            Some(Usage {
                cpu_us: field(&folder.join("cpu.stat"), "usage_usec"),
                memory_bytes: number(&folder.join("memory.current"))
                    .saturating_sub(field(&folder.join("memory.stat"), "inactive_file")),
                limit_bytes: limit(&folder.join("memory.max")),
                pids: number(&folder.join("pids.current")),
            })
        }
    }
}

/// The folder of a controller in version 1: of `4:cpu,cpuacct:/docker/ab` either name, as the system mounts it.
fn folder_v1(root: &Path, groups: &str, controller: &str) -> Option<PathBuf> {
    let (names, path) = groups.lines().find_map(|line| {
        let mut parts = line.splitn(3, ':').skip(1);
        let (names, path) = (parts.next()?, parts.next()?);
        names.split(',').any(|name| name == controller).then_some((names, path))
    })?;
    let path = path.trim_start_matches('/');
    [names, controller].iter().map(|mounted| root.join(mounted).join(path)).find(|folder| folder.is_dir())
}

fn number(path: &Path) -> u64 {
    fs::read_to_string(path).ok().and_then(|text| text.trim().parse().ok()).unwrap_or_default()
}

fn limit(path: &Path) -> u64 {
    let limit = number(path);
    if limit >= NO_LIMIT { 0 } else { limit }
}

fn field(path: &Path, name: &str) -> u64 {
    let text = fs::read_to_string(path).unwrap_or_default();
    let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.trim().parse().ok());
    value.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(files: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        root
    }

    #[test]
    fn version_1_has_a_tree_for_each_controller() {
        let root = tree(&[
            ("memory/docker/ab/memory.usage_in_bytes", "1000\n"),
            ("memory/docker/ab/memory.limit_in_bytes", "9223372036854771712\n"),
            ("memory/docker/ab/memory.stat", "cache 5\ntotal_inactive_file 300\n"),
            ("cpu,cpuacct/docker/ab/cpuacct.usage", "7000000\n"),
            ("pids/docker/ab/pids.current", "4\n"),
        ]);
        let groups = "5:pids:/docker/ab\n4:cpu,cpuacct:/docker/ab\n3:memory:/docker/ab\n0::/\n";
        let expected = Usage { cpu_us: 7000, memory_bytes: 700, limit_bytes: 0, pids: 4 };
        assert_eq!(read(root.path(), groups, "ab"), Some(expected));
        assert_eq!(read(root.path(), groups, "cd"), None);
    }

    #[test]
    fn version_2_has_one_tree() {
        let root = tree(&[
            ("system.slice/docker-ab.scope/memory.current", "1000\n"),
            ("system.slice/docker-ab.scope/memory.max", "max\n"),
            ("system.slice/docker-ab.scope/memory.stat", "file 5\ninactive_file 300\n"),
            ("system.slice/docker-ab.scope/cpu.stat", "usage_usec 7000\nuser_usec 1\n"),
            ("system.slice/docker-ab.scope/pids.current", "4\n"),
        ]);
        let groups = "0::/system.slice/docker-ab.scope\n";
        let expected = Usage { cpu_us: 7000, memory_bytes: 700, limit_bytes: 0, pids: 4 };
        assert_eq!(read(root.path(), groups, "ab"), Some(expected));
    }
}
