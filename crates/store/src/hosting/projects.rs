//! Projects as they are: everything of one that decisions look at, in one reading.

use std::collections::{BTreeMap, BTreeSet};

use host_proto::id::{FileId, HostId, NetworkId, ProjectId, ReleaseId, ReplicaId, ServiceId};
use model::hosting::{
    Deployment, DeploymentId, DeploymentItem, DeploymentState, FileKind, ItemOutcome, NetworkPlace, Phase,
    Project, ProjectWorld, Release, Replica, Service, VolumePlace,
};
use model::service::{NetworkSpec, ServiceSpec, Shared};
use rusqlite::{Connection, Row};

use super::json;
use crate::error::StoreError;
use crate::store::Store;
use crate::value::{millis, optional_millis, unsigned};

impl Store {
    /// Every project, by name.
    pub async fn projects(&self) -> Result<Vec<Project>, StoreError> {
        self.read(|reader| {
            let sql = "SELECT id, name, networks, volumes, created_at, version FROM project ORDER BY name";
            json::rows(&mut reader.conn.prepare_cached(sql)?, [], project)
        })
        .await
    }

    /// The project of a name or identifier with all that belongs to it.
    pub async fn project(&self, key: impl Into<String>) -> Result<Option<ProjectWorld>, StoreError> {
        let key = key.into();
        self.read(move |reader| rows_of(&reader.conn, &key)).await
    }

    /// The text that a project was deployed from last.
    pub async fn project_source(&self, id: ProjectId) -> Result<Option<String>, StoreError> {
        self.read(move |reader| {
            let sql = "SELECT source FROM project WHERE id = ?1";
            json::first(&mut reader.conn.prepare_cached(sql)?, [id.as_str()], |row| Ok(row.get(0)?))
        })
        .await
    }

    /// Projects that have something on a host.
    pub async fn projects_on(&self, host: HostId) -> Result<Vec<ProjectWorld>, StoreError> {
        self.read(move |reader| on_host(&reader.conn, &host)).await
    }

    /// Projects with a deployment that is not over, or with replicas that are not where they should be: what a server
    /// looks at when it starts.
    pub async fn project_ids(&self) -> Result<Vec<ProjectId>, StoreError> {
        self.read(|reader| {
            let sql = "SELECT id FROM project ORDER BY id";
            json::rows(&mut reader.conn.prepare_cached(sql)?, [], |row| json::parsed(row, 0, "project id"))
        })
        .await
    }

    /// The releases of a service, newest first.
    pub async fn releases(&self, service: ServiceId, limit: u32) -> Result<Vec<Release>, StoreError> {
        self.read(move |reader| {
            let sql = format!(
                "SELECT {RELEASE} FROM service_release WHERE service_id = ?1 ORDER BY number DESC LIMIT ?2"
            );
            let mut found =
                json::rows(&mut reader.conn.prepare_cached(&sql)?, (service.as_str(), limit), release)?;
            if found.iter().any(|it| it.spec.shared.is_unknown()) {
                let sql = "SELECT project_id FROM service WHERE id = ?1";
                let row = |row: &Row<'_>| Ok(row.get::<_, String>(0)?);
                let project = json::first(&mut reader.conn.prepare_cached(sql)?, [service.as_str()], row)?;
                let world = project.map(|id| rows_of(&reader.conn, &id)).transpose()?.flatten();
                if let Some(ProjectWorld { project, networks, volumes, .. }) = world {
                    found.iter_mut().for_each(|it| recall(it, &project, &networks, &volumes));
                }
            }
            Ok(found)
        })
        .await
    }

    /// The releases of a service that a deployment brought to its end: those that worked once.
    pub async fn good_releases(&self, service: ServiceId) -> Result<BTreeSet<ReleaseId>, StoreError> {
        self.read(move |reader| {
            let sql = "SELECT DISTINCT i.to_release FROM deployment_item i JOIN deployment d ON d.id = i.deployment_id
                       WHERE i.service_id = ?1 AND d.state = 'done' AND i.to_release IS NOT NULL";
            let mut statement = reader.conn.prepare_cached(sql)?;
            let ids = json::rows(&mut statement, [service.as_str()], |row| json::parsed(row, 0, "release id"))?;
            Ok(ids.into_iter().collect())
        })
        .await
    }

