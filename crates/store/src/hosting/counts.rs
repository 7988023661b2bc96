//! What monitoring counts of hosts and services, without reading what each of them is.

use std::collections::BTreeMap;

use host_proto::id::{HostId, ServiceId};
use rusqlite::Row;

use super::json;
use crate::error::StoreError;
use crate::store::Store;

/// A host, as far as it is counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostMark {
    /// Which.
    pub id: HostId,
    /// It removes nothing until an operator says so.
    pub adopting: bool,
    /// It has been connected.
    pub was_here: bool,
}

/// A service, as far as it is counted.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ServiceMark {
    /// How many replicas its current release has; none without one.
    pub wanted: u32,
    /// Its serving replicas on each host, and how many of those said last that they work.
    pub on: BTreeMap<HostId, (u32, u32)>,
}

impl Store {
    /// Every host.
    pub async fn host_marks(&self) -> Result<Vec<HostMark>, StoreError> {
        self.read(move |reader| {
            let sql = "SELECT id, adopting, last_seen IS NOT NULL FROM host";
            let row = |row: &Row<'_>| {
                Ok(HostMark {
                    id: json::parsed(row, 0, "host id")?,
                    adopting: row.get(1)?,
                    was_here: row.get(2)?,
                })
            };
            json::rows(&mut reader.conn.prepare_cached(sql)?, [], row)
        })
        .await
    }

    /// Every service.
    pub async fn service_marks(&self) -> Result<BTreeMap<ServiceId, ServiceMark>, StoreError> {
        self.read(move |reader| {
            // What says no number runs once.
            let sql = "SELECT s.id, CASE WHEN l.id IS NULL THEN 0 ELSE coalesce(json_extract(l.spec, '$.scale.count'), 1) END
                 FROM service s LEFT JOIN service_release l ON l.id = s.current";
            let row = |row: &Row<'_>| Ok((json::parsed(row, 0, "service id")?, row.get(1)?));
            let wanted = json::rows(&mut reader.conn.prepare_cached(sql)?, [], row)?;
            let mut marks: BTreeMap<ServiceId, ServiceMark> = wanted
                .into_iter()
                .map(|(id, wanted)| (id, ServiceMark { wanted, on: BTreeMap::new() }))
                .collect();
            let sql = "SELECT service_id, host_id, count(*),
                 total(json_extract(report, '$.state') = 'running'
                     AND coalesce(json_extract(report, '$.health'), 'none') IN ('none', 'healthy'))
                 FROM replica WHERE phase = 'serving' GROUP BY service_id, host_id";
            let row = |row: &Row<'_>| {
                let (all, ready): (u32, f64) = (row.get(2)?, row.get(3)?);
                #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a number of rows")]
                let ready = ready as u32;
                let on: (ServiceId, HostId) =
                    (json::parsed(row, 0, "service id")?, json::parsed(row, 1, "host id")?);
                Ok((on, (all, ready)))
            };
            for ((service, host), counts) in json::rows(&mut reader.conn.prepare_cached(sql)?, [], row)? {
                if let Some(mark) = marks.get_mut(&service) {
                    mark.on.insert(host, counts);
                }
            }
            Ok(marks)
        })
        .await
    }
}
