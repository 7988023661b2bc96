//! A made-up host with a virtual clock, and the control plane's part in it: decisions are written down as the store would.

mod engine;

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use host_proto::DesiredState;
use host_proto::desired::Section;
use host_proto::id::{HostId, NetworkId, ProjectId, ReleaseId, ReplicaId, ServiceId};
use host_proto::message::{DockerFacts, Facts};
use host_proto::report::{HealthState, ItemResult, ItemState, ReplicaReport, ReplicaState};
use model::UnixMillis;
use model::hosting::{
    Address, Deployment, DeploymentId, DeploymentItem, DeploymentState, Host, HostMode, ItemOutcome,
    NetworkPlace, Phase, Project, ProjectWorld, Release, Replica, Service,
};
use model::service::{
    Check, Condition, ContainerSpec, DEFAULT_NETWORK, Dependency, FORMAT, Health, Mount, MountSource,
    NetworkSpec, Order, Placement, Port, Protocol, Scale, ServiceSpec, Shared, Update,
};
use scheduler::{Blocks, Change, HostView, HostWorld, Presence, desired_state, step};

use self::engine::Engine;

/// What becomes of containers of an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    NoImage,
    NeverHealthy,
    Unhealthy,
    Exits,
    Silent,
}

impl Fate {
    pub(crate) fn of(number: u8) -> Option<Self> {
        [Self::NoImage, Self::NeverHealthy, Self::Unhealthy, Self::Exits].get(usize::from(number)).copied()
    }
}

pub(crate) fn spec(image: &str) -> Wish {
    Wish(ServiceSpec {
        format: FORMAT,
        container: ContainerSpec::new(image.parse().unwrap()),
        scale: Scale::Replicas { count: 1 },
        placement: Placement::default(),
        update: Update { order: Order::StartFirst, deadline_ms: None },
        ports: Vec::new(),
        depends_on: Vec::new(),
        shared: Shared { networks: vec![network(false)], volumes: Vec::new() },
    })
}

fn network(internal: bool) -> NetworkSpec {
    NetworkSpec { name: DEFAULT_NETWORK.to_owned(), internal }
}

fn mount(volume: &str) -> Mount {
    let source = MountSource::Volume { volume: volume.to_owned(), no_copy: false };
    Mount { target: format!("/{volume}"), source, read_only: false }
}

#[derive(Debug, Clone)]
pub(crate) struct Wish(ServiceSpec);

impl Wish {
    pub(crate) fn times(mut self, count: u32) -> Self {
        self.0.scale = Scale::Replicas { count };
        self
    }

    pub(crate) fn order(mut self, order: Order) -> Self {
        self.0.update.order = order;
        self
    }

    /// Nothing outside of its network is reached from it.
    pub(crate) fn internal(mut self) -> Self {
        self.0.shared.networks = vec![network(true)];
        self
    }

    /// It mounts a volume, and does not say what that is.
    pub(crate) fn unknown_volume(mut self, name: &str) -> Self {
        self.0.container.mounts.push(mount(name));
        self
    }

    pub(crate) fn checked(mut self) -> Self {
        let check = Check::Exec { command: vec!["true".to_owned()] };
        self.0.container.health = Some(Health { interval_ms: 1000, timeout_ms: 1000, ..Health::new(check) });
        self
    }

    pub(crate) fn after(mut self, service: &str, condition: Condition) -> Self {
        self.0.depends_on.push(Dependency { service: service.to_owned(), condition });
        self
    }

    pub(crate) fn port(mut self, host: u16, container: u16) -> Self {
        self.0.ports.push(Port { host, container, protocol: Protocol::Tcp, host_ip: None });
        self
    }
}

type Watch = Box<dyn Fn(&Sim)>;

pub(crate) struct Sim {
    now: i64,
    next: u8,
    world: ProjectWorld,
    host: HostView,
    fates: BTreeMap<String, Fate>,
    watch: Option<Watch>,
    last: Option<Deployment>,
    answers: bool,
    engine: Engine,
}

