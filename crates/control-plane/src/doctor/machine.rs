//! The machine: ports and descriptors.

use std::io;
use std::net::{SocketAddr, TcpListener};

use super::{Finding, Subject};

/// Each agent on a WebSocket has one.
const FEW: u64 = 4_096;

pub(super) fn ports(subject: &Subject, server_runs: bool) -> [Finding; 2] {
    [
        port(subject, "port of agents", "--opamp-listen", &subject.opamp_listen, server_runs),
        port(subject, "port of the console", "--listen", &subject.listen, server_runs),
    ]
}

fn port(subject: &Subject, check: &'static str, flag: &str, text: &str, server_runs: bool) -> Finding {
    let address =
        text.strip_prefix("localhost:").map_or_else(|| text.to_owned(), |port| format!("127.0.0.1:{port}"));
    let Ok(address) = address.parse::<SocketAddr>() else {
        return Finding::failed(check, format!("{flag}: {text:?} is no address"), "write it as 0.0.0.0:4320");
    };
    match TcpListener::bind(address) {
        Ok(_) => Finding::ok(check, format!("{address} is free")),
        Err(error) if error.kind() == io::ErrorKind::AddrInUse && server_runs => {
            Finding::ok(check, format!("{address} is taken, and a server is running on the data directory"))
        }
        // By whom can be told only where the server keeps its data.
        Err(error) if error.kind() == io::ErrorKind::AddrInUse && !subject.is_data_dir_named => {
            Finding::warning(
                check,
                format!("{address} is taken: by the server, or by another program"),
                "if a server of Muster runs here, say where its data is with --data-dir; else find it with ss -ltnp",
            )
        }
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => Finding::failed(
            check,
            format!("{address} is taken by another program"),
            format!("find it with ss -ltnp, or choose another port with {flag}"),
        ),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Finding::failed(
            check,
            format!("{address} needs more rights"),
            format!("choose a port from 1024 on with {flag}"),
        ),
        Err(error) => {
            Finding::failed(check, format!("{address}: {error}"), format!("choose another with {flag}"))
        }
    }
}

pub(super) fn descriptors() -> Finding {
    use nix::sys::resource::{Resource, getrlimit};
    let check = "descriptors";
    match getrlimit(Resource::RLIMIT_NOFILE) {
        Err(error) => Finding::skipped(check, format!("the limit cannot be asked: {error}")),
        Ok((soft, hard)) if soft < FEW => Finding::warning(
            check,
            format!(
                "a process may have {soft} files open ({hard} at most): fewer agents than that can connect"
            ),
            "raise it: ulimit -n 65536, or LimitNOFILE=65536 in the unit of the service",
        ),
        Ok((soft, _)) => Finding::ok(check, format!("a process may have {soft} files open")),
    }
}
