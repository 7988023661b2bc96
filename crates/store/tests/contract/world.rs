//! A database of a test's own, and agents to fill it with.

use model::{
    Attribute, AttributeValue, Attributes, CredentialId, SessionEpoch, TokenHash, Transport, UnixMillis,
};
use opamp_proto::wire::{AgentDescription, ComponentHealth, KeyValue, Message as _};
use opamp_proto::{AgentCapabilities, InstanceUid, Part};
use store::{
    AgentWrite, AuditEntry, EnrolOutcome, Enrolment, NewCredential, OpenOptions, SessionStart, Store,
};

pub(crate) const NOW: UnixMillis = UnixMillis(1_700_000_000_000);

/// Who does what a test does.
pub(crate) fn entry() -> AuditEntry {
    entry_at(NOW.0)
}

pub(crate) fn entry_at(now: i64) -> AuditEntry {
    AuditEntry::of_system(UnixMillis(now), "test.write", "test")
}

pub(crate) struct World {
    pub(crate) store: Store,
    pub(crate) credential: CredentialId,
    directory: tempfile::TempDir,
}

/// A fresh database with one credential.
pub(crate) async fn open() -> World {
    let directory = tempfile::tempdir().unwrap();
    let store = open_in(&directory, NOW);
    let credential = credential(&store, "first").await;
    World { store, credential, directory }
}

fn open_in(directory: &tempfile::TempDir, now: UnixMillis) -> Store {
    Store::open(OpenOptions::serve(directory.path().join("muster.db"), "test"), now).unwrap()
}

pub(crate) async fn credential(store: &Store, label: &str) -> CredentialId {
    let new =
        NewCredential { label: label.into(), hash: TokenHash::of(label), created_at: NOW, expires_at: None };
    store.create_credential(new, entry()).await.unwrap().id
}

impl World {
    /// The server stops and another start follows.
    pub(crate) fn restart(self, now: UnixMillis) -> Self {
        self.store.close();
        let Self { store, credential, directory } = self;
        drop(store);
        Self { store: open_in(&directory, now), credential, directory }
    }

    pub(crate) fn epoch(&self, session: u64) -> SessionEpoch {
        SessionEpoch { server: self.store.server_epoch(), session }
    }

    /// A write of an agent's first session that changes nothing yet.
    pub(crate) fn write(&self, n: u8) -> AgentWrite {
        AgentWrite::new(uid(n), self.epoch(1), NOW)
    }

    /// A new session of an agent.
    pub(crate) fn session(&self, n: u8, session: u64, since: UnixMillis) -> AgentWrite {
        let start =
            SessionStart { transport: Transport::WebSocket, peer_address: "10.0.0.1:99".into(), since };
        AgentWrite { session: Some(start), ..AgentWrite::new(uid(n), self.epoch(session), since) }
    }

    pub(crate) async fn enrol_write(&self, now: UnixMillis, first: AgentWrite) -> EnrolOutcome {
        let enrolment = Enrolment { credential: self.credential, now, first };
        self.store.enrol(vec![enrolment]).await.unwrap()[0]
    }

    /// Enrols an agent with these attributes.
    pub(crate) async fn enrol(&self, n: u8, attributes: &[(&str, &str)]) {
        let attributes =
            attributes.iter().map(|(key, value)| Attribute::new(*key, (*value).into())).collect();
        let first = with_part(self.session(n, 1, NOW), Part::Description, &description(attributes));
        let first = AgentWrite { capabilities: Some(AgentCapabilities::from_bits(1)), ..first };
        assert_eq!(self.enrol_write(NOW, first).await, EnrolOutcome::Enrolled);
    }
}

pub(crate) fn uid(n: u8) -> InstanceUid {
    let mut bytes = [0xa0; 16];
    bytes[15] = n;
    InstanceUid::try_from_slice(&bytes).unwrap()
}

pub(crate) fn description(identifying: Vec<Attribute>) -> Vec<u8> {
    let identifying_attributes = identifying.into_iter().map(KeyValue::from).collect();
    AgentDescription { identifying_attributes, non_identifying_attributes: Vec::new() }.encode_to_vec()
}

pub(crate) fn description_of(attributes: Attributes) -> Vec<u8> {
    let wire = |list: Vec<Attribute>| list.into_iter().map(KeyValue::from).collect();
    AgentDescription {
        identifying_attributes: wire(attributes.identifying),
        non_identifying_attributes: wire(attributes.non_identifying),
    }
    .encode_to_vec()
}

pub(crate) fn health(healthy: bool, status: &str) -> Vec<u8> {
    ComponentHealth { healthy, status: status.into(), ..Default::default() }.encode_to_vec()
}

pub(crate) fn with_part(mut write: AgentWrite, part: Part, bytes: &[u8]) -> AgentWrite {
    write.parts.set(part, Some(bytes.to_vec().into()));
    write
}

pub(crate) fn text(value: &str) -> AttributeValue {
    value.into()
}
