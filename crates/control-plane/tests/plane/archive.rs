//! Back-ups: made while agents report, restored as they were, refused when they are damaged or tampered with.

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use control_plane::archive::{ArchiveError, backup, restore};
use control_plane::{App, RawConfig};
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use opamp_proto::wire::AgentToServer;
use testkit::raw::Connection;
use testkit::until_async;

use crate::world::{World, agent_when, checked, full, settings};

/// A server's directory with one agent in it.
async fn some_data(dir: &Path) {
    let world = World::with(RawConfig { insecure_http: false, ..settings(dir) }).await;
    world.stop().await;
    let world = World::start(dir).await;
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_back_up_made_while_agents_report_is_restored_and_the_server_knows() {
    let place = tempfile::tempdir().unwrap();
    let (data, file, new) =
        (place.path().join("data"), place.path().join("b.tar.gz"), place.path().join("new"));
    let world = World::start(&data).await;
    let password = world.first.admin_password.clone().unwrap();
    let done = Arc::new(AtomicBool::new(false));
    let (opamp, bearer, stop) = (world.opamp, world.bearer(), done.clone());
    let reporting = tokio::spawn(async move {
        let mut connection = Connection::websocket(opamp, &[("authorization", &bearer)]).await;
        let mut number = 0;
        while !stop.load(Ordering::Relaxed) || number < 1000 {
            number += 1_u16;
            let mut uid = [7; 16];
            uid[..2].copy_from_slice(&number.to_be_bytes());
            let report =
                AgentToServer { instance_uid: uid.to_vec().into(), agent_description: None, ..full(1) };
            assert!(connection.ask(&report).await.error_response.is_none());
            if number == u16::MAX {
                break;
            }
        }
        number
    });
    let admin = world.admin().await;
    until_async("a hundred agents", async || admin.overview().await.unwrap().agents.total >= 100).await;
    assert_eq!(admin.overview().await.unwrap().restored_at, None);
    let (from, to) = (data.clone(), file.clone());
    let made = tokio::task::spawn_blocking(move || backup(&from, &to, "1.2.3")).await.unwrap().unwrap();
    done.store(true, Ordering::Relaxed);
    assert!((100..=u64::from(reporting.await.unwrap())).contains(&made.counts.agents), "{made:?}");
    assert!(matches!(backup(&data, &file, "1.2.3"), Err(ArchiveError::Exists(_))));
    world.stop().await;

    let key = data.join("master.key");
    let restored = restore(&file, &new, Some(&key)).unwrap();
    assert_eq!((restored.counts, &*restored.build), (made.counts, "1.2.3"));
    assert!(!new.join("master.key").exists(), "the key is never in it");
    assert!(matches!(restore(&file, &new, None), Err(ArchiveError::NotEmpty(_))));
    let world = World::with(RawConfig { key_file: Some(key), ..settings(&new) }).await;
    assert_eq!(world.first.admin_password, None);
    let admin = world.log_in(&password).await;
    let overview = admin.overview().await.unwrap();
    assert!(overview.restored_at.is_some());
    assert_eq!(overview.agents.total, made.counts.agents);
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_that_is_missing_or_another_is_named_before_anything_is_written() {
    let place = tempfile::tempdir().unwrap();
    let (data, file, new) =
        (place.path().join("data"), place.path().join("b.tar.gz"), place.path().join("new"));
    some_data(&data).await;
    let made = backup(&data, &file, "1").unwrap();
    let other = place.path().join("other");
    some_data(&other).await;
    let wrong = restore(&file, &new, Some(&other.join("master.key"))).unwrap_err().to_string();
    assert!(wrong.contains(&made.key_id.unwrap()) && wrong.contains("sealed with key"), "{wrong}");
    let missing = restore(&file, &new, Some(&other.join("nothing"))).unwrap_err().to_string();
    assert!(missing.contains("is missing"), "{missing}");
    assert!(!new.exists());
    restore(&file, &new, None).unwrap();
    // A server that starts without the key says so, and does not make another.
    let error = App::build(checked(settings(&new))).await.unwrap_err().to_string();
    assert!(error.contains("master.key is missing"), "{error}");
}

/// Writes an archive of the entries of another one, as `change` wants them.
fn rewrite(from: &Path, to: &Path, change: impl Fn(&mut String, &mut Vec<u8>)) {
    let mut archive = tar::Archive::new(GzDecoder::new(File::open(from).unwrap()));
    let mut out = tar::Builder::new(GzEncoder::new(File::create(to).unwrap(), flate2::Compression::fast()));
    for entry in archive.entries().unwrap() {
        let mut entry = entry.unwrap();
        let mut name = String::from_utf8(entry.path_bytes().into_owned()).unwrap();
        let mut content = Vec::new();
        entry.read_to_end(&mut content).unwrap();
        change(&mut name, &mut content);
        let mut header = tar::Header::new_gnu();
        header.as_gnu_mut().unwrap().name[..name.len()].copy_from_slice(name.as_bytes());
        header.set_size(content.len() as u64);
        header.set_mode(0o600);
        header.set_cksum();
        out.append(&header, &content[..]).unwrap();
    }
    out.into_inner().unwrap().finish().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_archive_that_is_damaged_or_was_tampered_with_leaves_nothing_behind() {
    let place = tempfile::tempdir().unwrap();
    let (data, file, new) =
        (place.path().join("data"), place.path().join("b.tar.gz"), place.path().join("new"));
    some_data(&data).await;
    backup(&data, &file, "1").unwrap();
    let bytes = fs::read(&file).unwrap();
    let bad = place.path().join("bad.tar.gz");
    let refuse = |what: &str, expected: &str| {
        let text = restore(&bad, &new, None).unwrap_err().to_string();
        assert!(text.contains(expected), "{what}: {text}");
        let left: Vec<_> =
            fs::read_dir(place.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left.len(), 3, "{what}: {left:?}");
    };
    // The last eight bytes are the checksum and the length of the whole.
    for length in [0, 5, 100, bytes.len() / 2, bytes.len() - 20, bytes.len() - 8, bytes.len() - 1] {
        fs::write(&bad, &bytes[..length]).unwrap();
        refuse(&format!("{length} bytes"), "is no whole back-up");
    }
    fs::write(&bad, b"something else entirely, which is no archive at all").unwrap();
    refuse("a text", "is no whole back-up");
    rewrite(&file, &bad, |name, content| {
        if name == "muster.db" {
            content[5000] ^= 1;
        }
    });
    refuse("a bit", "differs from its checksum");
    for evil in ["../evil", "/tmp/muster-evil", "a/../../evil", "master.key"] {
        rewrite(&file, &bad, |name, _| {
            if name == "ca.pem" {
                evil.clone_into(name);
            }
        });
        refuse(evil, "does not belong in it");
        rewrite(&file, &bad, |name, content| {
            if name == "manifest.json" {
                let text = String::from_utf8(content.clone()).unwrap().replace("ca.pem", evil);
                *content = text.into_bytes();
            } else if name == "ca.pem" {
                evil.clone_into(name);
            }
        });
        refuse(evil, "names other files than a back-up has");
    }
    rewrite(&file, &bad, |name, content| {
        if name == "manifest.json" {
            let text = String::from_utf8(content.clone()).unwrap().replace("\"format\": 1", "\"format\": 2");
            *content = text.into_bytes();
        }
    });
    refuse("a later format", "has format 2, this build reads format 1");
    let mut wrong = bytes.clone();
    let checksum = wrong.len() - 8;
    wrong[checksum] ^= 1;
    fs::write(&bad, &wrong).unwrap();
    refuse("another checksum", "is no whole back-up");
    rewrite(&file, &bad, |name, content| {
        if name == "manifest.json" {
            let mut manifest: serde_json::Value = serde_json::from_slice(content).unwrap();
            manifest["schema"] = 1.into();
            *content = serde_json::to_vec(&manifest).unwrap();
        }
    });
    refuse("another schema", "speaks of schema 1, its database has ");
    for build in ["\\u001b[2J", "1\\u202e", "", "1\\n2"] {
        rewrite(&file, &bad, |name, content| {
            if name == "manifest.json" {
                let (from, to) = ("\"build\": \"1\"", format!("\"build\": \"{build}\""));
                let text = String::from_utf8(content.clone()).unwrap();
                assert!(text.contains(from));
                *content = text.replace(from, &to).into_bytes();
            }
        });
        refuse(build, "its manifest makes no sense");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn restored_agents_are_known_and_come_back() {
    let place = tempfile::tempdir().unwrap();
    let (data, file, new) =
        (place.path().join("data"), place.path().join("b.tar.gz"), place.path().join("new"));
    let world = World::start(&data).await;
    let (password, token) = (world.first.admin_password.clone().unwrap(), world.token());
    let admin = world.admin().await;
    let mut agent = world.websocket().await;
    agent.ask(&full(1)).await;
    agent_when(&admin, 1, "the agent", |agent| agent.summary.state == "connected").await;
    let (from, to) = (data.clone(), file.clone());
    tokio::task::spawn_blocking(move || backup(&from, &to, "1")).await.unwrap().unwrap();
    drop(agent);
    world.stop().await;
    restore(&file, &new, None).unwrap();
    fs::copy(data.join("master.key"), new.join("master.key")).unwrap();
    let world = World::start(&new).await;
    let admin = world.log_in(&password).await;
    agent_when(&admin, 1, "the agent, gone", |agent| agent.summary.state == "disconnected").await;
    let bearer = format!("Bearer {token}");
    let mut agent = Connection::websocket(world.opamp, &[("authorization", &bearer)]).await;
    assert!(agent.ask(&full(1)).await.error_response.is_none());
    agent_when(&admin, 1, "the agent, back", |agent| agent.summary.state == "connected").await;
    world.stop().await;
}
