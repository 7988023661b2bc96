//! A deployment begins: the project, its services, their new releases and what goes from where to where, in one
//! transaction. One that is under way gives way to it.

use host_proto::id::{ProjectId, ServiceId};
use model::UnixMillis;
use model::hosting::{
    Deployment, DeploymentId, DeploymentItem, DeploymentState, ItemOutcome, Project, Release, Service,
};
use serde_json::json as value;

use super::json;
use crate::audit::{self, AuditEntry};
use crate::error::StoreError;
use crate::store::Store;
use crate::value::signed;
use crate::version::Expected;
use crate::writer::{Db, Durability};

/// A deployment to begin.
#[derive(Debug, Clone)]
pub struct NewDeployment {
    /// The project as it is to be; made when it is not there yet.
    pub project: Project,
    /// The text that it comes from; `None`: as it was.
    pub source: Option<String>,
    /// The version of the project that all this was worked out from.
    pub expected: Expected,
    /// Services that are new.
    pub services: Vec<Service>,
    /// Releases that are new; their numbers are given here.
    pub releases: Vec<Release>,
    /// What goes from where to where.
    pub items: Vec<DeploymentItem>,
    /// Who wants it.
    pub created_by: String,
    /// Why.
    pub message: String,
    /// When.
    pub created_at: UnixMillis,
}

impl Store {
    /// Begins a deployment. Durable, with `entry` about it.
    pub async fn begin_deployment(
        &self,
        new: NewDeployment,
        entry: AuditEntry,
    ) -> Result<Deployment, StoreError> {
        self.write(Durability::Durable, 4, move |db| begin(db, &new, &entry)).await
    }

    /// Ends the deployment of a project that is under way, so that the services go back. Durable, with `entry` about it.
    pub async fn abort_deployment(
        &self,
        id: DeploymentId,
        reason: String,
        entry: AuditEntry,
    ) -> Result<bool, StoreError> {
        self.write(Durability::Durable, 1, move |db| {
            let changed = db.conn.execute(
                "UPDATE deployment SET state = ?2, reason = ?3 WHERE id = ?1 AND state = 'running'",
                (id.0, DeploymentState::RollingBack.as_str(), &reason),
            )?;
            if changed > 0 {
                audit::record(db, &entry)?;
            }
            Ok(changed > 0)
        })
        .await
    }

    /// Removes a project of which nothing runs any more, its volumes with it: only the records, hosts remove what they
    /// are told. Durable, with `entry` about it.
    pub async fn remove_project(&self, id: ProjectId, entry: AuditEntry) -> Result<(), StoreError> {
        self.write(Durability::Durable, 1, move |db| {
            let used: i64 = db.conn.query_row(
                "SELECT (SELECT count(*) FROM replica WHERE project_id = ?1)
                 + (SELECT count(*) FROM volume_place WHERE project_id = ?1)",
                [id.as_str()],
                |row| row.get(0),
            )?;
            if used > 0 {
                return Err(StoreError::Changed("project"));
            }
            db.conn.execute("DELETE FROM project WHERE id = ?1", [id.as_str()])?;
            audit::record(db, &entry)
        })
        .await
    }
}

