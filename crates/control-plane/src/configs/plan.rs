//! What operators want, as one value in memory: assignments in the order in which they are asked, what rollouts
//! granted, overrides, labels, and the revisions that any of them name, ready to be offered. An agent's report never
//! waits for the database.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use model::assignment::{Desired, desired, desired::order};
use model::config::{ConfigFile, ConfigFiles, InvalidFiles};
use model::{Assignment, AssignmentId, Attributes, Grant, Labels, RevisionId};
use opamp_proto::InstanceUid;
use opamp_proto::server::ConfigOffer;
use opamp_proto::wire::{AgentConfigFile, AgentConfigMap};
use store::{AssignmentChange, Override, Store, StoreError, StoredFile};

/// A revision that somebody is to run.
#[derive(Debug)]
pub(crate) struct Known {
    /// The name of its configuration.
    pub(crate) config: String,
    /// Its number within that.
    pub(crate) number: u32,
    /// Encoded once for all.
    pub(crate) offer: Arc<ConfigOffer>,
    /// Its files, to be compared with what agents run.
    pub(crate) files: Option<ConfigFiles>,
}

type Grants = HashMap<InstanceUid, Grant>;

/// What operators want. Cheap to copy: the large parts are shared.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    assignments: Arc<[Assignment]>,
    /// Where each assignment stands among them.
    places: Arc<HashMap<AssignmentId, usize>>,
    grants: HashMap<AssignmentId, Arc<Grants>>,
    overrides: Arc<HashMap<InstanceUid, Override>>,
    labels: Arc<HashMap<InstanceUid, Arc<Labels>>>,
    revisions: HashMap<RevisionId, Arc<Known>>,
    empty: Arc<ConfigOffer>,
}

impl Plan {
    /// Reads it all.
    pub(crate) async fn load(store: &Store) -> Result<Self, StoreError> {
        let mut plan = Self {
            assignments: Arc::new([]),
            places: Arc::default(),
            grants: HashMap::new(),
            overrides: Arc::default(),
            labels: Arc::default(),
            revisions: HashMap::new(),
            empty: ConfigOffer::new(AgentConfigMap::default()),
        };
        let mut grants: HashMap<AssignmentId, Grants> = HashMap::new();
        for (id, uid, grant) in store.grants().await? {
            grants.entry(id).or_default().insert(uid, grant);
        }
        plan.grants = grants.into_iter().map(|(id, grants)| (id, Arc::new(grants))).collect();
        plan.overrides = Arc::new(store.overrides().await?.into_iter().map(|one| (one.uid, one)).collect());
        let labels = store.labels_all().await?.into_iter();
        plan.labels = Arc::new(labels.map(|(uid, labels)| (uid, Arc::new(labels))).collect());
        plan.set_assignments(store.assignments().await?);
        plan.learn(store).await?;
        Ok(plan)
    }

    fn set_assignments(&mut self, mut assignments: Vec<Assignment>) {
        order(&mut assignments);
        self.places = Arc::new(assignments.iter().enumerate().map(|(place, one)| (one.id, place)).collect());
        self.assignments = assignments.into();
    }

    /// Reads the revisions that are named and not known, and lets go of the others.
    pub(crate) async fn learn(&mut self, store: &Store) -> Result<(), StoreError> {
        let of_assignments = self.assignments.iter().flat_map(|one| [one.settled, one.target]).flatten();
        let of_grants = self.grants.values().flat_map(|grants| grants.values().map(|grant| grant.revision));
        let of_overrides = self.overrides.values().map(|one| one.revision);
        let named: HashSet<_> = of_assignments.chain(of_grants).chain(of_overrides).collect();
        self.revisions.retain(|id, _| named.contains(id));
        for id in named {
            if self.revisions.contains_key(&id) {
                continue;
            }
            // What is named in the database is there: it could not have been removed.
            let (config, row, files) =
                store.revision_by_id(id).await?.ok_or(StoreError::Missing("a revision"))?;
            let readable = checked(&files).ok();
            let offer = ConfigOffer::new(config_map(files));
            self.revisions.insert(id, Arc::new(Known { config, number: row.number, offer, files: readable }));
        }
        Ok(())
    }

    /// Whether nobody wants anything.
    pub(crate) fn is_empty(&self) -> bool {
        self.assignments.is_empty() && self.overrides.is_empty()
    }

    /// The assignment that decides about an agent with these attributes, unless it is pinned.
    pub(crate) fn winner(&self, uid: InstanceUid, attributes: &Attributes) -> Option<AssignmentId> {
        let matches = |one: &&Assignment| match self.labels.get(&uid) {
            Some(labels) => one.selector.matches_labelled(attributes, labels),
            None => one.selector.matches(attributes),
        };
        self.assignments.iter().find(matches).map(|one| one.id)
    }