    /// Which release each release of a service took the place of when it was deployed first; one that took nobody's is left
    /// out.
    pub async fn replaced_releases(
        &self,
        service: ServiceId,
    ) -> Result<BTreeMap<ReleaseId, ReleaseId>, StoreError> {
        self.read(move |reader| {
            let sql = "SELECT to_release, from_release FROM deployment_item
                       WHERE service_id = ?1 AND to_release IS NOT NULL ORDER BY deployment_id DESC";
            let row = |row: &Row<'_>| {
                let to: ReleaseId = json::parsed(row, 0, "release id")?;
                Ok((to, json::maybe_parsed::<ReleaseId>(row, 1, "release id")?))
            };
            let pairs = json::rows(&mut reader.conn.prepare_cached(sql)?, [service.as_str()], row)?;
            // The oldest deployment to a release comes last, and wins: later ones went back to it.
            let first: BTreeMap<ReleaseId, Option<ReleaseId>> = pairs.into_iter().collect();
            Ok(first.into_iter().filter_map(|(to, from)| Some((to, from?))).collect())
        })
        .await
    }

    /// The newest deployments of a project, or of all; before this number.
    pub async fn deployments(
        &self,
        project: Option<ProjectId>,
        before: i64,
        limit: u32,
    ) -> Result<Vec<Deployment>, StoreError> {
        self.read(move |reader| {
            let sql = format!(
                "SELECT {DEPLOYMENT} FROM deployment WHERE (?1 IS NULL OR project_id = ?1) AND id < ?2
                 ORDER BY id DESC LIMIT ?3"
            );
            let key = project.as_ref().map(ProjectId::as_str);
            let found = json::rows(&mut reader.conn.prepare_cached(&sql)?, (key, before, limit), deployment)?;
            found.into_iter().map(|it| with_items(&reader.conn, it)).collect()
        })
        .await
    }

    /// A deployment.
    pub async fn deployment(&self, id: DeploymentId) -> Result<Option<Deployment>, StoreError> {
        self.read(move |reader| {
            let sql = format!("SELECT {DEPLOYMENT} FROM deployment WHERE id = ?1");
            let found = json::first(&mut reader.conn.prepare_cached(&sql)?, [id.0], deployment)?;
            found.map(|it| with_items(&reader.conn, it)).transpose()
        })
        .await
    }
}

const RELEASE: &str = "id, service_id, number, spec, files, container_hash, author, message, created_at";
const DEPLOYMENT: &str = "id, project_id, state, reason, created_by, message, created_at, finished_at";
const REPLICA: &str =
    "id, service_id, release_id, host_id, number, phase, phase_since, addresses, created_at, report,
    reported_since";

pub(super) fn on_host(conn: &Connection, host: &HostId) -> Result<Vec<ProjectWorld>, StoreError> {
    let sql = "SELECT project_id FROM replica WHERE host_id = ?1
               UNION SELECT project_id FROM network_place WHERE host_id = ?1
               UNION SELECT project_id FROM volume_place WHERE host_id = ?1";
    let ids: Vec<String> =
        json::rows(&mut conn.prepare_cached(sql)?, [host.as_str()], |row| Ok(row.get(0)?))?;
    let rows = ids.iter().map(|id| rows_of(conn, id));
    Ok(rows.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect())
}

