//! What was decided about a project is written: all of a step or nothing. And what hosts report of replicas.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;

use host_proto::id::{HostId, NetworkId, ProjectId, ReleaseId, ReplicaId, ServiceId, VolumeId};
use host_proto::report::ReplicaReport;
use model::UnixMillis;
use model::hosting::{DeploymentId, DeploymentState, ItemOutcome, NetworkPlace, Phase, Replica, VolumePlace};

use super::json;
use crate::audit::{AuditEntry, record};
use crate::error::StoreError;
use crate::store::Store;
use crate::version::Expected;
use crate::writer::{Db, Durability};

/// Something that was decided about a project.
#[derive(Debug, Clone)]
pub enum ProjectWrite {
    /// A network got a place.
    Network(NetworkPlace),
    /// A network gives up its place.
    Leave(NetworkId),
    /// A volume got a place.
    Volume(VolumePlace),
    /// A replica is to be.
    Add(Box<Replica>),
    /// A replica goes on.
    Phase(ReplicaId, Phase),
    /// A replica is another release's as well.
    Adopt(ReplicaId, ReleaseId),
    /// A replica is gone.
    Forget(ReplicaId),
    /// A service of a deployment got somewhere, or did not.
    Item(DeploymentId, ServiceId, ItemOutcome),
    /// A deployment goes on.
    Deployment(DeploymentId, DeploymentState, Option<String>),
    /// A volume is to go with all that is in it; [`Store::volumes_gone`] forgets it once it is.
    Doom(VolumeId),
}

/// What a host says of a replica.
#[derive(Debug, Clone)]
pub struct Reported {
    /// What it says.
    pub report: ReplicaReport,
    /// Since when state and health are so.
    pub since: UnixMillis,
}

impl Store {
    /// Writes what was decided about a project, and what stands in the audit trail of it, unless it was changed meanwhile.
    /// Durable.
    pub async fn write_steps(
        &self,
        project: ProjectId,
        expected: Expected,
        writes: Vec<ProjectWrite>,
        entries: Vec<AuditEntry>,
        now: UnixMillis,
    ) -> Result<(), StoreError> {
        self.write(Durability::Durable, writes.len(), move |db| {
            let sql = "UPDATE project SET version = version + 1 WHERE id = ?1 RETURNING version - 1";
            let mut update = db.conn.prepare_cached(sql)?;
            let version = json::first(&mut update, [project.as_str()], |row| Ok(row.get::<_, i64>(0)?))?;
            let version = version.ok_or(StoreError::Missing("project"))?;
            expected.check(crate::value::unsigned(version), "project")?;
            writes.iter().try_for_each(|write| apply(db, &project, write, now))?;
            entries.iter().try_for_each(|entry| record(db, entry))
        })
        .await
    }

    /// Writes what a host says of its replicas, and answers whose they are. Those that another host has are left out. May
    /// be lost in a crash: hosts say it again.
    pub async fn report_replicas(
        &self,
        host: HostId,
        reports: Vec<Reported>,
    ) -> Result<BTreeSet<ProjectId>, StoreError> {
        self.write(Durability::Behind, reports.len(), move |db| {
            let mut update = db.conn.prepare_cached(
                "UPDATE replica SET report = ?3, reported_since = ?4 WHERE id = ?1 AND host_id = ?2
                 RETURNING project_id",
            )?;
            let mut projects = BTreeSet::new();
            for Reported { report, since } in &reports {
                let text = json::text(report, "report of a replica")?;
                let row = (report.replica_id.as_str(), host.as_str(), text, since.0);
                projects.extend(json::first(&mut update, row, |row| json::parsed(row, 0, "project id"))?);
            }
            Ok(projects)
        })
        .await
    }

