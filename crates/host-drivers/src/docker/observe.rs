//! What is there, at the price of one container list: networks and volumes are listed when something about them may have
//! changed, single containers are looked at when the list shows that they are not as they were.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use bollard::query_parameters::{ListContainersOptions, ListNetworksOptions, ListVolumesOptions};
use host_proto::DesiredState;
use host_proto::desired::{DesiredRun, ReplicaSpec};
use host_proto::report::HealthState;
use reconcile::images::pull_name;
use reconcile::{Actual, Container, ContainerState, Details, Listed, Seen, Trouble};

use super::trouble::within;
use super::{Engine, labels, list};

/// For a list; an engine under load answers late, and late is better than not.
const LIMIT: Duration = Duration::from_secs(30);
/// Containers that are looked at only to know since when they run, in one pass.
const IDLE_LOOKS: usize = 16;

/// What a look shall show beside the containers.
#[derive(Debug, Clone, Default)]
pub struct Look {
    /// Networks and volumes are listed anew; otherwise they are as they were the last time.
    pub lists: bool,
    /// Containers that something happened to, by the engine's id: they are looked at closely.
    pub suspects: BTreeSet<String>,
}

/// Looks at an engine, and remembers what need not be asked again. One for each connection: another engine has other
/// objects.
#[derive(Debug)]
pub struct Observer {
    engine: Arc<Engine>,
    networks: Option<Listed>,
    volumes: Option<Listed>,
    looks: HashMap<String, (Key, Details)>,
}

/// When this is as it was, a closer look shows nothing new.
type Key = (ContainerState, HealthState);

impl Observer {
    /// Knows nothing yet.
    pub fn new(engine: Arc<Engine>) -> Self {
        Self { engine, networks: None, volumes: None, looks: HashMap::new() }
    }

    /// Networks and volumes are listed again at the next look: one was made or removed.
    pub fn forget_lists(&mut self) {
        self.networks = None;
        self.volumes = None;
    }

    /// Looks. Errors make parts of the answer unknown (R29). Files are not the engine's: they are unknown here.
    pub async fn observe(&mut self, desired: Option<&DesiredState>, look: &Look) -> Actual {
        if look.lists {
            self.forget_lists();
        }
        let containers = match self.containers(&look.suspects).await {
            Ok(containers) => containers,
            // When the one list that is always asked for fails, nothing else is worth asking.
            Err(trouble) => return Actual::unknown(&trouble.text),
        };
        let images = match desired {
            Some(desired) => self.images(desired, &containers).await,
            None => BTreeSet::new(),
        };
        Actual {
            networks: seen(self.networks().await),
            volumes: seen(self.volumes().await),
            containers: Seen::Known(containers),
            images,
            files: Seen::Unknown("not looked at".to_owned()),
        }
    }

    async fn containers(&mut self, suspects: &BTreeSet<String>) -> Result<Vec<Container>, Trouble> {
        let ours = format!("{}={}", labels::HOST, self.engine.host());
        let filters = HashMap::from([("label".to_owned(), vec![ours])]);
        let options = ListContainersOptions { all: true, filters: Some(filters), ..Default::default() };
        let found =
            within(LIMIT, "list containers", self.engine.docker.list_containers(Some(options))).await?;
        let places = &self.engine.options.files;
        let mut containers: Vec<Container> =
            found.into_iter().filter_map(|summary| list::container(places, summary)).collect();
        containers.sort_by(|one, other| one.id.cmp(&other.id));
        let there: BTreeSet<&str> = containers.iter().map(|container| container.id.as_str()).collect();
        self.looks.retain(|id, _| there.contains(id.as_str()));
        self.look_closely(&mut containers, suspects).await;
        Ok(containers)
    }

    async fn look_closely(&mut self, containers: &mut [Container], suspects: &BTreeSet<String>) {
        let mut idle = 0;
        for container in containers {
            let key = (container.state, container.health);
            let known = self.looks.get(&container.id).filter(|(at, _)| *at == key);
            let restless = container.state == ContainerState::Restarting || suspects.contains(&container.id);
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
            if let Ok(mut details) = self.engine.details(container).await {
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

    async fn networks(&mut self) -> Result<Listed, Trouble> {
        if let Some(known) = &self.networks {
            return Ok(known.clone());
        }
        let call = self.engine.docker.list_networks(None::<ListNetworksOptions>);
        let found = within(LIMIT, "list networks", call).await?;
        let named = found.into_iter().filter_map(|one| Some((one.name?, one.labels.unwrap_or_default())));
        let listed = list::listed(self.engine.host(), labels::NETWORK, named);
        self.networks = Some(listed.clone());
        Ok(listed)
    }

    async fn volumes(&mut self) -> Result<Listed, Trouble> {
        if let Some(known) = &self.volumes {
            return Ok(known.clone());
        }
        let call = self.engine.docker.list_volumes(None::<ListVolumesOptions>);
        let found = within(LIMIT, "list volumes", call).await?.volumes.unwrap_or_default();
        let named = found.into_iter().map(|one| (one.name, one.labels));
        let listed = list::listed(self.engine.host(), labels::VOLUME, named);
        self.volumes = Some(listed.clone());
        Ok(listed)
    }

    /// Looks for the images of those replicas that have no container yet: nobody else needs one.
    async fn images(&self, desired: &DesiredState, containers: &[Container]) -> BTreeSet<String> {
        let made: BTreeMap<_, _> =
            containers.iter().map(|one| (&one.replica_id, (one.spec_hash.as_str(), one.state))).collect();
        let lacks = |spec: &&ReplicaSpec| {
            let made = made.get(&spec.replica_id);
            let right =
                made.is_some_and(|(hash, state)| *hash == spec.spec_hash && *state != ContainerState::Dead);
            !right && matches!(spec.desired, DesiredRun::Running | DesiredRun::Stopped)
        };
        let mut wanted = BTreeMap::new();
        for spec in desired.replicas.iter().filter(lacks) {
            wanted.insert(pull_name(&spec.image), &spec.image);
        }
        let mut there = BTreeSet::new();
        for (name, image) in wanted {
            if self.engine.find_image(image).await.is_some() {
                there.insert(name);
            }
        }
        there
    }
}

fn seen<T>(answer: Result<T, Trouble>) -> Seen<T> {
    match answer {
        Ok(value) => Seen::Known(value),
        Err(trouble) => Seen::Unknown(trouble.text),
    }
}