pub(super) fn rows_of(conn: &Connection, key: &str) -> Result<Option<ProjectWorld>, StoreError> {
    let sql =
        "SELECT id, name, networks, volumes, created_at, version FROM project WHERE id = ?1 OR name = ?1";
    let Some(project) = json::first(&mut conn.prepare_cached(sql)?, [key], project)? else { return Ok(None) };
    let id = project.id.as_str();
    let sql =
        "SELECT id, project_id, name, current, created_at FROM service WHERE project_id = ?1 ORDER BY name";
    let services = json::rows(&mut conn.prepare_cached(sql)?, [id], service)?;
    let sql = format!("SELECT {REPLICA} FROM replica WHERE project_id = ?1 ORDER BY id");
    let replicas = json::rows(&mut conn.prepare_cached(&sql)?, [id], replica)?;
    let sql =
        "SELECT id, project_id, host_id, spec, subnet FROM network_place WHERE project_id = ?1 ORDER BY id";
    let networks = json::rows(&mut conn.prepare_cached(sql)?, [id], network)?;
    let sql = "SELECT id, project_id, host_id, spec, doomed, created_at FROM volume_place WHERE project_id = ?1 ORDER BY id";
    let volumes = json::rows(&mut conn.prepare_cached(sql)?, [id], volume)?;
    let sql = format!(
        "SELECT {DEPLOYMENT} FROM deployment WHERE project_id = ?1 AND state IN ('running', 'rolling back')
         ORDER BY id DESC LIMIT 1"
    );
    let deployment = json::first(&mut conn.prepare_cached(&sql)?, [id], deployment)?;
    let deployment = deployment.map(|it| with_items(conn, it)).transpose()?;
    let mut wanted: BTreeSet<&ReleaseId> = services.iter().filter_map(|it| it.current.as_ref()).collect();
    wanted.extend(replicas.iter().map(|it| &it.release_id));
    let items = deployment.iter().flat_map(|it| &it.items);
    wanted.extend(items.flat_map(|it| it.from.iter().chain(&it.to)));
    let sql = format!("SELECT {RELEASE} FROM service_release WHERE id = ?1");
    let mut statement = conn.prepare_cached(&sql)?;
    let mut releases = BTreeMap::new();
    for id in wanted {
        if let Some(mut release) = json::first(&mut statement, [id.as_str()], release)? {
            recall(&mut release, &project, &networks, &volumes);
            releases.insert(id.clone(), release);
        }
    }
    Ok(Some(ProjectWorld { project, services, releases, replicas, networks, volumes, deployment }))
}

/// A release of before they kept what their networks and volumes are: what its project says of those, or where they have a
/// place. Of a network with two places the one that is closed counts.
fn recall(release: &mut Release, project: &Project, networks: &[NetworkPlace], volumes: &[VolumePlace]) {
    let ServiceSpec { shared, container, .. } = &mut release.spec;
    if !shared.is_unknown() {
        return;
    }
    let mut placed: Vec<NetworkSpec> = networks.iter().map(|it| it.spec.clone()).collect();
    placed.sort_by_key(|it| !it.internal);
    let networks: Vec<NetworkSpec> = project.networks.iter().cloned().chain(placed).collect();
    let volumes = project.volumes.iter().chain(volumes.iter().map(|it| &it.spec)).cloned();
    *shared = Shared::of(container, &networks, &volumes.collect::<Vec<_>>());
}

/// Writes down for the releases of a project that are spoken of what they did not keep, before the project says otherwise.
pub(super) fn keep_shared(conn: &Connection, world: &ProjectWorld) -> Result<(), StoreError> {
    let sql = "UPDATE service_release SET spec = ?2 WHERE id = ?1 AND json_extract(spec, '$.shared') IS NULL";
    let mut update = conn.prepare_cached(sql)?;
    for release in world.releases.values() {
        let spec = release.spec.to_json().map_err(|_| StoreError::Corrupt("release"))?;
        update.execute((release.id.as_str(), spec))?;
    }
    Ok(())
}

fn with_items(conn: &Connection, mut deployment: Deployment) -> Result<Deployment, StoreError> {
    let sql =
        "SELECT service_id, from_release, to_release, outcome, reason, service_name FROM deployment_item
               WHERE deployment_id = ?1 ORDER BY place";
    deployment.items = json::rows(&mut conn.prepare_cached(sql)?, [deployment.id.0], item)?;
    Ok(deployment)
}

fn project(row: &Row<'_>) -> Result<Project, StoreError> {
    Ok(Project {
        id: json::parsed(row, 0, "project id")?,
        name: row.get(1)?,
        networks: json::read(row, 2, "network")?,
        volumes: json::read(row, 3, "volume")?,
        created_at: millis(row, 4)?,
        version: unsigned(row.get(5)?),
    })
}

fn service(row: &Row<'_>) -> Result<Service, StoreError> {
    Ok(Service {
        id: json::parsed(row, 0, "service id")?,
        project_id: json::parsed(row, 1, "project id")?,
        name: row.get(2)?,
        current: json::maybe_parsed(row, 3, "release id")?,
        created_at: millis(row, 4)?,
    })
}

