//! What a host says without measure comes out of the server's session with measure: every text, every list, in every
//! message.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::time::Duration;

use host_proto::frame::Body as _;
use host_proto::generation::Mark;
use host_proto::id::SessionId;
use host_proto::limits::{
    HOST_LOG_LINES, HOST_LOG_TEXT, LAST_LINES, LEFT_VOLUMES, LOG_BATCH, LOG_LINE, MAX_ITEMS, MAX_REPLICAS,
    PARTS, TAKEN_BLOCKS, WORD,
};
use host_proto::message::{HostLogsTail, LogLines, LogsResult, Metrics, StateApplied};
use host_proto::server::{Input, Output, Session, Settings, Welcome};
use host_proto::{Frame, Moment, Secret, ToAgent, ToServer};
use serde_json::{Value, json};

/// Longer than every text may be, with all that must not reach a terminal.
fn text() -> String {
    "\u{1b}]0;owned\u{7}\r\n\u{202e}ä".repeat(200)
}

fn many<T: Clone>(item: T, count: usize) -> Vec<T> {
    vec![item; count]
}

fn replica() -> Value {
    json!({
        "replica_id": "rep_1", "service_id": "svc_1", "release_id": "rel_1", "spec_hash": text(), "state": "running",
        "container_id": text(), "started_at": text(), "image_digest": text(), "last_error": text(), "held_reason": text(),
        "last_log_lines": many(text(), 20),
    })
}

fn blocks() -> Value {
    let mut blocks = many(json!({ "by": "route", "block": "10.0.0.0/8", "name": "r" }), 600);
    blocks[0] = json!({ "by": "route", "block": text(), "name": text() });
    json!(blocks)
}

fn docker() -> Value {
    json!({
        "version": text(), "api_min": text(), "api_max": text(), "api": text(), "storage_driver": text(),
        "firewall_backend": text(), "cgroup_version": text(), "root_dir": text(),
    })
}

fn hello() -> Value {
    json!({
        "protocol": { "major": 1, "minor": 0 },
        "features": many(text(), 300),
        "agent": { "version": text(), "arch": text(), "os": text(), "started_at": text() },
        "identity": { "machine_id": text(), "instance_id": text(), "boot_id": text(), "wg_public_key": text(),
            "session_secret_prev": text() },
        "time_at": text(),
        "facts": { "hostname": text(), "kernel": text(), "arch": text(), "os_release": text(), "virtualization": text(),
            "disk": many(json!({ "mount": text(), "fs": text(), "total_bytes": 5, "free_bytes": 7 }), 5),
            "docker": docker(), "wg": { "mode": text() },
            "public_ips": many("192.0.2.1", 5000), "private_ips": many("192.0.2.1", 5000) },
        "epoch": text(),
        "section_hashes": { "networks": text(), "other": text() },
        "replicas": many(replica(), 3),
        "foreign": { "ports": many(80, 70_000), "blocks": blocks() },
    })
}

/// A session that has read these messages as a connected host's, and what it gives of them.
fn heard(messages: &[(&str, Value)]) -> Vec<ToServer> {
    let now = Moment(0);
    let mut session = Session::new(now, Settings::default());
    let hello = if messages[0].0 == "hello" { messages[0].1.clone() } else { plain_hello() };
    let say = |session: &mut Session, kind: &str, data: &Value| {
        session.handle(
            now,
            Input::Text(json!({ "type": kind, "id": "m".repeat(200), "data": data }).to_string()),
        );
    };
    say(&mut session, "hello", &hello);
    session.handle(now, Input::Admit(welcome()));
    for (kind, data) in messages.iter().filter(|(kind, _)| *kind != "hello") {
        say(&mut session, kind, data);
    }
    let mut heard = Vec::new();
    while let Some(output) = session.poll_output() {
        match output {
            Output::Hello(hello) => heard.push(ToServer::Hello(hello)),
            Output::Message(frame) => {
                assert_eq!(frame.id, None, "an id of 200 characters is none");
                heard.push(frame.body);
            }
            Output::Left { reason } => assert!(reason.chars().count() <= 1000),
            Output::Send(text) => {
                assert!(!matches!(Frame::<ToAgent>::decode(&text), Ok(Frame { body: ToAgent::Error(_), .. })))
            }
            _ => {}
        }
    }
    heard
}