impl Sim {
    pub(crate) fn new() -> Self {
        let id = HostId::generate(1, [1; 10]);
        let facts = Facts { docker: Some(DockerFacts::default()), memory_bytes: 1 << 33, ..Facts::default() };
        let host = Host {
            id: id.clone(),
            name: "h1".to_owned(),
            machine_id: String::new(),
            instance_id: String::new(),
            wg_public_key: String::new(),
            mesh_ip: Ipv4Addr::LOCALHOST,
            labels: BTreeMap::new(),
            facts,
            agent_version: String::new(),
            mode: HostMode::Normal,
            allowed_paths: Vec::new(),
            adopting: false,
            epoch: None,
            generation: 0,
            joined_at: UnixMillis(0),
            last_seen: None,
            version: 1,
        };
        let project_id = ProjectId::generate(1, [1; 10]);
        let network = network(false);
        let world = ProjectWorld {
            project: Project {
                id: project_id.clone(),
                name: "shop".to_owned(),
                networks: vec![network.clone()],
                volumes: Vec::new(),
                created_at: UnixMillis(0),
                version: 1,
            },
            services: Vec::new(),
            releases: BTreeMap::new(),
            replicas: Vec::new(),
            networks: vec![NetworkPlace {
                id: NetworkId::generate(1, [1; 10]),
                project_id,
                host_id: id,
                spec: network,
                subnet: "10.208.0.0/24".parse().unwrap(),
            }],
            volumes: Vec::new(),
            deployment: None,
        };
        let host = HostView {
            host,
            presence: Presence::Online,
            engine_down: false,
            replicas: 0,
            ports: BTreeMap::new(),
            foreign_ports: std::collections::BTreeSet::new(),
            unknown: 0,
            left_volumes: None,
            items: Vec::new(),
            blocks: Blocks::new("10.208.0.0/20".parse().unwrap()),
            routes: scheduler::Routes::new(),
            closed: scheduler::Closed::new(),
            drained: scheduler::Drained::new(),
        };
        Self {
            now: 1_000_000,
            next: 0,
            world,
            host,
            fates: BTreeMap::new(),
            watch: None,
            last: None,
            answers: true,
            engine: Engine::default(),
        }
    }

    /// A host that is not online says nothing, and nothing reaches it.
    pub(crate) fn presence(&mut self, presence: Presence) {
        self.host.presence = presence;
    }

    /// The host's agent answers, and its engine does not.
    pub(crate) fn engine_down(&mut self, is_down: bool) {
        self.host.engine_down = is_down;
    }

    /// Runs until the deployment is over, whatever its host still has to do.
    pub(crate) fn end(&mut self) {
        self.run_until(|sim| sim.world.deployment.is_none());
        self.watch = None;
    }

    /// Whether the host says that it has applied what it was told.
    pub(crate) fn answers(&mut self, answers: bool) {
        self.answers = answers;
    }

    /// Where the routes lead that the host said are applied.
    pub(crate) fn applied_routes(&self) -> scheduler::Routes {
        self.host.routes.clone()
    }

    /// Whether a port of the host is to lead to anybody.
    pub(crate) fn leads(&self, port: u16) -> bool {
        let routes = self.desired().routes;
        routes.iter().any(|route| route.listen_port == Some(port) && !route.upstreams.is_empty())
    }

    pub(crate) fn now(&self) -> i64 {
        self.now
    }

    /// From now on the host says of each of these ports that it cannot be opened.
    pub(crate) fn taken(&mut self, port: u16) {
        let routes = self.desired().routes;
        let mine = routes.into_iter().filter(|route| route.listen_port == Some(port));
        self.host.items = mine
            .map(|route| ItemResult {
                section: Section::Routes,
                id: route.id.to_string(),
                name: format!("port {port}/tcp"),
                state: ItemState::Failed,
                error: Some("address already in use".to_owned()),
                attempts: 1,
                retry_in_ms: None,
            })
            .collect();
    }

    pub(crate) fn fate(&mut self, image: &str, fate: Fate) {
        self.fates.insert(image.to_owned(), fate);
    }

    /// Looked at after every step of the next deployment.
    pub(crate) fn watch(&mut self, watch: impl Fn(&Self) + 'static) {
        self.watch = Some(Box::new(watch));
    }

    fn random(&mut self) -> (u64, [u8; 10]) {
        self.next += 1;
        (u64::try_from(self.now).unwrap() * 256 + u64::from(self.next), [self.next; 10])
    }

