//! What an agent keeps over a restart.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};

use bytes::Bytes;
use opamp_client::proto::InstanceUid;
use opamp_client::proto::wire::{AgentIdentification, RemoteConfigStatuses, ServerToAgent};
use opamp_client::{BuildError, FileStorage, Saved, SavedConfig, Storage};
use proptest::prelude::*;
use testkit::FakeServer;

use crate::support::*;

fn saved(byte: u8) -> Saved {
    Saved { instance_uid: InstanceUid::try_from_slice(&[byte; 16]).unwrap(), remote_config: None }
}

#[test]
fn c38_the_state_file_is_replaced_as_a_whole_and_keeps_mode_0600() {
    let directory = tempfile::tempdir().unwrap();
    let mut storage = FileStorage::new(directory.path().join("made/on/demand"));
    assert_eq!(storage.load().unwrap(), None);
    storage.save(&saved(1)).unwrap();
    let mode = |storage: &FileStorage| fs::metadata(storage.path()).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&storage), 0o600);
    let inode = fs::metadata(storage.path()).unwrap().ino();
    // What a crash left behind, and a file that somebody opened up, change nothing.
    let leftover = storage.path().with_extension("new");
    fs::write(&leftover, "half").unwrap();
    fs::set_permissions(&leftover, fs::Permissions::from_mode(0o666)).unwrap();
    fs::set_permissions(storage.path(), fs::Permissions::from_mode(0o644)).unwrap();
    storage.save(&saved(2)).unwrap();
    assert_eq!(storage.load().unwrap(), Some(saved(2)));
    assert_eq!(mode(&storage), 0o600);
    assert_ne!(fs::metadata(storage.path()).unwrap().ino(), inode, "the file was written in place");
    assert!(!leftover.exists());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn what_is_stored_is_what_is_read(
        uid in prop::array::uniform16(1u8..),
        hash in prop::collection::vec(any::<u8>(), 0..64),
        status in 0i32..4,
        error in any::<String>(),
        interruptions in any::<u32>(),
    ) {
        let directory = tempfile::tempdir().unwrap();
        let status = RemoteConfigStatuses::try_from(status).unwrap();
        let remote_config = Some(SavedConfig { hash: hash.into(), status, error, interruptions });
        let saved = Saved { instance_uid: InstanceUid::try_from_slice(&uid).unwrap(), remote_config };
        FileStorage::new(directory.path()).save(&saved).unwrap();
        prop_assert_eq!(FileStorage::new(directory.path()).load().unwrap(), Some(saved));
    }

    #[test]
    fn a_damaged_file_is_an_error_and_never_another_agent(text in any::<String>()) {
        let directory = tempfile::tempdir().unwrap();
        let mut storage = FileStorage::new(directory.path());
        fs::write(storage.path(), &text).unwrap();
        prop_assert!(storage.load().is_err());
    }
}

#[tokio::test]
async fn a_client_does_not_start_over_state_that_it_cannot_read() {
    let directory = tempfile::tempdir().unwrap();
    let storage = FileStorage::new(directory.path());
    fs::write(storage.path(), "opamp-client-state 1\ninstance_uid 7\n").unwrap();
    let refused = builder("ws://127.0.0.1:1").storage(storage).start().await;
    let Err(BuildError::Storage(cause)) = refused else { panic!("the client started") };
    assert!(cause.to_string().contains("instance_uid"), "{cause}");
}

#[tokio::test]
async fn uid_15_a_new_instance_uid_is_in_storage_before_it_is_used_and_after_a_restart() {
    let directory = tempfile::tempdir().unwrap();
    let server = FakeServer::plain().await;
    let start = || builder(server.url("ws")).storage(FileStorage::new(directory.path())).start();
    let (client, _events) = start().await.unwrap();
    let mut peer = server.accept().await;
    peer.upgrade().await;
    let message = peer.message().await;
    let new_instance_uid = Bytes::from_static(&[9; 16]);
    let identification = Some(AgentIdentification { new_instance_uid: new_instance_uid.clone() });
    peer.push(&ServerToAgent { agent_identification: identification, ..answer_to(&message) }).await;
    client.set_health(health("renamed"));
    let mut next = peer.message().await;
    if next.instance_uid != new_instance_uid {
        // The health was quicker than the server's message.
        client.set_health(health("renamed and changed"));
        next = peer.message().await;
    }
    assert_eq!(next.instance_uid, new_instance_uid);
    let stored = FileStorage::new(directory.path()).load().unwrap().unwrap();
    assert_eq!(stored.instance_uid.to_bytes(), new_instance_uid);
    drop((client, peer));

    let (client, _events) = start().await.unwrap();
    assert_eq!(client.instance_uid().to_bytes(), new_instance_uid);
}
