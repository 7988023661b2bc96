//! `--ready-file`: tells a program that started the server where it listens and what a first start made. Written
//! under another name first, so that whoever finds it finds all of it.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use control_plane::{Addresses, FirstStart};
use serde::Serialize;

/// The content.
#[derive(Serialize)]
struct Ready<'a> {
    opamp: &'a str,
    console: &'a str,
    admin_password: Option<&'a str>,
    enrolment_token: Option<&'a str>,
    ca_file: Option<&'a Path>,
    pid: u32,
}

/// Writes it, with mode 0600: it holds secrets on a first start.
pub(crate) fn write(
    path: &Path,
    addresses: &Addresses,
    first: &FirstStart,
    ca_file: Option<&Path>,
) -> io::Result<()> {
    let ca_file = ca_file.map(std::path::absolute).transpose()?;
    let ready = Ready {
        opamp: &addresses.opamp,
        console: &addresses.console,
        admin_password: first.admin_password.as_deref(),
        enrolment_token: first.enrolment_token.as_deref(),
        ca_file: ca_file.as_deref(),
        pid: std::process::id(),
    };
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{}", std::process::id()));
    let temporary = Path::new(&name);
    // What a crash left behind may have another mode.
    let _ = fs::remove_file(temporary);
    let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(temporary)?;
    file.write_all(&serde_json::to_vec(&ready)?)?;
    fs::rename(temporary, path)
}
