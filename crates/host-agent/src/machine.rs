//! What tells one boot of this machine from the next (R11), and what the machine is.

use host_proto::message::{DockerFacts, Facts};

use crate::options::Options;

/// Another one at each boot.
pub(crate) fn boot_id() -> String {
    std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().to_owned()
}

/// What the machine is.
pub(crate) fn facts(options: &Options, docker: Option<DockerFacts>) -> Facts {
    host_drivers::facts::read(docker, &options.data_dir)
}
