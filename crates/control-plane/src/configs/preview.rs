//! Who an assignment would reach: asked before it is made, and counted when a rollout begins.

use std::collections::HashMap;

use model::{Assignment, AssignmentId, RevisionId, Selector};
use store::{Preview, PreviewQuery, StoreError};

use super::{Configs, Plan};

impl Configs {
    /// Who would get a revision.
    pub(crate) async fn preview(
        &self,
        like: Option<AssignmentId>,
        selector: &Selector,
        priority: i32,
        revision: Option<RevisionId>,
        limit: u32,
    ) -> Result<Preview, StoreError> {
        let query = preview_query(&self.plan(), like, selector, priority, revision, limit);
        self.store.preview(query).await
    }

    /// How many connected agents a rollout would reach.
    pub(super) async fn eligible(
        &self,
        plan: &Plan,
        like: Option<AssignmentId>,
        selector: &Selector,
        priority: i32,
        revision: RevisionId,
    ) -> Result<u64, StoreError> {
        let preview =
            self.store.preview(preview_query(plan, like, selector, priority, Some(revision), 1)).await?;
        Ok(preview.gets)
    }
}

impl Configs {
    /// How many agents of each assignment a stronger one decides about.
    pub(crate) async fn outranked(&self, plan: &Plan) -> Result<HashMap<AssignmentId, u64>, StoreError> {
        if plan.assignments().len() < 2 {
            return Ok(HashMap::new());
        }
        let all = plan.assignments().iter().map(|one| (one.id, one.selector.clone())).collect();
        Ok(self.store.outranked_counts(all).await?.into_iter().collect())
    }
}

fn preview_query(
    plan: &Plan,
    like: Option<AssignmentId>,
    selector: &Selector,
    priority: i32,
    revision: Option<RevisionId>,
    limit: u32,
) -> PreviewQuery {
    // A new assignment is younger than all others.
    let age = like.unwrap_or(AssignmentId(i64::MAX));
    let is_stronger = |one: &&Assignment| {
        one.id != age && (one.priority > priority || (one.priority == priority && one.id < age))
    };
    let stronger =
        plan.assignments().iter().filter(is_stronger).map(|one| (one.id, one.selector.clone())).collect();
    PreviewQuery { selector: selector.clone(), stronger, revision, limit }
}
