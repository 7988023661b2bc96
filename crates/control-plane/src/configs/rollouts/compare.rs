//! Looks for drift: compares what agents report to run with what they were given.

use bytes::Bytes;
use model::config::drift;
use opamp_proto::Part;
use opamp_proto::wire::{EffectiveConfig, Message as _};

use super::super::plan::Known;
use super::Rollouts;

/// Effective configurations that are compared in one turn: each takes a fraction of a millisecond, and nobody waits.
const COMPARED: usize = 100;

impl Rollouts {
    /// Looks for drift where an agent reported what it runs. What it reported may not be stored yet: then it waits.
    pub(super) async fn compare_some(&mut self) {
        let plan = self.configs.plan();
        for _ in 0..self.comparing.len().min(COMPARED) {
            let Some(uid) = self.comparing.pop_front() else { return };
            let Some(agent) = self.server.agents().get(uid) else { continue };
            let Some(revision) = self.configs.to_compare(&agent) else { continue };
            let Some(known) = plan.revision(revision).cloned() else { continue };
            let Ok(Some(effective)) = self.store.effective_config(uid).await else { continue };
            let is_current = agent
                .read(|session| session.part(Part::EffectiveConfig).is_some_and(|kept| kept.is(&effective)));
            if !is_current {
                if let Some(placed) = agent.data().placed().as_mut() {
                    placed.reports_anew = true;
                }
                self.comparing.push_back(uid);
                continue;
            }
            let compare = move || drifts(&known, &effective);
            let drifted = tokio::task::spawn_blocking(compare).await.unwrap_or(false);
            self.configs.compared(&agent, revision, drifted);
        }
    }
}

/// Whether an agent that says that it runs a revision runs something else.
fn drifts(known: &Known, effective: &Bytes) -> bool {
    let effective = EffectiveConfig::decode(effective.clone()).ok().and_then(|config| config.config_map);
    let found = known.files.as_ref().zip(effective).and_then(|(files, effective)| drift(files, &effective));
    found.is_some_and(|found| !found.is_empty())
}