fn plain_hello() -> Value {
    json!({ "protocol": { "major": 1, "minor": 0 }, "agent": {}, "time_at": "", "facts": {},
        "identity": { "machine_id": "m", "instance_id": "i", "boot_id": "b", "wg_public_key": "k" } })
}

fn welcome() -> Welcome {
    Welcome {
        session_id: SessionId::generate(1, [0; 10]),
        session_secret: Secret::new("s"),
        time_at: String::new(),
        notice: None,
        reconnect_spread: Duration::ZERO,
        stored: Mark::new("e", 0),
        token_age: Duration::ZERO,
    }
}

/// Every text of a value is short and harmless, every list has an end. What replicas print may be longer.
fn measure(path: &str, value: &Value) {
    match value {
        Value::String(text) if path.ends_with("/b64") => assert!(text.len() <= 21_848, "{path}"),
        Value::String(text) if path.contains("/lines/") && !path.contains("host_logs_tail") => {
            assert!(text.chars().count() <= LOG_LINE, "{path}");
        }
        Value::String(text) => {
            assert!(text.chars().count() <= HOST_LOG_TEXT, "{path} has {} characters", text.chars().count());
            let harmful = text.chars().find(|c| c.is_control() || *c == '\u{202e}');
            assert_eq!(harmful, None, "{path}");
        }
        Value::Array(items) => {
            let most = match path {
                "hello/foreign/ports" | "state_applied/removed" | "state_applied/replicas" => MAX_REPLICAS,
                "metrics/replicas" | "replica_status/replicas" => MAX_REPLICAS,
                path if path.ends_with("blocks") => TAKEN_BLOCKS,
                "state_applied/left_volumes" => LEFT_VOLUMES,
                _ => 5000,
            };
            assert!(items.len() <= most, "{path} has {} items", items.len());
            items.iter().enumerate().for_each(|(number, item)| measure(&format!("{path}/{number}"), item));
        }
        Value::Object(fields) => {
            fields.iter().for_each(|(name, item)| measure(&format!("{path}/{name}"), item))
        }
        _ => {}
    }
}

fn check(kind: &str, data: Value) -> ToServer {
    let mut heard = heard(&[(kind, data)]);
    let message = heard.pop().unwrap();
    assert_eq!(message.kind(), kind);
    measure(kind, &serde_json::from_str(message.data().unwrap().get()).unwrap());
    message
}

#[test]
fn a_hello_without_measure_is_cut_but_for_its_replicas() {
    let ToServer::Hello(hello) = check("hello", hello()) else { panic!() };
    assert_eq!((hello.features.len(), hello.replicas.len()), (PARTS, 3));
    assert_eq!(hello.replicas[0].last_log_lines.len(), LAST_LINES);
    assert_eq!((hello.facts.private_ips.len(), hello.facts.disk[0].free_bytes), (MAX_ITEMS, 5));
    assert_eq!(hello.identity.machine_id.chars().count(), WORD);
    assert!(hello.identity.session_secret_prev.unwrap().expose().len() < WORD);
}

#[test]
fn a_state_applied_without_measure_is_cut_and_what_is_cut_off_did_not_succeed() {
    let item = |section: &str, name: String| json!({ "section": section, "id": text(), "name": name, "state": "failed", "error": text() });
    let short = json!({ "section": "networks", "id": "net_1", "name": "n", "state": "failed" });
    let mut items = many(short, MAX_ITEMS);
    items[0] = item("networks", text());
    items.push(json!({ "section": "volumes", "id": "vol_1", "name": "v", "state": "failed" }));
    let ok = json!({ "ok": true, "hash": text() });
    let applied = json!({
        "epoch": text(), "generation": 1, "result": "partial", "items": items,
        "sections": { "volumes": ok, "files": ok, "networks": { "ok": false, "error": text() } },
        "replicas": many(replica(), 2), "removed": many("rep_1", 70_000), "blocks": blocks(),
        "left_volumes": many(json!({ "volume_id": "vol_1", "name": text() }), 600),
    });
    let ToServer::StateApplied(applied) = check("state_applied", applied) else { panic!() };
    let StateApplied { items, removed, sections, left_volumes, .. } = *applied;
    assert_eq!((items.len(), removed.len()), (MAX_ITEMS, MAX_REPLICAS));
    assert_eq!(left_volumes.unwrap().len(), LEFT_VOLUMES);
    let told: Vec<_> = sections.values().map(|it| (it.ok, it.error.is_some())).collect();
    assert_eq!(told, [(false, true), (false, true), (true, false)], "networks, volumes, files");
}

