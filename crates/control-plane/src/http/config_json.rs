//! Configurations, assignments and previews as the API writes them.

use std::collections::HashMap;
use std::sync::Arc;

use api::assignments::{Assignment as AssignmentJson, Pause, Progress};
use api::configs::{
    Change, ConfigDetail, ConfigProblem, ConfigSummary, Diff, DiffLine, File, FileDiff, FileSummary,
    Revision, RevisionSummary,
};
use model::config::diff::{Difference, LineKind};
use model::config::{ConfigFile, ConfigFiles, Problem};
use model::{Assignment, ConfigState};
use opamp_proto::InstanceUid;
use store::{AgentName, AssignmentCount, ConfigRow, HistoryRow, RevisionRow, StoredFile};

use super::context::Context;
use super::problem::ApiError;
use crate::clock::rfc3339;
use crate::configs::{Plan, checked};

pub(super) fn summary(row: &ConfigRow) -> ConfigSummary {
    ConfigSummary {
        name: row.name.clone(),
        description: row.description.clone(),
        revision: row.latest.number,
        updated_at: rfc3339(row.latest.created_at),
        author: row.latest.author.clone(),
        assignments: row.assignments,
        agents: row.agents,
    }
}

pub(super) fn detail(row: &ConfigRow, files: &ConfigFiles) -> ConfigDetail {
    ConfigDetail {
        summary: summary(row),
        created_at: rfc3339(row.created_at),
        files: files_json(files),
        hash: hex::encode(&row.latest.hash),
    }
}

pub(super) fn revision(config: &str, row: RevisionRow, files: &ConfigFiles) -> Revision {
    Revision {
        config: config.to_owned(),
        number: row.number,
        author: row.author,
        message: row.message,
        created_at: rfc3339(row.created_at),
        hash: hex::encode(row.hash),
        files: files_json(files),
    }
}

fn files_json(files: &ConfigFiles) -> Vec<File> {
    let one = |file: &ConfigFile| File {
        name: file.name.clone(),
        content_type: file.content_type.clone(),
        body: file.body.clone(),
    };
    files.iter().map(one).collect()
}

pub(super) fn history(row: HistoryRow) -> RevisionSummary {
    let HistoryRow { revision, files, assignments } = row;
    let file = |(name, content_type, size)| FileSummary { name, content_type, size };
    RevisionSummary {
        number: revision.number,
        author: revision.author,
        message: revision.message,
        created_at: rfc3339(revision.created_at),
        hash: hex::encode(revision.hash),
        files: files.into_iter().map(file).collect(),
        assignments,
    }
}

pub(super) fn problem(problem: Problem) -> ConfigProblem {
    let Problem { file, line, column, severity, message } = problem;
    ConfigProblem { file, line, column, severity: severity.as_str().to_owned(), message }
}

/// Files that were checked when they were stored.
pub(crate) fn files_of(stored: Vec<StoredFile>) -> Result<ConfigFiles, ApiError> {
    checked(&stored).map_err(|error| ApiError::internal(&error))
}

pub(super) fn diff(difference: Difference) -> Diff {
    let line = |line: model::config::diff::Line| {
        let (old, new) = match line.kind {
            LineKind::Same { old, new } => (Some(old), Some(new)),
            LineKind::Added { new } => (None, Some(new)),
            LineKind::Removed { old } => (Some(old), None),
        };
        DiffLine { kind: line.kind.as_str().to_owned(), old, new, text: line.text }
    };
    let files = difference.files.into_iter().map(|file| FileDiff {
        name: file.name,
        change: file.change.as_str().to_owned(),
        lines: file.lines.into_iter().map(line).collect(),
    });
    let changes = difference.changes.into_iter().map(|change| Change {
        area: change.area.as_str().to_owned(),
        name: change.name,
        change: change.change.as_str().to_owned(),
        detail: change.detail,
    });
    Diff { files: files.collect(), changes: changes.collect() }
}

/// What assignments are told with, all of one moment.
pub(super) struct Figures {
    plan: Arc<Plan>,
    counts: Vec<AssignmentCount>,
    agents: HashMap<InstanceUid, AgentName>,
}

impl Figures {
    /// What it takes to tell these.
    pub(super) async fn of<'a>(
        context: &Context,
        plan: &Arc<Plan>,
        some: impl IntoIterator<Item = &'a Assignment>,
    ) -> Result<Self, ApiError> {
        let stopped_by = some.into_iter().filter_map(|one| one.pause.as_ref()?.agent).collect();
        Ok(Self {
            plan: plan.clone(),
            counts: context.store.assignment_counts().await?,
            agents: context.store.agent_names(stopped_by).await?,
        })
    }
}

/// An assignment with how far its agents are; `outranked`: of so many a stronger one decides.
pub(super) fn assignment(figures: &Figures, one: &Assignment, outranked: u64) -> AssignmentJson {
    let Figures { plan, counts, agents } = figures;
    let stopped_by = one.pause.as_ref().and_then(|fault| agents.get(&fault.agent?));
    let said = |text: &String| (!text.is_empty()).then(|| text.clone());
    let number =
        |id: Option<model::RevisionId>| id.and_then(|id| plan.revision(id)).map(|known| known.number);
    let known = one.goal().and_then(|id| plan.revision(id));
    AssignmentJson {
        id: one.id.to_string(),
        config: known.map(|known| known.config.clone()).unwrap_or_default(),
        selector: one.selector.to_string(),
        priority: one.priority,
        state: one.state.as_str().to_owned(),
        revision: known.map_or(0, |known| known.number),
        settled_revision: number(one.settled),
        batch_percent: one.batch_percent.into(),
        pause: one.pause.as_ref().map(|fault| Pause {
            kind: fault.kind.as_str().to_owned(),
            agent: fault.agent.map(|uid| uid.to_string()),
            agent_name: stopped_by.and_then(|it| said(&it.name)),
            host: stopped_by.and_then(|it| said(&it.host)),
            text: fault.text.clone(),
        }),
        progress: Progress { outranked, ..progress(one, counts) },
        created_by: one.created_by.clone(),
        created_at: rfc3339(one.created_at),
        updated_at: rfc3339(one.updated_at),
    }
}

/// How far the agents are about which an assignment decides.
fn progress(one: &Assignment, counts: &[AssignmentCount]) -> Progress {
    let goal = one.goal();
    let mut progress = Progress::default();
    for count in counts.iter().filter(|count| count.assignment == one.id) {
        let agents = count.agents;
        progress.matched += agents;
        if count.state == ConfigState::NotConfigurable {
            progress.incapable += agents;
            continue;
        }
        progress.eligible += agents;
        if count.revision != goal {
            match count.connected {
                true => progress.waiting += agents,
                false => progress.offline += agents,
            }
            continue;
        }
        progress.released += agents;
        match count.state {
            ConfigState::InSync | ConfigState::Drifted => progress.applied += agents,
            ConfigState::Failed => progress.failed += agents,
            _ => progress.applying += agents,
        }
    }
    progress
}