    /// Replicas of which a host has no container any more and should have none: they are forgotten. Whose they were.
    pub async fn replicas_gone(
        &self,
        host: HostId,
        gone: Vec<ReplicaId>,
    ) -> Result<BTreeSet<ProjectId>, StoreError> {
        self.write(Durability::Durable, gone.len(), move |db| {
            let mut delete = db.conn.prepare_cached(
                "DELETE FROM replica WHERE id = ?1 AND host_id = ?2 AND phase = 'removing' RETURNING project_id",
            )?;
            let mut projects = BTreeSet::new();
            for id in &gone {
                let row = (id.as_str(), host.as_str());
                projects.extend(json::first(&mut delete, row, |row| json::parsed(row, 0, "project id"))?);
            }
            Ok(projects)
        })
        .await
    }

    /// Volumes that a host was told to delete and does not have any more: they are forgotten. Whose they were. One that is
    /// not to go stays, whatever is said of it.
    pub async fn volumes_gone(
        &self,
        host: HostId,
        gone: Vec<VolumeId>,
    ) -> Result<BTreeSet<ProjectId>, StoreError> {
        self.write(Durability::Durable, gone.len(), move |db| {
            let mut delete = db.conn.prepare_cached(
                "DELETE FROM volume_place WHERE id = ?1 AND host_id = ?2 AND doomed RETURNING project_id",
            )?;
            let mut projects = BTreeSet::new();
            for id in &gone {
                let row = (id.as_str(), host.as_str());
                projects.extend(json::first(&mut delete, row, |row| json::parsed(row, 0, "project id"))?);
            }
            Ok(projects)
        })
        .await
    }

    /// The replicas that are meant to be on a host, with their phases.
    pub async fn replicas_on(&self, host: HostId) -> Result<Vec<(ReplicaId, Phase)>, StoreError> {
        self.read(move |reader| {
            let sql = "SELECT id, phase FROM replica WHERE host_id = ?1";
            let row = |row: &rusqlite::Row<'_>| {
                let phase: String = row.get(1)?;
                let phase = Phase::of(&phase).ok_or(StoreError::Corrupt("phase of a replica"))?;
                Ok((json::parsed(row, 0, "replica id")?, phase))
            };
            json::rows(&mut reader.conn.prepare_cached(sql)?, [host.as_str()], row)
        })
        .await
    }

    /// The address that was given last on a network.
    pub async fn last_address(&self, network: NetworkId) -> Result<Option<Ipv4Addr>, StoreError> {
        self.read(move |reader| {
            let sql = "SELECT last_ip FROM network_place WHERE id = ?1";
            let row = |row: &rusqlite::Row<'_>| json::maybe_parsed(row, 0, "address");
            Ok(json::first(&mut reader.conn.prepare_cached(sql)?, [network.as_str()], row)?.flatten())
        })
        .await
    }
}

pub(super) fn outcome(outcome: &ItemOutcome) -> (&'static str, Option<&str>) {
    match outcome {
        ItemOutcome::Waiting => ("waiting", None),
        ItemOutcome::Done => ("done", None),
        ItemOutcome::Failed(why) => ("failed", Some(why)),
    }
}

fn apply(
    db: &mut Db<'_>,
    project: &ProjectId,
    write: &ProjectWrite,
    now: UnixMillis,
) -> Result<(), StoreError> {
    match write {
        ProjectWrite::Network(place) => insert_network(db, place)?,
        ProjectWrite::Leave(id) => {
            db.conn.prepare_cached("DELETE FROM network_place WHERE id = ?1")?.execute([id.as_str()])?;
        }
        ProjectWrite::Volume(place) => insert_volume(db, place)?,
        ProjectWrite::Add(replica) => insert_replica(db, project, replica)?,
        ProjectWrite::Phase(id, phase) => {
            let sql = "UPDATE replica SET phase = ?2, phase_since = ?3 WHERE id = ?1";
            db.conn.prepare_cached(sql)?.execute((id.as_str(), phase.as_str(), now.0))?;
        }
        ProjectWrite::Adopt(id, release) => {
            let sql = "UPDATE replica SET release_id = ?2 WHERE id = ?1";
            db.conn.prepare_cached(sql)?.execute((id.as_str(), release.as_str()))?;
        }
        ProjectWrite::Forget(id) => {
            db.conn.prepare_cached("DELETE FROM replica WHERE id = ?1")?.execute([id.as_str()])?;
        }
        ProjectWrite::Item(deployment, service, result) => {
            let (word, reason) = outcome(result);
            let sql = "UPDATE deployment_item SET outcome = ?3, reason = ?4 WHERE deployment_id = ?1 AND service_id = ?2";
            db.conn.prepare_cached(sql)?.execute((deployment.0, service.as_str(), word, reason))?;
        }
        ProjectWrite::Deployment(id, state, reason) => advance(db, *id, *state, reason.as_deref(), now)?,
        ProjectWrite::Doom(id) => {
            let sql = "UPDATE volume_place SET doomed = 1 WHERE id = ?1";
            db.conn.prepare_cached(sql)?.execute([id.as_str()])?;
        }
    }
    Ok(())
}