    pub(crate) fn deploy(&mut self, wish: &[(&str, Wish)]) {
        self.watch = None;
        let mut items = Vec::new();
        for (name, Wish(spec)) in wish {
            if self.world.service(name).is_none() {
                let (ms, random) = self.random();
                let id = ServiceId::generate(ms, random);
                let project_id = self.world.project.id.clone();
                let created_at = UnixMillis(self.now);
                self.world.services.push(Service {
                    id,
                    project_id,
                    name: (*name).to_owned(),
                    current: None,
                    created_at,
                });
            }
            let service = self.world.service(name).unwrap().clone();
            let (ms, random) = self.random();
            let release = Release {
                id: ReleaseId::generate(ms, random),
                service_id: service.id.clone(),
                number: 0,
                container_hash: scheduler::hash::container_hash(&spec.container, &BTreeMap::new()).unwrap(),
                spec: spec.clone(),
                files: BTreeMap::new(),
                author: String::new(),
                message: String::new(),
                created_at: UnixMillis(self.now),
            };
            let (from, to) = (service.current.clone(), Some(release.id.clone()));
            items.push(DeploymentItem {
                service_id: service.id,
                service_name: service.name,
                from,
                to,
                outcome: ItemOutcome::Waiting,
            });
            self.world.releases.insert(release.id.clone(), release);
        }
        for service in &self.world.services {
            let is_there = service.current.is_some() || self.world.replicas_of(&service.id).next().is_some();
            if is_there && !wish.iter().any(|(name, _)| *name == service.name) {
                let from = service.current.clone();
                items.push(DeploymentItem {
                    service_id: service.id.clone(),
                    service_name: service.name.clone(),
                    from,
                    to: None,
                    outcome: ItemOutcome::Waiting,
                });
            }
        }
        self.world.deployment = Some(Deployment {
            id: DeploymentId(1),
            project_id: self.world.project.id.clone(),
            state: DeploymentState::Running,
            reason: None,
            items,
            created_by: String::new(),
            message: String::new(),
            created_at: UnixMillis(self.now),
            finished_at: None,
        });
    }

    /// What each service runs or is to run, as a wish.
    pub(crate) fn current(&self) -> Vec<(&'static str, Wish)> {
        let named = |name: &str| ["a", "b", "c"].into_iter().find(|it| *it == name).unwrap();
        let release = |service: &Service| {
            let id = service.current.as_ref()?;
            Some((named(&service.name), Wish(self.world.releases[id].spec.clone())))
        };
        self.world.services.iter().filter_map(release).collect()
    }

    /// What is decided when all hosts are looked at; the same as when only those are that the project is on, unless that
    /// says that they are not enough.
    fn decided(&self) -> scheduler::Step {
        let now = UnixMillis(self.now);
        let mut other = self.host.clone();
        other.host.id = HostId::generate(1, [2; 10]);
        (other.host.name, other.presence) = ("h2".to_owned(), Presence::Gone);
        let all = [self.host.clone(), other];
        let at_home = |view: &&HostView| self.world.hosts().contains(&view.host.id);
        let home: Vec<HostView> = all.iter().filter(at_home).cloned().collect();
        let (near, far) = (step(&self.world, &home, now), step(&self.world, &all, now));
        assert!(near.looks_further || near == far, "{near:?} is not {far:?}");
        far
    }

    /// One look of the controller, and a little time for the host.
    fn tick(&mut self) {
        for _ in 0..16 {
            self.host.blocks.ours = self.world.networks.iter().map(|it| it.subnet).collect();
            let decided = self.decided();
            if decided.changes.is_empty() {
                break;
            }
            decided.changes.into_iter().for_each(|change| self.apply(change));
            if let Some(watch) = &self.watch {
                watch(self);
            }
        }
        self.now += 250;
        self.live();
        if let Some(watch) = &self.watch {
            watch(self);
        }
    }

