//! Where replicas go that are to be spread: evenly over the values of a label or over hosts, as far as hosts can take them.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on has failed")]

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;

use host_proto::id::{HostId, ProjectId, ReleaseId, ReplicaId, ServiceId, VolumeId};
use host_proto::message::{DockerFacts, Facts, LeftVolume};
use model::UnixMillis;
use model::hosting::{Host, HostMode, Phase, Project, ProjectWorld, Release, Replica, Service};
use model::service::{
    ContainerSpec, DEFAULT_NETWORK, FORMAT, Mount, MountSource, NetworkSpec, Order, Placement, Scale,
    ServiceSpec, Shared, Spread, Update, VolumeSpec,
};
use proptest::prelude::*;
use scheduler::left::{Left, left};
use scheduler::{Blocks, Change, HostView, Presence, place, step};

fn host(number: u8, zone: Option<&str>) -> HostView {
    let facts = Facts { docker: Some(DockerFacts::default()), ..Facts::default() };
    let host = Host {
        id: HostId::generate(1, [number; 10]),
        name: format!("h{number}"),
        machine_id: String::new(),
        instance_id: String::new(),
        wg_public_key: String::new(),
        mesh_ip: Ipv4Addr::LOCALHOST,
        labels: zone.map(|zone| ("zone".to_owned(), zone.to_owned())).into_iter().collect(),
        facts,
        agent_version: String::new(),
        mode: HostMode::Normal,
        allowed_paths: Vec::new(),
        adopting: false,
        generation: 0,
        epoch: None,
        joined_at: UnixMillis(0),
        last_seen: None,
        version: 1,
    };
    HostView {
        host,
        presence: Presence::Online,
        engine_down: false,
        replicas: 0,
        ports: BTreeMap::new(),
        foreign_ports: BTreeSet::new(),
        blocks: Blocks::new("10.208.0.0/12".parse().unwrap()),
        unknown: 0,
        left_volumes: None,
        items: Vec::new(),
        routes: scheduler::Routes::new(),
        closed: scheduler::Closed::new(),
        drained: scheduler::Drained::new(),
    }
}

/// A project whose only service runs, or is to run, one release.
struct Fleet {
    world: ProjectWorld,
    hosts: Vec<HostView>,
}

impl Fleet {
    fn new(spread: Option<Spread>, count: u32, hosts: Vec<HostView>) -> Self {
        let project_id = ProjectId::generate(1, [1; 10]);
        let service_id = ServiceId::generate(1, [1; 10]);
        let project = Project {
            id: project_id.clone(),
            name: "shop".to_owned(),
            networks: Vec::new(),
            volumes: Vec::new(),
            created_at: UnixMillis(0),
            version: 1,
        };
        let release = release(&service_id, 1, spread, count);
        let service = Service {
            id: service_id,
            project_id,
            name: "web".to_owned(),
            current: Some(release.id.clone()),
            created_at: UnixMillis(0),
        };
        let world = ProjectWorld {
            project,
            services: vec![service],
            releases: [(release.id.clone(), release)].into(),
            replicas: Vec::new(),
            networks: Vec::new(),
            volumes: Vec::new(),
            deployment: None,
        };
        Self { world, hosts }
    }

    fn release(&self) -> &Release {
        &self.world.releases[self.world.services[0].current.as_ref().unwrap()]
    }

    /// A replica of a release that serves.
    fn serves(&mut self, number: u32, release: &ReleaseId, host: usize) {
        let last = u8::try_from(self.world.replicas.len()).unwrap();
        self.world.replicas.push(Replica {
            id: ReplicaId::generate(1, [last; 10]),
            service_id: self.world.services[0].id.clone(),
            release_id: release.clone(),
            host_id: self.hosts[host].host.id.clone(),
            number,
            phase: Phase::Serving,
            phase_since: UnixMillis(0),
            addresses: Vec::new(),
            created_at: UnixMillis(0),
            report: None,
            reported_since: None,
        });
    }

    /// What one step adds, by the names of hosts.
    fn added(&self) -> Vec<String> {
        let name = |id: &HostId| self.hosts.iter().find(|it| it.host.id == *id).unwrap().host.name.clone();
        let adds = step(&self.world, &self.hosts, UnixMillis(1_000)).changes.into_iter();
        adds.filter_map(|it| match it {
            Change::Add { host_id, .. } => Some(name(&host_id)),
            _ => None,
        })
        .collect()
    }

