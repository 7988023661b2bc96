//! What a deployment would do, worked out from what is wished and what is there.

use std::collections::BTreeMap;

use host_proto::id::{FileId, HostId};
use model::hosting::{Phase, Project, ProjectWorld, Release, Replica, Service, VolumePlace};
use model::service::{Order, Spread};
use scheduler::blocks::parted;
use scheduler::left::{self, Left};
use scheduler::{HostView, place, words};
use store::StoreError;

use super::size::{self, Growths};
use super::{
    DeployError, Files, Given, Services, Wish, files_of, in_order, new_project, new_release, new_service,
};
use crate::clock;
use crate::services::views::{Wanted, has_ports};

/// What a deployment would do.
#[derive(Debug, Clone)]
pub(crate) struct Outline {
    /// The project as it would be.
    pub(crate) project: Project,
    /// Each service, those first that others depend on; those that go last.
    pub(crate) planned: Vec<Planned>,
    /// What somebody should look at.
    pub(crate) warnings: Vec<String>,
    /// Why it would not come to its end.
    pub(crate) refusals: Vec<String>,
    /// The sizes of files that came along.
    pub(super) sizes: BTreeMap<FileId, usize>,
    /// What it adds to the states of hosts.
    pub(super) growths: Growths,
}

impl Outline {
    /// Nobody has looked at yet where its services would run.
    pub(super) fn new(project: Project, planned: Vec<Planned>) -> Self {
        Self {
            project,
            planned,
            warnings: Vec::new(),
            refusals: Vec::new(),
            sizes: BTreeMap::new(),
            growths: Growths::new(),
        }
    }
}

/// What a deployment would do to a service.
#[derive(Debug, Clone)]
pub(crate) struct Planned {
    /// The service.
    pub(crate) service: Service,
    /// Whether it is a new one.
    pub(crate) is_new_service: bool,
    /// What it would run; none: it goes.
    pub(crate) release: Option<Release>,
    /// Whether that release is a new one.
    pub(crate) is_new_release: bool,
    /// What happens.
    pub(crate) change: Change,
    /// What is another, in words.
    pub(crate) changes: Vec<String>,
    /// Replicas before.
    pub(crate) before: u32,
    /// Hosts, by name.
    pub(crate) hosts: Vec<String>,
    /// How its replicas are spread, in words, when it asks for that.
    pub(crate) spread: Option<String>,
}

/// What happens to a service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Change {
    /// It comes.
    New,
    /// Its replicas are replaced.
    Changed,
    /// Its replicas stay; there are more or fewer, or their ports are others.
    Scaled,
    /// Nothing.
    Unchanged,
    /// It goes.
    Removed,
}

impl Change {
    /// The word in API and CLI.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Changed => "changed",
            Self::Scaled => "scaled",
            Self::Unchanged => "unchanged",
            Self::Removed => "removed",
        }
    }
}

impl Outline {
    /// Whether everything is as it should be already.
    pub(crate) fn is_nothing(&self) -> bool {
        self.planned.iter().all(|it| it.change == Change::Unchanged)
    }
}

impl Planned {
    /// Replicas after.
    pub(crate) fn after(&self) -> u32 {
        self.release.as_ref().map_or(0, |release| release.spec.scale.count())
    }

    /// What several replicas with volumes have to do with each other.
    fn shared_volumes(&self) -> Option<String> {
        let volumes: Vec<&str> = self.release.iter().flat_map(|it| it.spec.volumes()).collect();
        let words =
            model::service::shared_volumes(self.after(), &volumes, self.hosts.first().map(String::as_str))?;
        Some(format!("{}: {words}", self.service.name))
    }
}

