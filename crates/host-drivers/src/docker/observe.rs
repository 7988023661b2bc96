//! What is there, at the price of one container list: networks and volumes are listed when something about them may have
//! changed, single containers are looked at when the list shows that they are not as they were.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use bollard::query_parameters::{ListContainersOptions, ListNetworksOptions, ListVolumesOptions};
use futures_util::StreamExt as _;
use host_proto::DesiredState;
use host_proto::desired::{DesiredRun, Image, ReplicaSpec};
use host_proto::id::ReplicaId;
use host_proto::message::TakenBlock;
use host_proto::report::HealthState;
use reconcile::images::pull_name;
use reconcile::{Actual, Container, ContainerState, Details, Listed, Seen, Trouble};

use super::trouble::within;
use super::{Engine, labels, list};

/// For a list; an engine under load answers late, and late is better than not.
const LIMIT: Duration = Duration::from_secs(30);
/// Images that are looked for at the same time.
const AT_A_TIME: usize = 8;
/// Containers that are looked at only to know since when they run, in one pass.
const IDLE_LOOKS: usize = 16;

/// What a look shall show beside the containers.
#[derive(Debug, Clone, Default)]
pub struct Look {
    /// Networks and volumes are listed anew; otherwise they are as they were the last time.
    pub lists: bool,
    /// Containers that something happened to, by the engine's id: they are looked at closely.
    pub suspects: BTreeSet<String>,
    /// The containers that were seen last will do, as nothing is known to have happened since.
    pub recent: bool,
}

/// Looks at an engine, and remembers what need not be asked again. One for each connection: another engine has other
/// objects.
#[derive(Debug)]
pub struct Observer {
    engine: Arc<Engine>,
    networks: Option<Networks>,
    volumes: Option<Listed>,
    looks: HashMap<String, (Key, Details)>,
    /// The containers that the last look found.
    last: Option<Vec<Container>>,
}

/// Networks, and the blocks of addresses that are in use beside ours.
type Networks = (Listed, Vec<TakenBlock>);
/// When this is as it was, a closer look shows nothing new.
type Key = (ContainerState, HealthState);
/// Of which replicas there are containers, by what they were made from.
type Made = BTreeMap<ReplicaId, (String, ContainerState)>;

impl Observer {
    /// Knows nothing yet.
    pub fn new(engine: Arc<Engine>) -> Self {
        Self { engine, networks: None, volumes: None, looks: HashMap::new(), last: None }
    }

    /// Networks and volumes are listed again at the next look: one was made or removed.
    pub fn forget_lists(&mut self) {
        self.networks = None;
        self.volumes = None;
    }

    /// Looks. Errors make parts of the answer unknown (R29). Files are not the engine's: they are unknown here.
    ///
    /// What is to be asked is asked at once. Whose image is missed is known for sure only when the containers are listed;
    /// the last list is right about nearly all of them, so those are looked for meanwhile.
    pub async fn observe(&mut self, desired: Option<&DesiredState>, look: &Look) -> Actual {
        if look.lists {
            self.forget_lists();
        }
        let engine = Arc::clone(&self.engine);
        let last = self.last.take();
        let missed = desired.zip(last.as_deref()).map(|(desired, last)| missed(desired, &made(last)));
        let known = last.filter(|_| look.recent && !look.lists && look.suspects.is_empty());
        let guessed: BTreeSet<String> = missed.iter().flat_map(BTreeMap::keys).cloned().collect();
        let (containers, networks, volumes, mut found) = tokio::join!(
            containers(&engine, known),
            networks(&engine, self.networks.take()),
            volumes(&engine, self.volumes.take()),
            find(&engine, missed.unwrap_or_default()),
        );
        // When the one list that is always asked for fails, nothing else is worth believing.
        let mut containers = match containers {
            Ok(containers) => containers,
            Err(trouble) => return Actual::unknown(&trouble.text),
        };
        self.networks = networks.as_ref().ok().cloned();
        self.volumes = volumes.as_ref().ok().cloned();
        let made = made(&containers);
        let missed = desired.map(|desired| missed_but(desired, &made, &guessed)).unwrap_or_default();
        let ((), rest) =
            tokio::join!(self.look_closely(&mut containers, &look.suspects), find(&engine, missed));
        self.last = Some(containers.clone());
        found.extend(rest);
        let images = found.keys().cloned().collect();
        self.engine.remember_images(found);
        let (networks, taken) = match networks {
            Ok((networks, taken)) => (Seen::Known(networks), Seen::Known(taken)),
            Err(trouble) => (Seen::Unknown(trouble.text.clone()), Seen::Unknown(trouble.text)),
        };
        Actual {
            networks,
            taken,
            volumes: seen(volumes),
            containers: Seen::Known(containers),
            images,
            files: Seen::Unknown("not looked at".to_owned()),
        }
    }

