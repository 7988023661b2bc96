//! A host that exists only in memory: it does what a plan says, fails when it is told to, and shows what is there.
#![allow(dead_code, reason = "each test file uses its own part")]
#![allow(clippy::unwrap_used, reason = "these are tests, though no function here is one")]

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use host_proto::desired::{DesiredRun, File, Network, ReplicaSpec, Volume};
use host_proto::id::ReplicaId;
use host_proto::report::HealthState;
use host_proto::{DesiredState, Moment, Secret};
use reconcile::{
    Action, Actual, Allowed, Container, ContainerState, FileSeen, Item, Listed, Memory, Phase, Plan, Run,
    Seen, Step, Trouble, TroubleKind, plan,
};
use serde_json::json;

/// A host and what is wanted of it.
#[derive(Debug)]
pub(crate) struct World {
    pub(crate) desired: DesiredState,
    pub(crate) actual: Actual,
    pub(crate) memory: Memory,
    pub(crate) fresh: bool,
    /// Whom of it the control plane does not name.
    pub(crate) unclaimed: BTreeSet<ReplicaId>,
    pub(crate) now: Moment,
    /// Every action that was done, in order.
    pub(crate) done: Vec<Action>,
    next_id: u32,
}

impl World {
    pub(crate) fn new(desired: DesiredState) -> Self {
        Self {
            desired,
            actual: Actual::empty(),
            memory: Memory::new(1),
            fresh: true,
            unclaimed: BTreeSet::new(),
            now: Moment(1_000_000),
            done: Vec::new(),
            next_id: 0,
        }
    }

    /// A host on which everything that is wanted is there.
    pub(crate) fn settled(desired: DesiredState) -> Self {
        let mut world = Self::new(desired);
        world.settle();
        world
    }

    pub(crate) fn plan(&self) -> Plan {
        let unclaimed = self.unclaimed.clone();
        let allowed = Allowed { unclaimed, ..Allowed::of(&self.desired, self.fresh) };
        plan(&self.desired, &self.actual, &allowed, &self.memory, self.now)
    }

    /// Plans and carries out until nothing is to be done any more. Containers that were started become healthy.
    pub(crate) fn settle(&mut self) {
        for _ in 0..20 {
            let plan = self.plan();
            if plan.is_idle() {
                return;
            }
            self.carry_out(plan, &mut |_| None);
        }
        panic!("does not settle: {}", self.plan());
    }

    /// Carries out a plan; `fault` decides which actions fail.
    pub(crate) fn carry_out(&mut self, plan: Plan, fault: &mut dyn FnMut(&Action) -> Option<TroubleKind>) {
        let mut run = Run::new(plan);
        for phase in Phase::ALL {
            while let Some(step) = run.next(phase, |_| true) {
                self.memory.begin(&step.item);
                let outcome = self.step(&step, fault);
                run.end(&step.item, outcome.is_ok());
                self.memory.end(self.now, &step.item, outcome);
            }
            assert!(run.is_over(phase));
        }
        let plan = self.plan();
        self.memory.keep(|item| plan.mentions(item));
    }

    fn step(
        &mut self,
        step: &Step,
        fault: &mut dyn FnMut(&Action) -> Option<TroubleKind>,
    ) -> Result<(), Trouble> {
        for action in &step.actions {
            if let Some(kind) = fault(action) {
                return Err(Trouble { text: format!("cannot {action}"), kind });
            }
            self.act(action).map_err(|text| Trouble { text, kind: TroubleKind::Retry })?;
            self.done.push(action.clone());
        }
        Ok(())
    }

    pub(crate) fn wait(&mut self, time: Duration) {
        self.now = self.now + time;
    }

    pub(crate) fn containers(&mut self) -> &mut Vec<Container> {
        match &mut self.actual.containers {
            Seen::Known(containers) => containers,
            Seen::Unknown(why) => panic!("{why}"),
        }
    }

    pub(crate) fn networks(&mut self) -> &mut Listed {
        match &mut self.actual.networks {
            Seen::Known(listed) => listed,
            Seen::Unknown(why) => panic!("{why}"),
        }
    }

    pub(crate) fn volumes(&mut self) -> &mut Listed {
        match &mut self.actual.volumes {
            Seen::Known(listed) => listed,
            Seen::Unknown(why) => panic!("{why}"),
        }
    }

    pub(crate) fn files(&mut self) -> &mut BTreeMap<host_proto::id::FileId, FileSeen> {
        match &mut self.actual.files {
            Seen::Known(files) => files,
            Seen::Unknown(why) => panic!("{why}"),
        }
    }

    pub(crate) fn container(&mut self, replica: &str) -> &mut Container {
        let found = self.containers().iter_mut().find(|one| one.replica_id.as_str() == replica);
        found.unwrap_or_else(|| panic!("{replica} has no container"))
    }

    /// The desired replica with this number.
    pub(crate) fn spec(&mut self, number: usize) -> &mut ReplicaSpec {
        &mut self.desired.replicas[number - 1]
    }