    fn apply(&mut self, change: Change) {
        let now = UnixMillis(self.now);
        match change {
            Change::Add { service_id, release_id, number, host_id, phase } => {
                let (ms, random) = self.random();
                let place = self.place();
                let [a, b, c, _] = place.subnet.base.octets();
                self.world.replicas.push(Replica {
                    id: ReplicaId::generate(ms, random),
                    service_id,
                    release_id,
                    host_id,
                    number,
                    phase,
                    phase_since: now,
                    addresses: vec![Address { network_id: place.id, ip: Ipv4Addr::new(a, b, c, self.next) }],
                    created_at: now,
                    report: None,
                    reported_since: None,
                });
            }
            Change::Phase { replica_id, phase } => {
                let replica = self.world.replicas.iter_mut().find(|it| it.id == replica_id).unwrap();
                assert!(phase > replica.phase, "a phase goes back");
                if phase == Phase::Starting {
                    // Its container was made and starts now.
                    replica.created_at = now;
                }
                (replica.phase, replica.phase_since) = (phase, now);
            }
            Change::Adopt { replica_id, release_id } => {
                self.world.replicas.iter_mut().find(|it| it.id == replica_id).unwrap().release_id =
                    release_id;
            }
            Change::Leave { network_id, .. } => {
                let left = self.world.networks.iter().find(|it| it.id == network_id).unwrap();
                self.host.blocks.refused.push(left.subnet);
                self.world.networks.retain(|it| it.id != network_id);
            }
            Change::Forget(id) => self.world.replicas.retain(|it| it.id != id),
            Change::Item { service_id, outcome } => {
                let deployment = self.world.deployment.as_mut().unwrap();
                deployment.items.iter_mut().find(|it| it.service_id == service_id).unwrap().outcome = outcome;
            }
            Change::Deployment { state, reason } => {
                let deployment = self.world.deployment.as_mut().unwrap();
                deployment.state = state;
                deployment.reason = reason.or(deployment.reason.take());
                if state == DeploymentState::Done {
                    for item in &deployment.items {
                        let service =
                            self.world.services.iter_mut().find(|it| it.id == item.service_id).unwrap();
                        service.current.clone_from(&item.to);
                    }
                }
                if state.is_over() {
                    self.last = self.world.deployment.take();
                }
            }
        }
    }

    /// Containers become what they become.
    fn live(&mut self) {
        if self.host.presence != Presence::Online || self.host.engine_down {
            return;
        }
        if self.answers {
            self.host.routes = scheduler::desired::routes_of(&self.desired());
            self.host.closed = scheduler::desired::closed_of(&self.desired());
            let now = UnixMillis(self.now);
            let drains = self.world.replicas.iter().filter(|it| it.phase == Phase::Draining);
            self.host.drained = drains
                .map(|it| (it.id.clone(), self.host.drained.get(&it.id).copied().unwrap_or(now)))
                .collect();
        }
        self.network();
        let now = self.now;
        let (releases, fates, networks) = (&self.world.releases, &self.fates, &self.engine);
        for replica in &mut self.world.replicas {
            let release = &releases[&replica.release_id];
            let fate = fates.get(&release.spec.container.image.short()).copied();
            let age = now - replica.created_at.0;
            let checked = release.spec.container.health.is_some();
            let stands = networks.has_all(&replica.addresses);
            let fate = if stands || replica.is_made() { fate } else { Some(Fate::NoImage) };
            let state = match (replica.phase, fate) {
                (Phase::Removing, _) if now - replica.phase_since.0 > 500 => {
                    (ReplicaState::Removed, HealthState::None, 0)
                }
                (_, Some(Fate::Silent)) => continue,
                (_, Some(Fate::NoImage)) => (ReplicaState::Failed, HealthState::None, 0),
                (Phase::Preparing, _) => (ReplicaState::Creating, HealthState::None, 0),
                (_, Some(Fate::Exits)) => {
                    (ReplicaState::Restarting, HealthState::None, u64::try_from(age / 1000).unwrap())
                }
                (_, Some(Fate::NeverHealthy)) => (ReplicaState::Running, HealthState::Starting, 0),
                (_, Some(Fate::Unhealthy)) if age > 3000 => {
                    (ReplicaState::Unhealthy, HealthState::Unhealthy, 0)
                }
                (_, Some(Fate::Unhealthy)) => (ReplicaState::Running, HealthState::Starting, 0),
                (_, None) if age < 500 => (ReplicaState::Creating, HealthState::None, 0),
                (_, None) if !checked => (ReplicaState::Running, HealthState::None, 0),
                (_, None) if age < 2000 => (ReplicaState::Running, HealthState::Starting, 0),
                (_, None) => (ReplicaState::Running, HealthState::Healthy, 0),
            };
            let made = replica.is_made() || (fate != Some(Fate::NoImage) && age >= 500);
            let ids = (replica.id.clone(), replica.service_id.clone(), replica.release_id.clone());
            let report = ReplicaReport {
                container_id: made.then(|| replica.id.to_string()),
                health: state.1,
                restarts: state.2,
                ..ReplicaReport::of(ids, "", state.0)
            };
            if replica.report.as_ref() != Some(&report) {
                (replica.report, replica.reported_since) = (Some(report), Some(UnixMillis(now)));
            }
        }
    }