    /// Where the next replica goes, when others were decided just now.
    fn next(&self, coming: &[HostId]) -> Option<HostId> {
        place(&self.world, &self.world.services[0], self.release(), &self.hosts, coming).host
    }
}

fn release(service: &ServiceId, number: u8, spread: Option<Spread>, count: u32) -> Release {
    let image = format!("web:{number}").parse().unwrap();
    let spec = ServiceSpec {
        format: FORMAT,
        container: ContainerSpec::new(image),
        scale: Scale::Replicas { count },
        placement: Placement { spread, ..Placement::default() },
        update: Update { order: Order::StartFirst, deadline_ms: None },
        ports: Vec::new(),
        depends_on: Vec::new(),
        shared: Shared {
            networks: vec![NetworkSpec { name: DEFAULT_NETWORK.to_owned(), internal: false }],
            volumes: Vec::new(),
        },
    };
    Release {
        id: ReleaseId::generate(1, [number; 10]),
        service_id: service.clone(),
        number: u32::from(number),
        container_hash: scheduler::hash::container_hash(&spec.container, &BTreeMap::new()).unwrap(),
        spec,
        files: BTreeMap::new(),
        author: String::new(),
        message: String::new(),
        created_at: UnixMillis(0),
    }
}

fn zones() -> Option<Spread> {
    Some(Spread::Label("zone".to_owned()))
}

#[test]
fn replicas_that_come_at_once_are_spread_too_and_without_a_word_they_stay_together() {
    let hosts = || vec![host(1, Some("a")), host(2, Some("a")), host(3, Some("b")), host(4, None)];
    let added = |spread, count| Fleet::new(spread, count, hosts()).added();
    assert_eq!(added(zones(), 4), ["h1", "h3", "h1", "h3"]);
    assert_eq!(added(Some(Spread::Hosts), 5), ["h1", "h2", "h3", "h4", "h1"]);
    assert_eq!(added(None, 3), ["h1", "h1", "h1"]);
}

#[test]
fn a_host_without_the_label_is_the_last_and_better_than_none() {
    let mut fleet = Fleet::new(zones(), 2, vec![host(1, None), host(2, Some("a"))]);
    assert_eq!(fleet.added(), ["h2", "h2"]);
    fleet.hosts[1].host.mode = HostMode::Cordoned;
    assert_eq!(fleet.added(), ["h1", "h1"]);
}

#[test]
fn a_service_that_grows_fills_up_where_there_are_fewest_also_away_from_its_project() {
    let mut fleet = Fleet::new(zones(), 4, vec![host(1, Some("a")), host(2, Some("b"))]);
    let release = fleet.release().id.clone();
    fleet.serves(1, &release, 0);
    fleet.serves(2, &release, 0);
    assert_eq!(fleet.added(), ["h2", "h2"]);
    let placed = place(&fleet.world, &fleet.world.services[0], fleet.release(), &fleet.hosts[..1], &[]);
    assert!(!placed.at_home, "hosts that the project is not on could be chosen");
}

#[test]
fn an_update_counts_what_is_new_and_ends_as_even_as_before() {
    let hosts = vec![host(1, Some("a")), host(2, Some("b")), host(3, Some("c"))];
    let mut fleet = Fleet::new(zones(), 3, hosts);
    let old = fleet.release().id.clone();
    let new = release(&fleet.world.services[0].id, 2, zones(), 3);
    let id = new.id.clone();
    fleet.world.releases.insert(id.clone(), new);
    fleet.world.services[0].current = Some(id.clone());
    (0..3).for_each(|at| fleet.serves(u32::try_from(at).unwrap() + 1, &old, at));
    let mut went = Vec::new();
    for number in 1..=3 {
        let host = fleet.added();
        assert_eq!(host.len(), 1, "one at a time");
        let at = fleet.hosts.iter().position(|it| it.host.name == host[0]).unwrap();
        fleet.world.replicas.retain(|it| it.number != number);
        fleet.serves(number, &id, at);
        went.extend(host);
    }
    assert_eq!(went, ["h1", "h2", "h3"]);
}

