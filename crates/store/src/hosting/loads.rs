//! What decisions and states need of hosts, each in one reading: hosts with what is on them, and all that the state of one
//! host follows from.

use std::collections::{BTreeMap, BTreeSet};

use host_proto::id::{HostId, ProjectId, VolumeId};
use model::hosting::{Host, ProjectWorld, RegistryCredential, Subnet};
use model::service::ServiceSpec;
use rusqlite::{Connection, Params, Row};

use super::{files, hosts, json, projects};
use crate::error::StoreError;
use crate::secrets::SealedSecret;
use crate::store::Store;

/// A host and what is on it.
#[derive(Debug, Clone, PartialEq)]
pub struct HostLoad {
    /// The host.
    pub host: Host,
    /// How many replicas of all projects it has.
    pub replicas: usize,
    /// The blocks of addresses that networks of all projects have on it.
    pub subnets: Vec<Subnet>,
    /// Releases with ports that have replicas on it; empty when they were not asked for.
    pub ports: Vec<HostPorts>,
}

/// The ports that a service has on a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostPorts {
    /// Whose.
    pub project_id: ProjectId,
    /// The service as `project/service`.
    pub service: String,
    /// What it runs there.
    pub spec: ServiceSpec,
}

/// All that the state of a host follows from, beside the contents of files.
#[derive(Debug, Clone)]
pub struct HostRows {
    /// The host.
    pub host: Host,
    /// Projects that have something on it.
    pub projects: Vec<ProjectWorld>,
    /// Every credential for a registry with its sealed password.
    pub registries: Vec<(RegistryCredential, SealedSecret)>,
}

impl Store {
    /// Hosts with what is on them, by name: those of `among` that there are, or all. `ports`: with the ports in use.
    pub async fn host_loads(
        &self,
        among: Option<Vec<HostId>>,
        ports: bool,
    ) -> Result<Vec<HostLoad>, StoreError> {
        self.read(move |reader| match among {
            None => loads(&reader.conn, "TRUE", [], ports),
            Some(ids) => {
                let ids = json::text(&ids, "host id")?;
                loads(&reader.conn, "{} IN (SELECT value FROM json_each(?1))", [&ids], ports)
            }
        })
        .await
    }

    /// Those of these volumes that belong to a project, on whichever host.
    pub async fn known_volumes(&self, ids: Vec<VolumeId>) -> Result<BTreeSet<VolumeId>, StoreError> {
        self.read(move |reader| {
            let ids = json::text(&ids, "volume id")?;
            let sql = "SELECT id FROM volume_place WHERE id IN (SELECT value FROM json_each(?1))";
            let row = |row: &Row<'_>| json::parsed(row, 0, "volume id");
            let known = json::rows(&mut reader.conn.prepare_cached(sql)?, [&ids], row)?;
            Ok(known.into_iter().collect())
        })
        .await
    }

    /// All that the state of a host follows from.
    pub async fn host_rows(&self, id: HostId) -> Result<Option<HostRows>, StoreError> {
        self.read(move |reader| {
            let Some(host) = hosts::by_id(&reader.conn, &id)? else { return Ok(None) };
            let projects = projects::on_host(&reader.conn, &id)?;
            Ok(Some(HostRows { host, projects, registries: files::registries(&reader.conn)? }))
        })
        .await
    }
}

/// `which`: a condition on the column with the host's identifier, which it calls `{}`.
fn loads<P: Params + Copy>(
    conn: &Connection,
    which: &str,
    params: P,
    ports: bool,
) -> Result<Vec<HostLoad>, StoreError> {
    let columns = hosts::COLUMNS;
    let sql = format!("SELECT {columns} FROM host WHERE {} ORDER BY name", which.replace("{}", "id"));
    let found = json::rows(&mut conn.prepare_cached(&sql)?, params, hosts::host)?;
    let on_host = which.replace("{}", "host_id");
    let sql = format!("SELECT host_id, subnet FROM network_place WHERE {on_host}");
    let row = |row: &Row<'_>| {
        Ok((json::parsed::<HostId>(row, 0, "host id")?, json::parsed::<Subnet>(row, 1, "subnet")?))
    };
    let mut subnets: BTreeMap<HostId, Vec<Subnet>> = BTreeMap::new();
    for (host, subnet) in json::rows(&mut conn.prepare_cached(&sql)?, params, row)? {
        subnets.entry(host).or_default().push(subnet);
    }
    let which = which.replace("{}", "r.host_id");
    let sql = format!("SELECT host_id, count(*) FROM replica r WHERE {which} GROUP BY host_id");
    let count = |row: &Row<'_>| {
        let count = usize::try_from(row.get::<_, i64>(1)?).unwrap_or(0);
        Ok((json::parsed::<HostId>(row, 0, "host id")?, count))
    };
    let counts = json::rows(&mut conn.prepare_cached(&sql)?, params, count)?;
    let counts: BTreeMap<HostId, usize> = counts.into_iter().collect();
    let mut used: BTreeMap<HostId, Vec<HostPorts>> = BTreeMap::new();
    if ports {
        let sql = format!(
            "SELECT DISTINCT r.host_id, r.project_id, p.name || '/' || s.name, l.spec FROM replica r
             JOIN service s ON s.id = r.service_id JOIN project p ON p.id = r.project_id
             JOIN service_release l ON l.id = r.release_id
             WHERE r.phase IN ('preparing', 'starting', 'serving') AND json_extract(l.spec, '$.ports') IS NOT NULL
             AND {which}"
        );
        let row = |row: &Row<'_>| {
            let its = HostPorts {
                project_id: json::parsed(row, 1, "project id")?,
                service: row.get(2)?,
                spec: projects::spec(row, 3)?,
            };
            Ok((json::parsed::<HostId>(row, 0, "host id")?, its))
        };
        for (host, its) in json::rows(&mut conn.prepare_cached(&sql)?, params, row)? {
            used.entry(host).or_default().push(its);
        }
    }
    let load = |host: Host| HostLoad {
        replicas: counts.get(&host.id).copied().unwrap_or(0),
        subnets: subnets.remove(&host.id).unwrap_or_default(),
        ports: used.remove(&host.id).unwrap_or_default(),
        host,
    };
    Ok(found.into_iter().map(load).collect())
}
