//! Kills a process in the middle of its writes and looks at what it left.

use std::io::{BufRead, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use model::TokenHash;

use super::world::{credential, enrolment, open, status, uid};

const DIRECTORY: &str = "MUSTER_TEST_CRASH_DIRECTORY";
const AGENTS: u32 = 40;

/// The child's side: writes until it is killed, and says after each answer what is done. Run as an ordinary
/// test, without a directory, it has nothing to do.
#[tokio::test]
async fn a_child_that_writes_until_it_is_killed() {
    let Some(directory) = std::env::var_os(DIRECTORY).map(PathBuf::from) else { return };
    let store = open(&directory);
    let credential = credential(&store, "fixture").await;
    store.enrol((0..AGENTS).map(|n| enrolment(&store, credential, n)).collect()).await.unwrap();
    let behind = store.clone();
    tokio::spawn(async move {
        for round in 0u32.. {
            let text = round.to_string();
            behind.write_agents((0..AGENTS).map(|n| status(&behind, n, &text)).collect()).await.unwrap();
        }
    });
    for n in 0u32.. {
        self::credential(&store, &format!("acknowledged {n}")).await;
        store.put_setting("last", n.to_string()).await.unwrap();
        let mut out = std::io::stdout();
        writeln!(out, "done {n}").unwrap();
        out.flush().unwrap();
    }
}

/// A child that has acknowledged at least `rounds` writes; the last of them that was read.
fn child(directory: &Path, rounds: u32) -> (Child, u32) {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "crash::a_child_that_writes_until_it_is_killed", "--nocapture", "--test-threads=1"])
        .env(DIRECTORY, directory)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut done = lines.map_while(Result::ok).filter_map(|line| line.strip_prefix("done ")?.parse().ok());
    let last = done.find(|n| *n >= rounds).expect("the child writes");
    (child, last)
}

#[tokio::test]
async fn nothing_acknowledged_is_lost_when_the_process_is_killed() {
    for rounds in [3, 17] {
        let directory = tempfile::tempdir().unwrap();
        let (mut child, last) = child(directory.path(), rounds);
        child.kill().unwrap();
        child.wait().unwrap();
        let store = open(directory.path());
        for n in 0..=last {
            let hash = TokenHash::of(&format!("acknowledged {n}"));
            assert!(store.credential_by_hash(hash).await.unwrap().is_some(), "write {n} of {last} is lost");
        }
        let setting: u32 = store.setting("last").await.unwrap().unwrap().parse().unwrap();
        assert!(setting >= last);
        assert_eq!(store.agent_counts().await.unwrap().disconnected, u64::from(AGENTS));
    }
}

/// A power cut can take the end of the log with it: whole batches may be missing, never a part of one.
#[tokio::test]
async fn a_torn_log_loses_whole_batches_and_only_from_its_end() {
    let directory = tempfile::tempdir().unwrap();
    let (mut child, _) = child(directory.path(), 12);
    child.kill().unwrap();
    child.wait().unwrap();
    let log = std::fs::read(directory.path().join("muster.db-wal")).unwrap();
    let mut newest = u32::MAX;
    for keep in [log.len(), log.len() - 1, log.len() - 5000, log.len() * 2 / 3, log.len() / 2] {
        let torn = tempfile::tempdir().unwrap();
        std::fs::copy(directory.path().join("muster.db"), torn.path().join("muster.db")).unwrap();
        std::fs::write(torn.path().join("muster.db-wal"), &log[..keep]).unwrap();
        let store = open(torn.path());
        let first = store.get_agent(uid(0)).await.unwrap().unwrap().summary.health_status;
        for n in 1..AGENTS {
            let agent = store.get_agent(uid(n)).await.unwrap().unwrap();
            assert_eq!(agent.summary.health_status, first, "agent {n} after {keep} of {} bytes", log.len());
        }
        let round = first.parse().unwrap_or(0);
        assert!(round <= newest, "a shorter log holds nothing newer");
        newest = round;
    }
}