/// A project whose service has a volume, and hosts of which some say what they have.
fn with_volume(hosts: Vec<HostView>) -> Fleet {
    let mut fleet = Fleet::new(None, 1, hosts);
    let id = fleet.release().id.clone();
    let spec = &mut fleet.world.releases.get_mut(&id).unwrap().spec;
    let source = MountSource::Volume { volume: "data".to_owned(), no_copy: false };
    spec.container.mounts = vec![Mount { target: "/data".to_owned(), source, read_only: false }];
    spec.shared.volumes = vec![VolumeSpec { name: "data".to_owned(), options: BTreeMap::new() }];
    fleet
}

/// A host that says it has these volumes, which nobody knows: `data` of the project.
fn has(mut view: HostView, seeds: &[u8]) -> HostView {
    let left = seeds.iter().map(|seed| {
        let volume_id = VolumeId::generate(1, [*seed; 10]);
        let text = volume_id.as_str().to_ascii_lowercase();
        let name = format!("muster-shop-data-{}", &text[text.len() - 6..]);
        LeftVolume { volume_id, name, host_id: None }
    });
    view.left_volumes = Some(left.collect());
    view
}

fn adopting(mut view: HostView) -> HostView {
    view.host.adopting = true;
    view
}

impl Fleet {
    fn placed(&self) -> scheduler::Placed {
        place(&self.world, &self.world.services[0], self.release(), &self.hosts, &[])
    }
}

#[test]
fn r26_a_service_goes_where_the_volume_lies_that_a_restored_server_does_not_know() {
    let (empty, there) = (has(host(1, None), &[]), has(host(2, None), &[7]));
    let mut fleet = with_volume(vec![empty, there.clone()]);
    let placed = fleet.placed();
    assert_eq!(placed.host, Some(there.host.id.clone()));
    assert!(!placed.at_home, "any host could have had it");
    let words = placed.refusals["h1"].to_string();
    assert_eq!(words, "does not have the volume data, which is on h2");
    assert_eq!(fleet.added(), ["h2"]);
    match left(&fleet.world, "data", &fleet.hosts) {
        Left::There(view, it) => {
            assert_eq!((&*view.host.name, it), ("h2", &there.left_volumes.unwrap()[0]));
        }
        other => panic!("{other:?}"),
    }
    // One of the same name in another project, and one that was made for another host, are nobody's.
    let volumes = fleet.hosts[1].left_volumes.as_mut().unwrap();
    volumes[0].name = volumes[0].name.replace("shop", "shop-data");
    assert!(matches!(left(&fleet.world, "data", &fleet.hosts), Left::Nothing));
    fleet.hosts[1] = has(host(2, None), &[7]);
    fleet.hosts[1].left_volumes.as_mut().unwrap()[0].host_id = Some(HostId::generate(1, [9; 10]));
    assert!(matches!(left(&fleet.world, "data", &fleet.hosts), Left::Nothing));
    assert_eq!(fleet.placed().host, Some(fleet.hosts[0].host.id.clone()));
}

#[test]
fn r26_no_volume_begins_empty_while_it_is_not_clear_whose_data_there_is() {
    let refused = |hosts: Vec<HostView>| {
        let placed = with_volume(hosts).placed();
        assert_eq!(placed.host, None);
        (placed.why_not(), placed.soon)
    };
    // Who else writes to it is not known.
    let mut there = adopting(has(host(2, None), &[7]));
    there.unknown = 1;
    let (why, soon) = refused(vec![host(1, None), there.clone()]);
    assert!(
        why.contains("muster hosts set h2 --adopting=false removes those and keeps the volume") && !soon,
        "{why}"
    );
    there.host.adopting = false;
    let (why, soon) = refused(vec![host(1, None), there]);
    assert!(why.contains("are being removed there") && soon, "{why}");
    // Which of two it is is not known, on one host or on two.
    for hosts in [vec![has(host(1, None), &[7, 8])], vec![has(host(1, None), &[7]), has(host(2, None), &[8])]]
    {
        let (why, soon) = refused(hosts);
        assert!(why.contains("and this server knows neither") && !soon, "{why}");
    }
    // A host that knows more than the server has not said what it has.
    let silent = |presence| HostView { presence, ..adopting(host(2, None)) };
    for (presence, words, becomes) in [
        (Presence::Gone, "h2 is offline, and may have a volume data", false),
        (Presence::Awaited, "h2 has not connected yet, and may have a volume data", true),
        (Presence::Online, "h2 has not said yet which volumes it has", true),
    ] {
        let (why, soon) = refused(vec![has(host(1, None), &[]), silent(presence)]);
        assert!(why.starts_with(words) && why.contains("muster hosts set h2 --adopting=false"), "{why}");
        assert_eq!(soon, becomes, "{why}");
    }
    let mut down = adopting(has(host(2, None), &[]));
    down.engine_down = true;
    assert!(refused(vec![host(1, None), down]).0.starts_with("h2 has no container engine that answers"));
    // One that said it has none is believed, and one that does not adopt has nothing that is not known.
    for other in [adopting(has(host(2, None), &[])), host(2, None)] {
        assert!(with_volume(vec![host(1, None), other]).placed().host.is_some());
    }
}