    fn act(&mut self, action: &Action) -> Result<(), String> {
        match action {
            Action::CreateNetwork { network, name } => make(self.networks(), network.as_str(), name),
            Action::CreateVolume { volume, name } => make(self.volumes(), volume.as_str(), name),
            Action::RemoveNetwork { name } => {
                if self.containers().iter().any(|one| one.networks.contains_key(name)) {
                    return Err("network has active endpoints".to_owned());
                }
                take_away(self.networks(), name)
            }
            Action::DeleteVolume { name } => {
                if self.containers().iter().any(|one| one.volumes.contains(name)) {
                    return Err("volume is in use".to_owned());
                }
                take_away(self.volumes(), name)
            }
            Action::WriteFile { file } => {
                self.files().insert(file.clone(), FileSeen::Right);
                Ok(())
            }
            Action::RemoveFile { file } => {
                self.files().remove(file).map(|_| ()).ok_or("no such file".to_owned())
            }
            Action::PullImage { image } => {
                self.actual.images.insert(image.clone());
                Ok(())
            }
            Action::CreateContainer { replica, name } => self.create(replica.as_str(), name),
            Action::Connect { container, network, ip } => {
                let ip = *ip;
                self.at(container)?.networks.insert(network.clone(), Some(ip));
                Ok(())
            }
            Action::Start { container } => {
                let one = self.at(container)?;
                one.state = ContainerState::Running;
                Ok(())
            }
            Action::Stop { container, .. } | Action::Kill { container } => {
                let one = self.at(container)?;
                one.state = ContainerState::Exited;
                Ok(())
            }
            Action::RemoveContainer { container, force } => {
                let one = self.at(container)?;
                if one.is_active() && !force {
                    return Err("cannot remove a running container".to_owned());
                }
                let id = one.id.clone();
                self.containers().retain(|one| one.id != id);
                Ok(())
            }
        }
    }

    fn at(&mut self, container: &str) -> Result<&mut Container, String> {
        let found = self.containers().iter_mut().find(|one| one.id == container || one.name == container);
        found.ok_or_else(|| format!("no such container: {container}"))
    }

    fn create(&mut self, replica: &str, name: &str) -> Result<(), String> {
        if self.at(name).is_ok() {
            return Err(format!("the container name {name} is already in use"));
        }
        let spec = self.desired.replicas.iter().find(|spec| spec.replica_id.as_str() == replica);
        let spec = spec.ok_or("no such replica")?.clone();
        let image = reconcile::images::pull_name(&spec.image);
        if !self.actual.images.contains(&image) {
            return Err(format!("no such image: {image}"));
        }
        self.next_id += 1;
        let mut container = container(&spec, &format!("c{}", self.next_id));
        for at in &spec.networks {
            let network =
                self.desired.networks.iter().find(|one| one.id == at.network_id).ok_or("no network")?;
            let name = network.name.clone();
            if !self.networks().ours.values().any(|one| *one == name) {
                return Err(format!("network {name} not found"));
            }
            container.networks.insert(name, Some(at.ip));
        }
        self.containers().push(container);
        Ok(())
    }
}

fn make(listed: &mut Listed, id: &str, name: &str) -> Result<(), String> {
    if listed.foreign.contains(name) || listed.ours.values().any(|one| one == name) {
        return Err(format!("{name} already exists"));
    }
    listed.ours.insert(id.to_owned(), name.to_owned());
    Ok(())
}

fn take_away(listed: &mut Listed, name: &str) -> Result<(), String> {
    assert!(!listed.foreign.contains(name), "{name} is not ours");
    let before = listed.ours.len();
    listed.ours.retain(|_, one| one != name);
    if listed.ours.len() < before { Ok(()) } else { Err(format!("{name} not found")) }
}

/// The container of a replica, made and not started.
pub(crate) fn container(spec: &ReplicaSpec, id: &str) -> Container {
    Container {
        id: id.to_owned(),
        name: spec.name.clone(),
        replica_id: spec.replica_id.clone(),
        service_id: spec.service_id.clone(),
        release_id: spec.release_id.clone(),
        title: format!("{}/{}-{}", spec.project, spec.service, spec.number),
        spec_hash: spec.spec_hash.clone(),
        state: ContainerState::Created,
        health: HealthState::None,
        exit_code: None,
        image: "sha256:1".to_owned(),
        networks: BTreeMap::new(),
        volumes: BTreeSet::new(),
        files: BTreeSet::new(),
        details: None,
    }
}

/// A replica of service `web` in the network `net_1`.
pub(crate) fn replica(number: u32) -> ReplicaSpec {
    serde_json::from_value(json!({
        "replica_id": format!("rep_{number}"), "service_id": "svc_web", "release_id": "rel_1", "project": "shop",
        "service": "web", "number": number, "name": format!("shop-web-{number}"), "spec_hash": "h1",
        "image": {"ref": "nginx:1"},
        "networks": [{"network_id": "net_1", "ip": format!("10.208.4.{}", number + 1)}],
    }))
    .unwrap()
}

pub(crate) fn network(number: u32) -> Network {
    serde_json::from_value(json!({
        "id": format!("net_{number}"), "name": format!("muster-shop-{number}"), "bridge": format!("mst{number}"),
        "project_id": "prj_1", "project": "shop", "subnet": format!("10.208.{number}.0/24"),
        "gateway": format!("10.208.{number}.1"),
    }))
    .unwrap()
}

pub(crate) fn volume(number: u32) -> Volume {
    let (id, name) = (format!("vol_{number}"), format!("muster-data-{number}"));
    serde_json::from_value(json!({"id": id, "name": name})).unwrap()
}

pub(crate) fn file(number: u32) -> File {
    let id = format!("fil_{number}");
    let mut file: File = serde_json::from_value(json!({"id": id, "sha256": "00", "size_bytes": 0})).unwrap();
    file.inline_b64 = Some(Secret::new(""));
    file
}

/// A state with so many replicas of one service, in one network.
pub(crate) fn state(replicas: u32) -> DesiredState {
    let mut state = DesiredState::empty("epoch", 1);
    state.networks.push(network(1));
    state.replicas = (1..=replicas).map(replica).collect();
    state
}

/// Replicas that should run.
pub(crate) fn running(state: &DesiredState) -> BTreeSet<Item> {
    let wanted = state.replicas.iter().filter(|spec| spec.desired == DesiredRun::Running);
    wanted.map(|spec| Item::Replica(spec.replica_id.clone())).collect()
}
