//! What happened to an agent and why: the audit entries about it and about the assignment that decides over it, what a
//! rollout granted it, and the last turns that its own row tells of. No history of its own is kept.

use std::sync::Arc;

use api::audit::AuditActor;
use api::history::{Timeline, TimelineItem};
use model::AssignmentId;
use opamp_proto::InstanceUid;
use serde_json::json;
use store::{AuditRecord, StoreError};

use super::{Fleet, config, detail};
use crate::clock::rfc3339;
use crate::configs::Plan;

/// The most entries of the audit trail in a timeline.
const MOST: u32 = 200;

impl Fleet {
    /// What happened to an agent, the newest first. `None`: it is not known.
    pub(crate) async fn timeline(&self, uid: InstanceUid) -> Result<Option<Timeline>, StoreError> {
        let Some(row) = self.store.get_agent(uid).await? else { return Ok(None) };
        let stored = self.store.agent_place(uid).await?;
        let (live, plan) = (self.live(uid), self.configs.plan());
        let assignment = config::place(live.as_ref(), stored).assignment;
        let agent = detail::detail(row, live.as_ref());
        let since = agent.first_seen.clone().unwrap_or_default();
        let objects = [Some(format!("agent/{uid}")), assignment.map(|id| format!("assignment/{id}"))]
            .into_iter()
            .flatten();
        let trail = self.store.audit_about(objects.collect(), uid.to_string(), MOST).await?;
        let changes = trail.into_iter().map(change).filter(|item| item.at >= since);
        let mut items: Vec<TimelineItem> =
            changes.chain(assignment.and_then(|id| released(&plan, id, uid))).chain(own(&agent)).collect();
        // Written alike everywhere, so their order is that of time.
        items.sort_by(|one, other| other.at.cmp(&one.at));
        Ok(Some(Timeline { items }))
    }
}

fn change(record: AuditRecord) -> TimelineItem {
    let AuditRecord { id: _, at, actor_kind, actor, address: _, action, object, before, after } = record;
    let actor = Some(AuditActor { kind: actor_kind, name: actor });
    TimelineItem { at: rfc3339(at), action, object, actor, text: None, before, after }
}

/// When a rollout that is not over yet released it.
fn released(plan: &Arc<Plan>, id: AssignmentId, uid: InstanceUid) -> Option<TimelineItem> {
    let grant = plan.grant(id, uid)?;
    let known = plan.revision(grant.revision)?;
    Some(TimelineItem {
        at: rfc3339(grant.at),
        action: "agent.released".to_owned(),
        object: format!("assignment/{id}"),
        actor: None,
        text: Some(format!(
            "released with batch {} to {} revision {}",
            grant.batch, known.config, known.number
        )),
        before: None,
        after: Some(json!({ "config": known.config, "revision": known.number })),
    })
}

/// What the agent's own row tells.
fn own(agent: &api::agents::AgentDetail) -> impl Iterator<Item = TimelineItem> {
    let summary = &agent.summary;
    let turn = |action: &str, at: &Option<String>, text: Option<String>| {
        at.clone().map(|at| TimelineItem {
            at,
            action: format!("agent.{action}"),
            object: format!("agent/{}", summary.instance_uid),
            actor: None,
            text,
            before: None,
            after: None,
        })
    };
    let token = agent
        .credential
        .as_ref()
        .map(|credential| format!("with the enrolment token {:?}", credential.label));
    let way = summary.transport.as_ref().zip(summary.peer_address.as_ref());
    let way = way.map(|(transport, address)| format!("by {transport} from {address}"));
    let is_gone = summary.state == "disconnected";
    let gone = is_gone.then(|| summary.last_seen.clone()).flatten();
    let health = agent.health.as_ref();
    let words = health.map(|health| {
        let word = if health.healthy { "healthy" } else { "unhealthy" };
        let why = if health.last_error.is_empty() { &health.status } else { &health.last_error };
        if why.is_empty() { word.to_owned() } else { format!("{word}: {why}") }
    });
    [
        turn("first-seen", &agent.first_seen, None),
        turn("enrolled", &agent.enrolled_at, token),
        turn("connected", &summary.connected_since, way),
        turn("disconnected", &gone, Some("heard for the last time".to_owned())),
        turn("health", &health.and_then(|health| health.status_time.clone()), words),
    ]
    .into_iter()
    .flatten()
}
