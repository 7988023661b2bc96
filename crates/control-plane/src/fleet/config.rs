//! What an agent is given and how far it is with it, as the API has it: from memory while it is connected, from the
//! store otherwise.

use std::sync::Arc;

use api::agents::{AgentConfig, ConfigFile, Drift, Offered};
use bytes::Bytes;
use model::config::{ConfigFiles, drift};
use model::redact::redact_file;
use model::{ConfigState, Place};
use opamp_proto::InstanceUid;
use opamp_proto::wire::{EffectiveConfig, Message as _};
use store::{RevisionRow, StoredFile};

use crate::configs::Plan;
use crate::http::config_json::files_of;
use crate::opamp::LiveAgent;

/// What was decided about an agent, where memory knows better than the store.
pub(super) fn place(live: Option<&Arc<LiveAgent>>, stored: Option<Place>) -> Place {
    match live {
        Some(agent) => {
            agent.data().placed().as_ref().map_or(Place::UNMANAGED, |placed| placed.place().clone())
        }
        None => stored.unwrap_or(Place::UNMANAGED),
    }
}

/// The words for it.
pub(super) fn of(
    plan: &Plan,
    uid: InstanceUid,
    live: Option<&Arc<LiveAgent>>,
    stored: Option<Place>,
) -> AgentConfig {
    words(plan, uid, place(live, stored))
}

/// The words for what was decided.
pub(super) fn words(plan: &Plan, uid: InstanceUid, place: Place) -> AgentConfig {
    let Place { state, assignment, revision, reason } = place;
    let known = revision.and_then(|id| plan.revision(id));
    AgentConfig {
        state: state.as_str().to_owned(),
        config: known.map(|known| known.config.clone()),
        revision: known.map(|known| known.number),
        assignment: assignment.map(|id| id.to_string()),
        pinned: state != ConfigState::Unmanaged && plan.pinned(uid).is_some(),
        reason: (!reason.is_empty()).then_some(reason),
    }
}

/// What is offered, secrets masked, and where the effective configuration differs.
pub(super) fn compare(
    config: String,
    row: RevisionRow,
    files: Vec<StoredFile>,
    effective: Option<Bytes>,
) -> (Option<Offered>, Option<Vec<Drift>>) {
    let Ok(files) = files_of(files) else { return (None, None) };
    let offered = Offered {
        config,
        revision: row.number,
        hash: hex::encode(row.hash),
        files: files.iter().map(masked).collect(),
    };
    (Some(offered), effective.and_then(|effective| differences(&files, effective)))
}

fn masked(file: &model::config::ConfigFile) -> ConfigFile {
    let masked = redact_file(&file.content_type, &file.body);
    ConfigFile {
        name: file.name.clone(),
        content_type: file.content_type.clone(),
        redacted: masked.masked > 0,
        body: masked.text,
        encoding: "utf8".to_owned(),
    }
}

fn differences(files: &ConfigFiles, effective: Bytes) -> Option<Vec<Drift>> {
    let effective = EffectiveConfig::decode(effective).ok()?.config_map?;
    let found = drift(files, &effective)?;
    let one = |drift: model::config::Drift| Drift {
        path: drift.path,
        offered: drift.offered,
        effective: drift.effective,
    };
    Some(found.into_iter().map(one).collect())
}