    pub(crate) fn steps(&mut self, count: u32) {
        (0..count).for_each(|_| self.tick());
    }

    pub(crate) fn run_until(&mut self, done: impl Fn(&Self) -> bool) {
        for _ in 0..4000 {
            if done(self) {
                return;
            }
            self.tick();
        }
        panic!("it does not come to an end: {:#?}", self.world);
    }

    pub(crate) fn finish(&mut self) {
        self.run_until(|sim| sim.world.deployment.is_none());
        self.watch = None;
        self.run_until(|sim| sim.world.replicas.iter().all(|it| it.phase == Phase::Serving));
        self.steps(40);
    }

    pub(crate) fn state(&self) -> DeploymentState {
        self.last.as_ref().unwrap().state
    }

    pub(crate) fn reason(&self) -> String {
        self.last.as_ref().unwrap().reason.clone().unwrap_or_default()
    }

    fn of(&self, service: &str) -> impl Iterator<Item = &Replica> {
        let id = self.world.service(service).map(|it| it.id.clone());
        self.world.replicas.iter().filter(move |it| Some(&it.service_id) == id.as_ref())
    }

    /// Replicas with a container that runs or is to run, whatever their phase.
    pub(crate) fn count(&self, service: &str) -> usize {
        let rests = |it: &Replica| it.phase == Phase::Preparing;
        self.of(service).filter(|it| it.state() != ReplicaState::Removed && !rests(it)).count()
    }

    /// Replicas of an image with a container, whatever that does.
    pub(crate) fn made(&self, service: &str, image: &str) -> usize {
        let its = |it: &&Replica| self.world.releases[&it.release_id].spec.container.image.short() == image;
        self.of(service).filter(its).filter(|it| it.is_made()).count()
    }

    pub(crate) fn serving(&self, service: &str) -> usize {
        self.of(service).filter(|it| it.phase == Phase::Serving && it.is_ready()).count()
    }

    pub(crate) fn ids(&self, service: &str) -> Vec<ReplicaId> {
        self.of(service).map(|it| it.id.clone()).collect()
    }

    pub(crate) fn images(&self, service: &str) -> Vec<String> {
        self.of(service).map(|it| self.world.releases[&it.release_id].spec.container.image.short()).collect()
    }

    /// The images of replicas in a phase.
    pub(crate) fn images_in(&self, service: &str, phase: Phase) -> Vec<String> {
        let image = |it: &Replica| self.world.releases[&it.release_id].spec.container.image.short();
        self.of(service).filter(|it| it.phase == phase).map(image).collect()
    }

    pub(crate) fn is_deploying(&self) -> bool {
        self.world.deployment.is_some()
    }

    /// From now on what runs says that it mounts a volume that has no place.
    pub(crate) fn wants_volume(&mut self, service: &str, volume: &str) {
        let id = self.world.service(service).unwrap().id.clone();
        for release in self.world.releases.values_mut().filter(|it| it.service_id == id) {
            release.spec.container.mounts.push(mount(volume));
        }
    }

    pub(crate) fn phase(&self, id: &ReplicaId) -> Phase {
        self.world.replica(id).unwrap().phase
    }

    pub(crate) fn in_phase(&self, phase: Phase) -> usize {
        self.world.replicas.iter().filter(|it| it.phase == phase).count()
    }

    pub(crate) fn desired(&self) -> DesiredState {
        desired_state(&HostWorld {
            host: &self.host.host,
            epoch: "e",
            generation: 1,
            projects: std::slice::from_ref(&self.world),
            files: &BTreeMap::new(),
            registries: &[],
            unknown: 0,
        })
    }

    pub(crate) fn assert_at_rest(&self) {
        for service in &self.world.services {
            let release = service.current.as_ref().map(|id| &self.world.releases[id]);
            let wanted = release.map_or(0, |it| it.spec.scale.count());
            assert_eq!(self.of(&service.name).count(), wanted as usize, "{}", service.name);
            for replica in self.of(&service.name) {
                let its = &self.world.releases[&replica.release_id];
                assert_eq!(Some(&its.container_hash), release.map(|it| &it.container_hash));
            }
        }
    }
}