fn begin(db: &mut Db<'_>, new: &NewDeployment, entry: &AuditEntry) -> Result<Deployment, StoreError> {
    put_project(db, new)?;
    for service in &new.services {
        let mut insert = db.conn.prepare_cached(
            "INSERT INTO service (id, project_id, name, created_at) VALUES (?1, ?2, ?3, ?4)
             ON CONFLICT (project_id, name) DO NOTHING",
        )?;
        let row = (service.id.as_str(), service.project_id.as_str(), &service.name, service.created_at.0);
        if insert.execute(row)? == 0 {
            return Err(StoreError::Changed("project"));
        }
    }
    for release in &new.releases {
        insert_release(db, release)?;
    }
    db.conn.execute(
        "UPDATE deployment SET state = ?2, finished_at = ?3
         WHERE project_id = ?1 AND state IN ('running', 'rolling back')",
        (new.project.id.as_str(), DeploymentState::Superseded.as_str(), new.created_at.0),
    )?;
    let id: i64 = db
        .conn
        .prepare_cached(
            "INSERT INTO deployment (project_id, state, created_by, message, created_at) VALUES (?1, ?2, ?3, ?4, ?5)
             RETURNING id",
        )?
        .query_row(
            (
                new.project.id.as_str(),
                DeploymentState::Running.as_str(),
                &new.created_by,
                &new.message,
                new.created_at.0,
            ),
            |row| row.get(0),
        )?;
    for (place, item) in new.items.iter().enumerate() {
        insert_item(db, id, place, item)?;
    }
    let told = value!({ "deployment": id, "services": new.items.len(), "message": new.message });
    audit::record(db, &entry.with(None, Some(told)))?;
    Ok(Deployment {
        id: DeploymentId(id),
        project_id: new.project.id.clone(),
        state: DeploymentState::Running,
        reason: None,
        items: new.items.clone(),
        created_by: new.created_by.clone(),
        message: new.message.clone(),
        created_at: new.created_at,
        finished_at: None,
    })
}

fn put_project(db: &Db<'_>, new: &NewDeployment) -> Result<(), StoreError> {
    let found = super::projects::rows_of(db.conn, new.project.id.as_str())?;
    let version = found.as_ref().map_or(0, |rows| rows.project.version);
    new.expected.check(version, "project")?;
    if let Some(world) = &found {
        super::projects::keep_shared(db.conn, world)?;
    }
    let project = &new.project;
    db.conn
        .prepare_cached(
            "INSERT INTO project (id, name, networks, volumes, source, created_at, version)
             VALUES (?1, ?2, ?3, ?4, coalesce(?5, ''), ?6, ?7)
             ON CONFLICT (id) DO UPDATE SET networks = excluded.networks, volumes = excluded.volumes,
             source = coalesce(?5, source), version = excluded.version",
        )?
        .execute((
            project.id.as_str(),
            &project.name,
            json::text(&project.networks, "network")?,
            json::text(&project.volumes, "volume")?,
            &new.source,
            project.created_at.0,
            signed(version + 1),
        ))?;
    Ok(())
}

fn insert_release(db: &Db<'_>, release: &Release) -> Result<(), StoreError> {
    let files: Vec<(&str, &str, &str)> =
        release.files.iter().map(|((kind, name), id)| (kind.as_str(), name.as_str(), id.as_str())).collect();
    let number = next_number(db, &release.service_id)?;
    db.conn
        .prepare_cached(
            "INSERT INTO service_release (id, service_id, number, spec, files, container_hash, author, message,
             created_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
        )?
        .execute((
            release.id.as_str(),
            release.service_id.as_str(),
            number,
            release.spec.to_json().map_err(|_| StoreError::Corrupt("release"))?,
            json::text(&files, "file")?,
            &release.container_hash,
            &release.author,
            &release.message,
            release.created_at.0,
        ))?;
    Ok(())
}

fn next_number(db: &Db<'_>, service: &ServiceId) -> Result<i64, StoreError> {
    let sql = "SELECT coalesce(max(number), 0) + 1 FROM service_release WHERE service_id = ?1";
    Ok(db.conn.prepare_cached(sql)?.query_row([service.as_str()], |row| row.get(0))?)
}

fn insert_item(db: &Db<'_>, id: i64, place: usize, item: &DeploymentItem) -> Result<(), StoreError> {
    let (outcome, reason) = super::steps::outcome(&item.outcome);
    debug_assert_eq!(item.outcome, ItemOutcome::Waiting);
    db.conn
        .prepare_cached(
            "INSERT INTO deployment_item (deployment_id, place, service_id, from_release, to_release, outcome, reason,
             service_name) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        )?
        .execute((
            id,
            i64::try_from(place).unwrap_or(i64::MAX),
            item.service_id.as_str(),
            item.from.as_ref().map(|id| id.as_str()),
            item.to.as_ref().map(|id| id.as_str()),
            outcome,
            reason,
            &item.service_name,
        ))?;
    Ok(())
}