impl Services {
    /// Works out what a wish means for a project. A service that the files no longer name goes.
    pub(super) async fn outline(
        &self,
        rows: Option<ProjectWorld>,
        name: &str,
        wish: &Wish,
        files: &Files,
    ) -> Result<Outline, DeployError> {
        let now = clock::now();
        let rows = rows.map_or_else(|| new_project(name, now), Ok)?;
        let mut project = rows.project.clone();
        project.networks.clone_from(&wish.compose.networks);
        project.volumes.clone_from(&wish.compose.volumes);
        let world = ProjectWorld { project: project.clone(), ..rows };
        let mut planned = Vec::new();
        for wished in in_order(&wish.compose.services) {
            planned.push(planned_service(&world, wished, files, wish.force)?);
        }
        for service in &world.services {
            let named = wish.compose.services.iter().any(|it| it.name == service.name);
            let is_there = service.current.is_some() || world.replicas_of(&service.id).any(|it| it.stays());
            if !named && is_there {
                planned.push(going(&world, service));
            }
        }
        let mut outline = Outline::new(project, planned);
        let size = |it: &Given| Some((files.get(&(it.kind, it.name.clone()))?.clone(), it.bytes.len()));
        outline.sizes = wish.contents.iter().filter_map(size).collect();
        outline.warnings.extend(wish.compose.warnings.iter().map(ToString::to_string));
        Ok(self.placed(outline, &world).await?)
    }

    /// An outline with the hosts that its services would run on. Others than those that the project is on are read only
    /// when these are not enough.
    pub(super) async fn placed(&self, outline: Outline, world: &ProjectWorld) -> Result<Outline, StoreError> {
        let published = |it: &Planned| it.release.as_ref().is_some_and(|it| !it.spec.ports.is_empty());
        let ports = has_ports(world) || outline.planned.iter().any(published);
        let home = Wanted::at_home(world, ports);
        let mut placed = outline.clone();
        if placed.place(world, &self.host_views(&home).await?) {
            return self.weighed(placed).await;
        }
        let mut placed = outline;
        placed.place(world, &self.host_views(&home.everywhere()).await?);
        self.weighed(placed).await
    }
}

impl Outline {
    /// Where each service would run, and why not; whether all of them are at home on these hosts.
    fn place(&mut self, world: &ProjectWorld, hosts: &[HostView]) -> bool {
        let mut at_home = true;
        let mut used = std::collections::BTreeSet::new();
        for planned in &mut self.planned {
            let here = world.replicas_of(&planned.service.id).filter(|it| it.stays());
            let names = here.filter_map(|it| hosts.iter().find(|view| view.host.id == it.host_id));
            let mut names: std::collections::BTreeSet<String> =
                names.map(|it| it.host.name.clone()).collect();
            let grows = planned.change != Change::Unchanged && planned.after() > 0;
            if let Some(release) = planned.release.as_ref().filter(|_| grows) {
                let over = release.spec.placement.spread.as_ref();
                let comes = coming(world, planned, release);
                // Without a spread all that come at once go to one host. Whether one could come is looked at in any case.
                let looks = over.map_or(1, |_| comes.max(1));
                let mut chosen = Vec::new();
                for _ in 0..looks {
                    let placed = place(world, &planned.service, release, hosts, &chosen);
                    at_home &= placed.at_home;
                    let Some(id) = placed.host else {
                        self.refusals.push(format!("{}: {}", planned.service.name, placed.why_not()));
                        break;
                    };
                    chosen.push(id);
                }
                if over.is_some() {
                    chosen.truncate(comes);
                }
                let chosen: Vec<&HostView> = chosen.iter().filter_map(|id| view_of(hosts, id)).collect();
                self.warnings.extend(begun(world, planned, release, hosts, &chosen));
                let all = chosen.iter().copied().cycle();
                let all: Vec<&HostView> = all.take(if chosen.is_empty() { 0 } else { comes }).collect();
                size::add(&mut self.growths, world, planned, release, &all, &self.sizes);
                if planned.change == Change::Changed && over.is_some() {
                    // All that run are replaced.
                    names.clear();
                }
                names.extend(chosen.iter().map(|view| view.host.name.clone()));
                planned.spread = over.map(|over| spread_words(over, world, planned, release, hosts, &chosen));
            }
            used.extend(names.iter().cloned());
            planned.hosts = names.into_iter().collect();
            self.warnings.extend(planned.shared_volumes().filter(|_| grows));
            if grows {
                self.warnings.extend(kept_options(world, planned));
            }
        }
        if used.len() > 1 {
            let names = used.into_iter().collect::<Vec<_>>().join(", ");
            self.warnings.push(format!(
                "the services would run on {names}: services on different hosts do not reach each other by name"
            ));
        }
        self.warnings.extend(hosts.iter().filter_map(|view| unknown(world, view)));
        at_home
    }
}