pub(super) fn spec(row: &Row<'_>, column: usize) -> Result<ServiceSpec, StoreError> {
    let text: String = row.get(column)?;
    ServiceSpec::from_json(&text).map_err(|_| StoreError::Corrupt("release"))
}

pub(super) fn release(row: &Row<'_>) -> Result<Release, StoreError> {
    let files: Vec<(String, String, FileId)> = json::read(row, 4, "file")?;
    let mut named = BTreeMap::new();
    for (kind, name, id) in files {
        named.insert((FileKind::of(&kind).ok_or(StoreError::Corrupt("file"))?, name), id);
    }
    Ok(Release {
        id: json::parsed(row, 0, "release id")?,
        service_id: json::parsed(row, 1, "service id")?,
        number: row.get(2)?,
        spec: spec(row, 3)?,
        files: named,
        container_hash: row.get(5)?,
        author: row.get(6)?,
        message: row.get(7)?,
        created_at: millis(row, 8)?,
    })
}

fn replica(row: &Row<'_>) -> Result<Replica, StoreError> {
    let phase: String = row.get(5)?;
    let addresses: Vec<(NetworkId, std::net::Ipv4Addr)> = json::read(row, 7, "address")?;
    let address = |(network_id, ip)| model::hosting::Address { network_id, ip };
    Ok(Replica {
        id: json::parsed::<ReplicaId>(row, 0, "replica id")?,
        service_id: json::parsed(row, 1, "service id")?,
        release_id: json::parsed(row, 2, "release id")?,
        host_id: json::parsed(row, 3, "host id")?,
        number: row.get(4)?,
        phase: Phase::of(&phase).ok_or(StoreError::Corrupt("phase of a replica"))?,
        phase_since: millis(row, 6)?,
        addresses: addresses.into_iter().map(address).collect(),
        created_at: millis(row, 8)?,
        report: json::maybe(row, 9, "report of a replica")?,
        reported_since: optional_millis(row, 10)?,
    })
}

fn network(row: &Row<'_>) -> Result<NetworkPlace, StoreError> {
    Ok(NetworkPlace {
        id: json::parsed(row, 0, "network id")?,
        project_id: json::parsed(row, 1, "project id")?,
        host_id: json::parsed(row, 2, "host id")?,
        spec: json::read(row, 3, "network")?,
        subnet: json::parsed(row, 4, "subnet")?,
    })
}

fn volume(row: &Row<'_>) -> Result<VolumePlace, StoreError> {
    Ok(VolumePlace {
        id: json::parsed(row, 0, "volume id")?,
        project_id: json::parsed(row, 1, "project id")?,
        host_id: json::parsed(row, 2, "host id")?,
        spec: json::read(row, 3, "volume")?,
        doomed: row.get(4)?,
        created_at: millis(row, 5)?,
    })
}

fn deployment(row: &Row<'_>) -> Result<Deployment, StoreError> {
    let state: String = row.get(2)?;
    Ok(Deployment {
        id: DeploymentId(row.get(0)?),
        project_id: json::parsed(row, 1, "project id")?,
        state: DeploymentState::of(&state).ok_or(StoreError::Corrupt("state of a deployment"))?,
        reason: row.get(3)?,
        items: Vec::new(),
        created_by: row.get(4)?,
        message: row.get(5)?,
        created_at: millis(row, 6)?,
        finished_at: optional_millis(row, 7)?,
    })
}

fn item(row: &Row<'_>) -> Result<DeploymentItem, StoreError> {
    let outcome: String = row.get(3)?;
    let outcome = match outcome.as_str() {
        "waiting" => ItemOutcome::Waiting,
        "done" => ItemOutcome::Done,
        "failed" => ItemOutcome::Failed(row.get::<_, Option<String>>(4)?.unwrap_or_default()),
        _ => return Err(StoreError::Corrupt("outcome of a deployment")),
    };
    Ok(DeploymentItem {
        service_id: json::parsed(row, 0, "service id")?,
        service_name: row.get(5)?,
        from: json::maybe_parsed(row, 1, "release id")?,
        to: json::maybe_parsed(row, 2, "release id")?,
        outcome,
    })
}