fn advance(
    db: &Db<'_>,
    id: DeploymentId,
    state: DeploymentState,
    reason: Option<&str>,
    now: UnixMillis,
) -> Result<(), StoreError> {
    let finished = state.is_over().then_some(now.0);
    let sql =
        "UPDATE deployment SET state = ?2, reason = coalesce(?3, reason), finished_at = ?4 WHERE id = ?1";
    db.conn.prepare_cached(sql)?.execute((id.0, state.as_str(), reason, finished))?;
    if state == DeploymentState::Done {
        db.conn
            .prepare_cached(
                "UPDATE service SET current = (SELECT to_release FROM deployment_item
                 WHERE deployment_id = ?1 AND service_id = service.id)
                 WHERE id IN (SELECT service_id FROM deployment_item WHERE deployment_id = ?1)",
            )?
            .execute([id.0])?;
    }
    if state.is_over() {
        // Services of which nothing is left and nothing is wanted; their releases go with them.
        db.conn
            .prepare_cached(
                "DELETE FROM service WHERE current IS NULL
                 AND id IN (SELECT service_id FROM deployment_item WHERE deployment_id = ?1)
                 AND NOT EXISTS (SELECT 1 FROM replica WHERE service_id = service.id)
                 AND ?2 = 'done'",
            )?
            .execute((id.0, state.as_str()))?;
    }
    Ok(())
}

fn insert_network(db: &Db<'_>, place: &NetworkPlace) -> Result<(), StoreError> {
    let sql = "INSERT INTO network_place (id, project_id, host_id, spec, subnet) VALUES (?1, ?2, ?3, ?4, ?5)";
    db.conn.prepare_cached(sql)?.execute((
        place.id.as_str(),
        place.project_id.as_str(),
        place.host_id.as_str(),
        json::text(&place.spec, "network")?,
        place.subnet.to_string(),
    ))?;
    Ok(())
}

fn insert_volume(db: &Db<'_>, place: &VolumePlace) -> Result<(), StoreError> {
    let sql = "INSERT INTO volume_place (id, project_id, host_id, spec, doomed, created_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
    db.conn.prepare_cached(sql)?.execute((
        place.id.as_str(),
        place.project_id.as_str(),
        place.host_id.as_str(),
        json::text(&place.spec, "volume")?,
        place.doomed,
        place.created_at.0,
    ))?;
    Ok(())
}

fn insert_replica(db: &Db<'_>, project: &ProjectId, replica: &Replica) -> Result<(), StoreError> {
    let addresses: Vec<(&str, Ipv4Addr)> =
        replica.addresses.iter().map(|it| (it.network_id.as_str(), it.ip)).collect();
    db.conn
        .prepare_cached(
            "INSERT INTO replica (id, service_id, project_id, release_id, host_id, number, phase, phase_since, addresses,
             created_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
        )?
        .execute((
            replica.id.as_str(),
            replica.service_id.as_str(),
            project.as_str(),
            replica.release_id.as_str(),
            replica.host_id.as_str(),
            replica.number,
            replica.phase.as_str(),
            replica.phase_since.0,
            json::text(&addresses, "address")?,
            replica.created_at.0,
        ))?;
    for address in &replica.addresses {
        db.conn
            .prepare_cached("UPDATE network_place SET last_ip = ?2 WHERE id = ?1")?
            .execute((address.network_id.as_str(), address.ip.to_string()))?;
    }
    Ok(())
}
