//! What the system says of this process, under the names that all programs use for it.

use std::fs;
use std::time::Duration;

/// One look.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Process {
    /// Time on processors, user and system.
    pub(super) cpu: Duration,
    /// Resident memory in bytes.
    pub(super) resident: u64,
    /// Open file descriptors.
    pub(super) open_fds: u64,
    /// How many there may be.
    pub(super) max_fds: u64,
}

impl Process {
    /// What cannot be found out is 0.
    pub(super) fn look() -> Self {
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        let kibibytes = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kibibytes =
            kibibytes.and_then(|text| text.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok());
        Self {
            cpu: cpu().unwrap_or_default(),
            resident: kibibytes.unwrap_or(0) * 1024,
            // The listing itself has one of them open.
            open_fds: fs::read_dir("/proc/self/fd").map_or(0, |all| (all.count() as u64).saturating_sub(1)),
            max_fds: max_fds(),
        }
    }
}

fn cpu() -> Option<Duration> {
    let time = nix::time::clock_gettime(nix::time::ClockId::CLOCK_PROCESS_CPUTIME_ID).ok()?;
    Some(Duration::new(u64::try_from(time.tv_sec()).ok()?, u32::try_from(time.tv_nsec()).ok()?))
}

fn max_fds() -> u64 {
    use nix::sys::resource::{Resource, getrlimit};
    getrlimit(Resource::RLIMIT_NOFILE).map_or(0, |(soft, _)| soft)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_has_memory_descriptors_and_used_some_time() {
        let process = Process::look();
        assert!(process.cpu > Duration::ZERO && process.resident > 1 << 20, "{process:?}");
        assert!((3..=process.max_fds).contains(&process.open_fds), "{process:?}");
    }
}