#[test]
fn figures_that_contradict_each_other_are_brought_together() {
    let part =
        json!({ "mount": text(), "total_bytes": 5, "free_bytes": 6, "inodes_total": 1, "inodes_free": 2 });
    let metrics = json!({
        "at": text(),
        "host": { "cpu_busy_us": 9, "cpu_total_us": 8, "mem_total_bytes": 4, "mem_available_bytes": 7,
            "disk": many(part, 300), "net": many(json!({ "iface": text() }), 5) },
        "engine": { "up": true, "facts": docker() },
        "replicas": many(json!({ "replica_id": "rep_1" }), 70_000),
    });
    let ToServer::Metrics(metrics) = check("metrics", metrics) else { panic!() };
    let Metrics { host, replicas, .. } = *metrics;
    assert_eq!((host.cpu_busy_us, host.mem_available_bytes, replicas.len()), (8, 4, MAX_REPLICAS));
    let disk = &host.disk[0];
    assert_eq!((host.disk.len(), disk.free_bytes, disk.inodes_free), (PARTS, 5, 1));
}

#[test]
fn req_9_the_last_lines_of_a_host_that_says_too_many_are_kept() {
    let line =
        |number: usize| json!({ "ts_us": number, "level": "error", "source": "agent", "text": text() });
    let lines: Vec<_> = (1..=510).map(line).collect();
    let ToServer::HostLogsTail(tail) = check("host_logs_tail", json!({ "seq": 7, "lines": lines })) else {
        panic!()
    };
    let HostLogsTail { seq, lines } = tail;
    assert_eq!((seq, lines.len(), lines[0].ts_us), (17, HOST_LOG_LINES, 11));
}

#[test]
fn req_3_a_batch_of_lines_has_an_end_and_what_is_missing_is_counted() {
    let line = json!({ "ts_us": 1, "replica_id": "rep_1", "stream": "out", "text": "x".repeat(20_000) });
    let bytes = json!({ "ts_us": 1, "replica_id": "rep_1", "stream": "out", "b64": "eHh4".repeat(9_000) });
    let lines = [vec![bytes], many(line, 99)].concat();
    let batch = json!({ "subscription_id": "sub_1", "seq": 1, "lines": lines, "dropped": 1 });
    let ToServer::LogLines(LogLines { lines: kept, dropped, .. }) = check("log_lines", batch) else {
        panic!()
    };
    let size: usize = kept.iter().flat_map(|it| it.text.iter().chain(&it.b64)).map(String::len).sum();
    assert!(size <= LOG_BATCH && kept.len() > 10, "{size}");
    assert_eq!(kept.len() as u64 + dropped, 101);
    assert!(kept[0].partial, "bytes go on in no next line, and are not whole");

    let empty = json!({ "ts_us": 1, "replica_id": "rep_1", "stream": "out" });
    let answer = json!({ "query_id": "qry_1", "seq": 0, "eof": true, "lines": many(empty, 9_000) });
    let ToServer::LogsResult(LogsResult { lines, truncated_reason, .. }) = check("logs_result", answer)
    else {
        panic!()
    };
    assert!(lines.len() < 5000 && truncated_reason.is_some(), "{}", lines.len());
}

#[test]
fn words_about_the_connection_have_an_end() {
    check("error", json!({ "code": "internal", "message": text() }));
    check("logs_ended", json!({ "subscription_id": "sub_1", "reason": "error", "message": text() }));
    check("replica_status", json!({ "replicas": [replica()] }));
    assert_eq!(heard(&[("goodbye", json!({ "reason": text() }))]).len(), 1, "the hello");
}
