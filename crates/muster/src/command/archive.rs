//! `muster backup` and `muster restore`: on the machine of the data, without the API.

use control_plane::archive::{self, ArchiveError};

use crate::cli::operations::{BackupArgs, RestoreArgs};
use crate::failure::{Failure, Kind};
use crate::output;

fn failed(error: ArchiveError) -> Failure {
    match error {
        ArchiveError::NoDatabase(_) => Failure::new(Kind::NotFound, error.to_string()),
        ArchiveError::Exists(_) | ArchiveError::NotEmpty(_) => Failure::usage(error),
        other => Failure::of(&other),
    }
}

/// `muster backup`.
pub(crate) fn backup(args: &BackupArgs) -> Result<(), Failure> {
    let made = archive::backup(&args.data_dir, &args.to, env!("CARGO_PKG_VERSION")).map_err(failed)?;
    let mut lines = vec![format!("{}: {} agents, {} bytes", args.to.display(), made.agents, made.bytes)];
    lines.push("It is not encrypted: files of configurations, with whatever secrets people wrote into them, and what".into());
    lines.push("agents reported can be read by whoever has it. Keep it like the server's own disk.".into());
    if let Some(key) = made.key_id {
        lines.push(format!(
            "Sealed are only the server's own secrets, such as the key of the certificate authority, with key {key}."
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
        "{directory}: {} agents, as of {} (muster {})",
        restored.agents,
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
    output::line(&lines.join("\n"))
}
