//! A database file of a test's own.

use std::path::Path;

use model::{CredentialId, SessionEpoch, TokenHash, UnixMillis};
use opamp_proto::wire::{ComponentHealth, Message as _};
use opamp_proto::{InstanceUid, Part};
use store::{AgentWrite, AuditEntry, Enrolment, NewCredential, OpenOptions, Store};

pub(crate) const NOW: UnixMillis = UnixMillis(1_700_000_000_000);

pub(crate) fn options(directory: &Path) -> OpenOptions {
    OpenOptions::serve(directory.join("muster.db"), "9.9.9")
}

pub(crate) fn open(directory: &Path) -> Store {
    Store::open(options(directory), NOW).unwrap()
}

pub(crate) async fn credential(store: &Store, label: &str) -> CredentialId {
    let new =
        NewCredential { label: label.into(), hash: TokenHash::of(label), created_at: NOW, expires_at: None };
    store.create_credential(new, AuditEntry::of_system(NOW, "token.create", "token")).await.unwrap().id
}

pub(crate) fn uid(n: u32) -> InstanceUid {
    let mut bytes = [0xa0; 16];
    bytes[12..].copy_from_slice(&n.to_be_bytes());
    InstanceUid::try_from_slice(&bytes).unwrap()
}

/// A change of an agent's health with this status text.
pub(crate) fn status(store: &Store, n: u32, status: &str) -> AgentWrite {
    let epoch = SessionEpoch { server: store.server_epoch(), session: 1 };
    let mut write = AgentWrite::new(uid(n), epoch, NOW);
    let health = ComponentHealth { healthy: true, status: status.into(), ..Default::default() };
    write.parts.set(Part::Health, Some(health.encode_to_vec().into()));
    write
}

pub(crate) fn enrolment(store: &Store, credential: CredentialId, n: u32) -> Enrolment {
    Enrolment { credential, now: NOW, first: status(store, n, "new") }
}
