//! A benchmark that is killed leaves nothing behind.

use std::process::Stdio;

use crate::process::{Place, found};

#[test]
fn what_a_benchmark_started_ends_with_it_were_it_killed() {
    let place = Place::new();
    let mut bench = place.command(&["bench", "load", "idle", "--agents", "1", "--seconds", "3600"]);
    let mut bench = bench.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let pid = bench.id();
    let server = found(|| "no server".to_owned(), || children_of(pid).find(|child| is_server(*child)));
    bench.kill().unwrap();
    bench.wait().unwrap();
    found(|| format!("the server {server} is still there"), || (!lives(server)).then_some(()));
}

/// State and parent of a process; nothing when there is none.
fn stat(pid: u32) -> Option<(String, u32)> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut rest = text.rsplit_once(')')?.1.split_whitespace().map(str::to_owned);
    Some((rest.next()?, rest.next()?.parse().ok()?))
}

fn children_of(parent: u32) -> impl Iterator<Item = u32> {
    let entries = std::fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter(move |pid| stat(*pid).is_some_and(|(_, its)| its == parent))
}

fn is_server(pid: u32) -> bool {
    let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    line.split(|byte| *byte == 0).nth(1) == Some(&b"server"[..])
}

/// One that has ended and that nobody has waited for does not live any more.
fn lives(pid: u32) -> bool {
    stat(pid).is_some_and(|(state, _)| state != "Z")
}