    async fn look_closely(&mut self, containers: &mut [Container], suspects: &BTreeSet<String>) {
        let there: BTreeSet<&str> = containers.iter().map(|container| container.id.as_str()).collect();
        self.looks.retain(|id, _| there.contains(id.as_str()));
        let owed = self.engine.owed_starts(containers);
        let mut idle = 0;
        for container in containers {
            let key = (container.state, container.health);
            let known = self.looks.get(&container.id).filter(|(at, _)| *at == key);
            let is_owed = owed.contains(&container.id);
            let restless =
                is_owed || container.state == ContainerState::Restarting || suspects.contains(&container.id);
            if let Some((_, details)) = known.filter(|_| !restless) {
                container.details = Some(details.clone());
                continue;
            }
            let calm = container.state == ContainerState::Running && !self.looks.contains_key(&container.id);
            if calm && !restless {
                idle += 1;
                if idle > IDLE_LOOKS {
                    continue;
                }
            }
            // Gone meanwhile, or the engine is slow: the list says enough.
            if let Ok((mut details, runs)) = self.engine.details(container).await {
                match runs {
                    Some(health) if is_owed => {
                        (container.state, container.health) = (ContainerState::Running, health);
                    }
                    Some(_) => {}
                    // It ended before a list had it running.
                    None => self.engine.forget_start(container),
                }
                if details.restarts > 0 && details.exit_code.is_none() {
                    // It runs again; how it ended the last time is worth knowing all the same.
                    details.exit_code =
                        self.looks.get(&container.id).and_then(|(_, before)| before.exit_code);
                }
                container.details = Some(details.clone());
                self.looks.insert(container.id.clone(), (key, details));
            }
        }
    }
}

/// The containers that are known, or a list of them.
async fn containers(engine: &Engine, known: Option<Vec<Container>>) -> Result<Vec<Container>, Trouble> {
    if let Some(known) = known {
        return Ok(known);
    }
    let ours = format!("{}={}", labels::HOST, engine.host());
    let filters = HashMap::from([("label".to_owned(), vec![ours])]);
    let options = ListContainersOptions { all: true, filters: Some(filters), ..Default::default() };
    let found = within(LIMIT, "list containers", engine.docker.list_containers(Some(options))).await?;
    let places = &engine.options.files;
    let mut containers: Vec<Container> =
        found.into_iter().filter_map(|summary| list::container(places, summary)).collect();
    containers.sort_by(|one, other| one.id.cmp(&other.id));
    Ok(containers)
}

/// The networks that are known, or a list of them.
async fn networks(engine: &Engine, known: Option<Networks>) -> Result<Networks, Trouble> {
    if let Some(known) = known {
        return Ok(known);
    }
    let call = engine.docker.list_networks(None::<ListNetworksOptions>);
    let found = within(LIMIT, "list networks", call).await?;
    let mut blocks = Vec::new();
    let named = found.into_iter().filter_map(|one| {
        let (name, labels) = (one.name?, one.labels.unwrap_or_default());
        if !list::is_ours(engine.host(), labels::NETWORK, &labels) {
            let configs = one.ipam.and_then(|ipam| ipam.config).unwrap_or_default();
            blocks.extend(configs.into_iter().filter_map(|it| Some((it.subnet?, name.clone()))));
        }
        Some((name, labels))
    });
    let listed = list::listed(engine.host(), labels::NETWORK, named.collect::<Vec<_>>());
    Ok((listed, crate::blocks::all(blocks)))
}

/// The volumes that are known, or a list of them.
async fn volumes(engine: &Engine, known: Option<Listed>) -> Result<Listed, Trouble> {
    if let Some(known) = known {
        return Ok(known);
    }
    let call = engine.docker.list_volumes(None::<ListVolumesOptions>);
    let found = within(LIMIT, "list volumes", call).await?.volumes.unwrap_or_default();
    let named = found.into_iter().map(|one| (one.name, one.labels));
    Ok(list::listed(engine.host(), labels::VOLUME, named))
}

fn made(containers: &[Container]) -> Made {
    containers.iter().map(|one| (one.replica_id.clone(), (one.spec_hash.clone(), one.state))).collect()
}

/// The images of those replicas that have no container yet, by name: nobody else needs one.
fn missed(desired: &DesiredState, made: &Made) -> BTreeMap<String, Image> {
    missed_but(desired, made, &BTreeSet::new())
}

fn missed_but(desired: &DesiredState, made: &Made, known: &BTreeSet<String>) -> BTreeMap<String, Image> {
    let lacks = |spec: &&ReplicaSpec| {
        let made = made.get(&spec.replica_id);
        let right =
            made.is_some_and(|(hash, state)| *hash == spec.spec_hash && *state != ContainerState::Dead);
        !right && matches!(spec.desired, DesiredRun::Running | DesiredRun::Stopped)
    };
    let lacking = desired.replicas.iter().filter(lacks).map(|spec| (pull_name(&spec.image), &spec.image));
    lacking.filter(|(name, _)| !known.contains(name)).map(|(name, image)| (name, image.clone())).collect()
}

/// Which of these images are there, and what the engine knows each by.
async fn find(engine: &Engine, wanted: BTreeMap<String, Image>) -> BTreeMap<String, String> {
    let looks = wanted.into_iter().map(|(name, image)| async move {
        let found = engine.find_image(&image).await?;
        Some((name, found))
    });
    let found: Vec<Option<_>> = futures_util::stream::iter(looks).buffer_unordered(AT_A_TIME).collect().await;
    found.into_iter().flatten().collect()
}

fn seen<T>(answer: Result<T, Trouble>) -> Seen<T> {
    match answer {
        Ok(value) => Seen::Known(value),
        Err(trouble) => Seen::Unknown(trouble.text),
    }
}