#[test]
fn r26_what_is_not_clear_yet_is_waited_for_and_fails_nothing() {
    let fleet = with_volume(vec![has(host(1, None), &[]), adopting(host(2, None))]);
    let step = step(&fleet.world, &fleet.hosts, UnixMillis(1_000));
    assert!(step.changes.is_empty() && step.look_at.is_some() && step.looks_further, "{step:?}");
    let waits: Vec<_> = step.waits.into_values().collect();
    assert!(waits[0].starts_with("h2 has not said yet"), "{waits:?}");
}

proptest! {
    /// Whatever hosts there are and whatever runs already: the next replica goes to a value that has the fewest of those that
    /// can take it, and to a host without the label only when no other can.
    #[test]
    fn the_next_replica_goes_where_there_are_fewest(
        hosts in prop::collection::vec((prop::option::of(0..4_u8), any::<bool>()), 1..9),
        there in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
        coming in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
        over_hosts in any::<bool>(),
    ) {
        let views = hosts.iter().zip(1..).map(|((zone, up), number)| {
            let mut view = host(number, zone.map(|zone| format!("z{zone}")).as_deref());
            view.presence = if *up { Presence::Online } else { Presence::Gone };
            view
        });
        let over = if over_hosts { Spread::Hosts } else { Spread::Label("zone".to_owned()) };
        let mut fleet = Fleet::new(Some(over), 20, views.collect());
        let release = fleet.release().id.clone();
        for (at, number) in there.iter().zip(1..) {
            fleet.serves(number, &release, at.index(hosts.len()));
        }
        let coming: Vec<usize> = coming.iter().map(|it| it.index(hosts.len())).collect();
        let ids: Vec<HostId> = coming.iter().map(|it| fleet.hosts[*it].host.id.clone()).collect();
        let value = |at: usize| if over_hosts { Some(at) } else { hosts[at].0.map(usize::from) };
        let all: Vec<usize> = there.iter().map(|it| it.index(hosts.len())).chain(coming).collect();
        let count = |at: usize| all.iter().filter(|it| value(**it) == value(at)).count();
        let can: Vec<usize> = (0..hosts.len()).filter(|at| hosts[*at].1).collect();
        let chosen = fleet.next(&ids).map(|id| fleet.hosts.iter().position(|it| it.host.id == id).unwrap());
        match chosen {
            None => prop_assert!(can.is_empty()),
            Some(at) => {
                prop_assert!(can.contains(&at));
                let labelled = can.iter().filter(|it| value(**it).is_some());
                match (value(at), labelled.map(|it| count(*it)).min()) {
                    (Some(_), least) => prop_assert_eq!(Some(count(at)), least),
                    (None, least) => prop_assert_eq!(least, None),
                }
            }
        }
    }

    /// Of any number of replicas on hosts that can take all of them no value gets two more than another.
    #[test]
    fn values_differ_by_one_at_most(
        hosts in prop::collection::vec(0..4_u8, 1..9),
        count in 1..24_u32,
    ) {
        let views = hosts.iter().zip(1..).map(|(zone, number)| host(number, Some(&format!("z{zone}"))));
        let fleet = Fleet::new(zones(), count, views.collect());
        let mut counts: BTreeMap<u8, u32> = hosts.iter().map(|zone| (*zone, 0)).collect();
        for name in fleet.added() {
            let at: usize = name[1..].parse().unwrap();
            *counts.get_mut(&hosts[at - 1]).unwrap() += 1;
        }
        prop_assert_eq!(counts.values().sum::<u32>(), count);
        prop_assert!(counts.values().max().unwrap() - counts.values().min().unwrap() <= 1, "{:?}", counts);
    }
}