    /// What an agent is to run about which this assignment decides.
    pub(crate) fn desired(&self, uid: InstanceUid, winner: Option<AssignmentId>) -> Desired {
        let pinned = self.overrides.get(&uid).map(|one| one.revision);
        let winner = winner.and_then(|id| self.assignment(id));
        desired(pinned, winner.into_iter(), |id| self.grant(id, uid).map(|grant| grant.revision))
    }

    /// What an agent is offered when it is to run this.
    pub(crate) fn offer(&self, desired: Desired) -> Option<&Arc<ConfigOffer>> {
        match desired {
            Desired::Unmanaged | Desired::Waiting(_) => None,
            Desired::Revision(_, id) => self.revisions.get(&id).map(|known| &known.offer),
            Desired::Clear(_) => Some(&self.empty),
        }
    }

    /// The assignments, the strongest first.
    pub(crate) fn assignments(&self) -> &[Assignment] {
        &self.assignments
    }

    /// An assignment.
    pub(crate) fn assignment(&self, id: AssignmentId) -> Option<&Assignment> {
        self.assignments.get(*self.places.get(&id)?)
    }

    /// A revision that somebody is to run.
    pub(crate) fn revision(&self, id: RevisionId) -> Option<&Arc<Known>> {
        self.revisions.get(&id)
    }

    /// What a rollout granted to an agent.
    pub(crate) fn grant(&self, id: AssignmentId, uid: InstanceUid) -> Option<&Grant> {
        self.grants.get(&id)?.get(&uid)
    }

    /// All that the rollouts of an assignment granted.
    pub(crate) fn grants(&self, id: AssignmentId) -> impl Iterator<Item = (InstanceUid, &Grant)> {
        self.grants.get(&id).into_iter().flat_map(|grants| grants.iter().map(|(uid, grant)| (*uid, grant)))
    }

    /// The override of an agent.
    pub(crate) fn pinned(&self, uid: InstanceUid) -> Option<&Override> {
        self.overrides.get(&uid)
    }

    /// Puts in an assignment, new or as it is now.
    pub(crate) fn put(&mut self, assignment: Assignment) {
        let others = self.assignments.iter().filter(|one| one.id != assignment.id).cloned();
        self.set_assignments(others.chain([assignment.clone()]).collect());
    }

    /// Puts in a change that was written.
    pub(crate) fn apply(&mut self, change: &AssignmentChange, now: Assignment) {
        let id = now.id;
        self.put(now);
        if change.settle {
            self.grants.remove(&id);
        }
        if change.grant.is_empty() && change.forgive.is_empty() {
            return;
        }
        let grants = Arc::make_mut(self.grants.entry(id).or_default());
        grants.extend(change.grant.iter().copied());
        let Some(revision) = change.assignment.target else { return };
        let at = change.assignment.updated_at;
        for uid in &change.forgive {
            let new = Grant { revision, batch: 1, was_healthy: true, forgiven: true, at };
            grants.entry(*uid).or_insert(new).forgiven = true;
        }
    }

    /// Takes out an assignment with its grants.
    pub(crate) fn remove(&mut self, id: AssignmentId) {
        self.set_assignments(self.assignments.iter().filter(|one| one.id != id).cloned().collect());
        self.grants.remove(&id);
    }

    /// Pins an agent, or lets it go.
    pub(crate) fn pin(&mut self, uid: InstanceUid, to: Option<Override>) {
        let overrides = Arc::make_mut(&mut self.overrides);
        match to {
            Some(to) => drop(overrides.insert(uid, to)),
            None => drop(overrides.remove(&uid)),
        }
    }

    /// Whether any of these agents has labels.
    pub(crate) fn has_labels(&self, uids: &[InstanceUid]) -> bool {
        uids.iter().any(|uid| self.labels.contains_key(uid))
    }

    /// Labels agents. No labels at all: takes them away.
    pub(crate) fn label(&mut self, labelled: impl IntoIterator<Item = (InstanceUid, Labels)>) {
        let all = Arc::make_mut(&mut self.labels);
        for (uid, labels) in labelled {
            match labels.is_empty() {
                true => drop(all.remove(&uid)),
                false => drop(all.insert(uid, Arc::new(labels))),
            }
        }
    }
}

/// The files as they were checked when they were stored.
pub(crate) fn checked(files: &[StoredFile]) -> Result<ConfigFiles, InvalidFiles> {
    ConfigFiles::try_new(files.iter().map(|file| {
        let body = String::from_utf8_lossy(&file.body).into_owned();
        ConfigFile::new(file.name.as_str(), Some(file.content_type.clone()), body)
    }))
}

/// The files as the wire has them.
pub(crate) fn config_map(files: Vec<StoredFile>) -> AgentConfigMap {
    let files = files.into_iter().map(|StoredFile { name, content_type, body }| {
        (name, AgentConfigFile { body: body.into(), content_type, ..AgentConfigFile::default() })
    });
    AgentConfigMap { config_map: files.collect() }
}