/// What the new volumes of a service begin with, when that is not nothing, or could be thought to be something.
fn begun(
    world: &ProjectWorld,
    planned: &Planned,
    release: &Release,
    hosts: &[HostView],
    chosen: &[&HostView],
) -> Vec<String> {
    let service = &planned.service.name;
    let new = left::made_by(world, release);
    let words = new.filter_map(|volume| match left::left(world, volume, hosts) {
        Left::There(view, it) => Some(format!(
            "{service}: the volume {volume} is {} of {}, which this server did not know: it is taken over with what is in it",
            it.name, view.host.name
        )),
        Left::Unclear(_) => None,
        Left::Nothing => chosen.iter().find_map(|view| {
            let other = left::of_another(&world.project.name, volume, view.left_volumes.as_deref()?)?;
            Some(format!(
                "{service}: the volume {volume} begins empty; {} has {} as well, which was made there for another host and stays \
                 as it is",
                view.host.name, other.name
            ))
        }),
    });
    words.collect()
}

/// That nobody knows whether what the project has on a host works.
fn unknown(world: &ProjectWorld, view: &HostView) -> Option<String> {
    let why = view.presence.blindness(&view.host.name, view.engine_down)?;
    let here = world.replicas.iter().any(|it| it.host_id == view.host.id && it.stays());
    here.then(|| format!("{why}: whether what the project has there works is not known"))
}

/// Volumes that are there with other options than are asked for: what has data is not made anew.
fn kept_options(world: &ProjectWorld, planned: &Planned) -> Vec<String> {
    let wanted = planned.release.iter().flat_map(|it| &it.spec.shared.volumes);
    let other = wanted.filter(|wanted| {
        let is_other = |it: &VolumePlace| it.spec.name == wanted.name && it.spec != **wanted && !it.doomed;
        world.volumes.iter().any(is_other)
    });
    let words = other.map(|it| {
        let (service, volume) = (&planned.service.name, &it.name);
        format!("{service}: the volume {volume} is there and keeps the options that it has; one of another name gets these")
    });
    words.collect()
}

fn view_of<'a>(hosts: &'a [HostView], id: &HostId) -> Option<&'a HostView> {
    hosts.iter().find(|view| view.host.id == *id)
}

/// The replicas that a release has already.
fn there<'a>(
    world: &'a ProjectWorld,
    planned: &'a Planned,
    release: &'a Release,
) -> impl Iterator<Item = &'a Replica> {
    let is_same =
        |it: &Replica| world.release_of(it).is_some_and(|its| its.container_hash == release.container_hash);
    world.replicas_of(&planned.service.id).filter(move |it| it.stays() && is_same(it))
}

/// How many replicas are to be made.
fn coming(world: &ProjectWorld, planned: &Planned, release: &Release) -> usize {
    let wanted = usize::try_from(planned.after()).unwrap_or(usize::MAX);
    wanted.saturating_sub(there(world, planned, release).count())
}

/// `spread over zone: 2 in a, 1 in b`.
fn spread_words(
    over: &Spread,
    world: &ProjectWorld,
    planned: &Planned,
    release: &Release,
    hosts: &[HostView],
    chosen: &[&HostView],
) -> String {
    let here = there(world, planned, release).filter(|it| it.number <= planned.after());
    let here = here.filter_map(|it| view_of(hosts, &it.host_id));
    let mut counts: std::collections::BTreeMap<Option<&str>, usize> = std::collections::BTreeMap::new();
    for view in here.chain(chosen.iter().copied()) {
        *counts.entry(scheduler::spread::value(over, view)).or_default() += 1;
    }
    let word = if *over == Spread::Hosts { "on" } else { "in" };
    let each = counts.into_iter().map(|(value, count)| match value {
        Some(value) => format!("{count} {word} {value}"),
        None => format!("{count} on hosts without that label, since no host with it can take them"),
    });
    format!("spread over {over}: {}", each.collect::<Vec<_>>().join(", "))
}

