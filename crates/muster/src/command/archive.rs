//! `muster backup` and `muster restore`: on the machine of the data, without the API.

use control_plane::archive::{self, ArchiveError, Counts};

use crate::cli::operations::{BackupArgs, RestoreArgs};
use crate::failure::{Failure, Kind};
use crate::output::{self, counted};

fn failed(error: ArchiveError) -> Failure {
    match &error {
        ArchiveError::NoDatabase(_) => Failure::new(Kind::NotFound, error.to_string()),
        ArchiveError::File { source, .. } if source.kind() == std::io::ErrorKind::NotFound => {
            Failure::new(Kind::NotFound, Failure::of(&error).to_string())
        }
        ArchiveError::Exists(_) | ArchiveError::NotEmpty(_) => Failure::usage(error),
        other => Failure::of(other),
    }
}

/// What there is in a database, in words; agents also when there are none.
fn contents(counts: &Counts) -> String {
    let Counts { agents, configs, hosts, projects, services } = *counts;
    let rest = [
        (configs, "configuration", "configurations"),
        (hosts, "host", "hosts"),
        (projects, "project", "projects"),
        (services, "service", "services"),
    ];
    let rest = rest.into_iter().filter(|(count, ..)| *count > 0);
    let all = std::iter::once((agents, "agent", "agents")).chain(rest);
    all.map(|(count, one, many)| counted(count, one, many)).collect::<Vec<_>>().join(", ")
}

/// `muster backup`.
pub(crate) fn backup(args: &BackupArgs) -> Result<(), Failure> {
    let made = archive::backup(&args.data_dir, &args.to, env!("CARGO_PKG_VERSION")).map_err(failed)?;
    let mut lines = vec![format!("{}: {}, {} bytes", args.to.display(), contents(&made.counts), made.bytes)];
    lines.push("It is not encrypted: files of configurations and Compose files, with whatever secrets people wrote into them,".into());
    lines.push(
        "and what agents reported can be read by whoever has it. Keep it like the server's own disk.".into(),
    );
    if let Some(key) = made.key_id {
        lines.push(format!(
            "Sealed, with key {key}, are only secrets and configs of projects, passwords of registries, and the server's own \
             secrets."
        ));
        lines.push(
            "The key file is NOT in it, and without that they are lost: keep a copy of it elsewhere.".into(),
        );
    }
    output::line(&lines.join("\n"))
}

/// `muster restore`.
pub(crate) fn restore(args: &RestoreArgs) -> Result<(), Failure> {
    let restored = archive::restore(&args.file, &args.data_dir, args.key_file.as_deref()).map_err(failed)?;
    let directory = args.data_dir.display();
    let mut lines = vec![format!(
        "{directory}: {}, as of {} (muster {})",
        contents(&restored.counts),
        restored.made_at,
        output::safe(&restored.build)
    )];
    match (restored.key_id, &args.key_file) {
        (Some(_), Some(file)) => {
            lines.push(format!(
                "Start it with: muster server --data-dir {directory} --key-file {}",
                file.display()
            ));
        }
        (Some(key), None) => {
            let key = output::safe(&key);
            lines.push(format!(
                "Put the key file (key {key}) at {directory}/master.key, or name it with --key-file."
            ));
            lines.push(format!("Then start it with: muster server --data-dir {directory}"));
        }
        (None, _) => lines.push(format!("Start it with: muster server --data-dir {directory}")),
    }
    if nix::unistd::geteuid().is_root() {
        lines.push(format!(
            "It belongs to root: when the server runs as another user, chown -R that user {directory} comes first."
        ));
    }
    output::line(&lines.join("\n"))
}
