//! A host of a test's own on a shared engine: its host id keeps it apart from the others.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use host_drivers::docker::{Engine, EngineOptions, FilePlaces, Look, Observer};
use host_drivers::files::Files;
use host_drivers::hands::Hands;
use host_proto::desired::{File, ReplicaSpec};
use host_proto::id::HostId;
use host_proto::{DesiredState, Moment, Secret};
use reconcile::{Actual, Allowed, Container, Memory, Phase, Plan, Run, plan};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use testkit::found;

pub(crate) struct World {
    pub(crate) hands: Hands,
    pub(crate) observer: Observer,
    pub(crate) desired: DesiredState,
    pub(crate) memory: Memory,
    pub(crate) actual: Actual,
    tag: String,
    third: u8,
    _root: tempfile::TempDir,
}

fn socket() -> PathBuf {
    let socket = std::env::var_os("MUSTER_TEST_DOCKER");
    socket
        .expect("MUSTER_TEST_DOCKER names the socket of an engine; tests/lab/test_drivers.py runs this")
        .into()
}

impl World {
    /// A host with one network. `third` is the third part of its addresses: another one for each test.
    pub(crate) async fn new(third: u8) -> Self {
        let socket = socket();
        let root = tempfile::tempdir_in("/dev/shm").unwrap();
        let files = FilePlaces { files: root.path().join("files"), secrets: root.path().join("secrets") };
        let tag = format!("{}x{third}", std::process::id());
        let host: HostId = format!("hst_{tag}").parse().unwrap();
        let options =
            EngineOptions { socket, host, files: files.clone(), allow_host_paths: vec!["/usr/share".into()] };
        let engine = Arc::new(Engine::connect(options).await.unwrap());
        let hands = Hands { engine: Arc::clone(&engine), files: Files::new(files) };
        let mut desired = DesiredState::empty("epoch", 1);
        desired.dns.domain = "internal".to_owned();
        desired.removals =
            serde_json::from_value(json!({"replicas": 9, "networks": 9, "volumes": 9})).unwrap();
        let actual = Actual::empty();
        let observer = Observer::new(engine);
        let mut world =
            Self { hands, observer, desired, memory: Memory::new(1), actual, tag, third, _root: root };
        world.add_network("1", third);
        world
    }

    pub(crate) fn add_network(&mut self, number: &str, third: u8) {
        let tag = &self.tag;
        let network = json!({
            "id": format!("net_{tag}x{number}"), "name": format!("muster-t-{tag}-{number}"),
            "bridge": format!("mst{third}n{number}"), "project_id": "prj_1", "project": "shop",
            "subnet": format!("10.253.{third}.0/24"), "gateway": format!("10.253.{third}.1"), "mtu": 1400,
        });
        self.desired.networks.push(serde_json::from_value(network).unwrap());
    }

    pub(crate) fn add_volume(&mut self) -> String {
        let tag = &self.tag;
        let volume = json!({"id": format!("vol_{tag}"), "name": format!("muster-t-{tag}-data")});
        self.desired.volumes.push(serde_json::from_value(volume).unwrap());
        format!("vol_{tag}")
    }

    pub(crate) fn add_file(&mut self, number: u32, content: &[u8], secret: bool) -> String {
        let id = format!("fil_{}x{number}", self.tag);
        let mut file: File = serde_json::from_value(json!({
            "id": id, "sha256": hex::encode(Sha256::digest(content)), "size_bytes": content.len(),
            "secret": secret, "mode": 0o444,
        }))
        .unwrap();
        file.inline_b64 = Some(Secret::new(STANDARD.encode(content)));
        self.desired.files.push(file);
        id
    }

    /// A replica that runs a script; `more` overrides what it is made of.
    pub(crate) fn add_replica(&mut self, number: u32, script: &str, more: Value) {
        let (tag, third) = (&self.tag, self.third);
        let mut spec = json!({
            "replica_id": format!("rep_{tag}x{number}"), "service_id": format!("svc_{tag}"), "release_id": "rel_1",
            "project": "shop", "service": "web", "number": number, "name": format!("t-{tag}-{number}"),
            "spec_hash": "h1", "image": {"ref": "bb:1", "pull": "never"}, "command": ["/bin/sh", "-c", script],
            "networks": [{"network_id": format!("net_{tag}x1"), "ip": format!("10.253.{third}.{}", number + 1)}],
            "stop": {"grace_ms": 1000},
        });
        spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        self.desired.replicas.push(serde_json::from_value(spec).unwrap());
    }

    pub(crate) fn spec(&self, number: usize) -> &ReplicaSpec {
        &self.desired.replicas[number - 1]
    }

    pub(crate) async fn observe(&mut self, suspects: BTreeSet<String>) {
        let desired = Arc::new(self.desired.clone());
        let look = Look { lists: true, suspects, ..Look::default() };
        self.actual = self.hands.observe(&mut self.observer, Some(&desired), &look).await;
    }

    pub(crate) fn plan(&self) -> Plan {
        let allowed = Allowed::of(&self.desired, true);
        plan(&self.desired, &self.actual, &allowed, &self.memory, Moment(1_000_000))
    }

    /// One pass: observe, plan, do. Returns the plan.
    pub(crate) async fn pass(&mut self) -> Plan {
        self.observe(BTreeSet::new()).await;
        let plan = self.plan();
        let desired = Arc::new(self.desired.clone());
        let mut run = Run::new(plan.clone());
        for phase in Phase::ALL {
            while let Some(step) = run.next(phase, |_| true) {
                let outcome = self.hands.carry_out(&step, &desired).await;
                run.end(&step.item, outcome.is_ok());
                self.memory.end(Moment(1_000_000), &step.item, outcome);
            }
        }
        plan
    }

    /// Passes until nothing is to be done.
    pub(crate) async fn settle(&mut self) {
        for _ in 0..5 {
            if self.pass().await.is_idle() {
                return;
            }
        }
        panic!("does not settle:\n{}", self.plan());
    }

    pub(crate) fn containers(&self) -> &[Container] {
        self.actual.containers.known().expect("an engine that answers")
    }

    /// Observes until a container is as wanted.
    pub(crate) async fn wait_for(&mut self, number: usize, wanted: impl Fn(&Container) -> bool) -> Container {
        let id = self.spec(number).replica_id.clone();
        found(&format!("container of {id}"), async || {
            self.observe(self.suspects()).await;
            self.containers().iter().find(|one| one.replica_id == id).filter(|one| wanted(one)).cloned()
        })
        .await
    }

    fn suspects(&self) -> BTreeSet<String> {
        self.actual.containers.known().into_iter().flatten().map(|one| one.id.clone()).collect()
    }

    /// Takes everything away again.
    pub(crate) async fn tear_down(mut self) {
        self.desired.replicas.clear();
        self.desired.networks.clear();
        self.desired.files.clear();
        for volume in &mut self.desired.volumes {
            volume.state = host_proto::desired::VolumeState::Delete;
            volume.delete_confirmation = Some(volume.id.to_string());
        }
        self.memory = Memory::new(1);
        self.settle().await;
        assert!(self.containers().is_empty());
        assert!(self.actual.networks.known().unwrap().ours.is_empty());
        assert!(self.actual.volumes.known().unwrap().ours.is_empty());
        assert!(self.actual.files.known().unwrap().is_empty());
    }
}