fn planned_service(
    world: &ProjectWorld,
    wished: &model::compose::Service,
    files: &Files,
    force: bool,
) -> Result<Planned, StoreError> {
    let now = clock::now();
    let known = world.service(&wished.name).cloned();
    let is_new_service = known.is_none();
    let service = known.map_or_else(|| new_service(&world.project.id, &wished.name, now), Ok)?;
    let used = files_of(&wished.spec, files);
    let mut release = new_release(&service.id, wished.spec.clone(), used, now)?;
    let parted = parted(world, &service.id);
    let current = service.current.as_ref().and_then(|id| world.releases.get(id));
    if force || parted.is_some() {
        release.container_hash = format!("{}-{}", release.container_hash, release.id);
    } else if let Some(current) = current.filter(|it| is_anew(&it.container_hash, &release.container_hash)) {
        release.container_hash.clone_from(&current.container_hash);
    }
    let before = current.map_or(0, |it| it.spec.scale.count());
    let (change, mut changes) = match current {
        None => (Change::New, Vec::new()),
        Some(current) => compared(current, &release, force),
    };
    changes.extend(parted.map(|name| format!("into the network {name}, which it stands apart from")));
    // A deployment that is on its way, or went back, may have left something else than the current release says.
    let under_way =
        world.deployment.as_ref().is_some_and(|it| it.items.iter().any(|item| item.service_id == service.id));
    let change = if change == Change::Unchanged && under_way { Change::Scaled } else { change };
    let (change, changes) = lacking(world, &service, &release, (change, changes));
    let kept = current.filter(|_| matches!(change, Change::Unchanged)).cloned();
    Ok(Planned {
        service,
        is_new_service,
        is_new_release: kept.is_none(),
        release: Some(kept.unwrap_or(release)),
        change,
        changes,
        before,
        hosts: Vec::new(),
        spread: None,
    })
}

/// Whether a hash is that of a release which says the same and was only made anew.
fn is_anew(hash: &str, plain: &str) -> bool {
    hash.strip_prefix(plain).is_some_and(|rest| rest.starts_with('-'))
}

/// What is another between two releases.
pub(super) fn compared(current: &Release, next: &Release, force: bool) -> (Change, Vec<String>) {
    let mut changes = words::changes(&current.spec, &next.spec);
    for (key, id) in &next.files {
        if current.files.get(key).is_some_and(|was| was != id) {
            changes.push(format!("another content of the {} {}", key.0.as_str(), key.1));
        }
    }
    if force {
        changes.push("deployed anew on request".to_owned());
    }
    let change = if current.container_hash != next.container_hash {
        Change::Changed
    } else if current.spec != next.spec {
        Change::Scaled
    } else {
        Change::Unchanged
    };
    (change, changes)
}

/// What would change nothing brings a service that has fewer replicas than it should as many as that, or says why not.
pub(super) fn lacking(
    world: &ProjectWorld,
    service: &Service,
    next: &Release,
    (change, mut changes): (Change, Vec<String>),
) -> (Change, Vec<String>) {
    let (has, wanted) =
        (world.replicas_of(&service.id).filter(|it| it.stays()).count(), next.spec.scale.count());
    if change != Change::Unchanged || has >= wanted as usize {
        return (change, changes);
    }
    changes.push(format!("{has} of {wanted} replicas are there"));
    (Change::Scaled, changes)
}

fn going(world: &ProjectWorld, service: &Service) -> Planned {
    let running = world.replicas_of(&service.id).filter(|it| it.phase != Phase::Removing).count();
    Planned {
        service: service.clone(),
        is_new_service: false,
        release: None,
        is_new_release: false,
        change: Change::Removed,
        changes: Vec::new(),
        before: u32::try_from(running).unwrap_or(u32::MAX),
        hosts: Vec::new(),
        spread: None,
    }
}

/// How a service is updated, in words.
pub(crate) fn update_words(planned: &Planned) -> String {
    let Some(release) = &planned.release else { return "its replicas stop".to_owned() };
    match (planned.change, release.spec.update.order) {
        (Change::New, _) => "starts".to_owned(),
        (Change::Unchanged, _) => "stays as it is".to_owned(),
        (Change::Scaled, _) => "its replicas stay".to_owned(),
        (_, Order::StartFirst) => "one replica at a time, the new one first".to_owned(),
        (_, Order::StopFirst) => "one replica at a time, the old one stops first".to_owned(),
    }
}
