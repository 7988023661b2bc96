//! The drivers of a host behind one door: observe everything that plans are made of, and do the steps of a plan.

use std::sync::Arc;

use host_proto::DesiredState;
use reconcile::{Action, Actual, Seen, Step, Trouble, TroubleKind};

use crate::docker::{Engine, Look, Observer};
use crate::files::Files;

/// What does the steps of plans. Cheap to clone: each step may run in a task of its own.
#[derive(Debug, Clone)]
pub struct Hands {
    /// The engine, connected.
    pub engine: Arc<Engine>,
    /// The files.
    pub files: Files,
}

impl Hands {
    /// Looks at everything.
    pub async fn observe(
        &self,
        observer: &mut Observer,
        desired: Option<&Arc<DesiredState>>,
        look: &Look,
    ) -> Actual {
        let mut actual = observer.observe(desired.map(AsRef::as_ref), look).await;
        if let Some(desired) = desired {
            let (files, desired) = (self.files.clone(), Arc::clone(desired));
            let seen = tokio::task::spawn_blocking(move || files.observe(&desired)).await;
            actual.files = seen.unwrap_or_else(|error| Seen::Unknown(error.to_string()));
        }
        actual
    }

    /// Does a step, action by action, up to the first that fails. `desired` is the state that the plan was made from.
    pub async fn carry_out(&self, step: &Step, desired: &Arc<DesiredState>) -> Result<(), Trouble> {
        for action in &step.actions {
            match action {
                Action::WriteFile { .. } | Action::RemoveFile { .. } => {
                    self.file(action.clone(), desired).await?
                }
                other => self.engine.apply(other, desired).await?,
            }
        }
        Ok(())
    }

    /// Off the threads that must not wait for a disk.
    async fn file(&self, action: Action, desired: &Arc<DesiredState>) -> Result<(), Trouble> {
        let (files, desired) = (self.files.clone(), Arc::clone(desired));
        let work = move || match action {
            Action::WriteFile { file } => match desired.file(&file) {
                Some(file) => files.write(file),
                None => Err(Trouble {
                    text: format!("the state no longer lists {file}"),
                    kind: TroubleKind::Refused,
                }),
            },
            Action::RemoveFile { file } => files.remove(&file),
            _ => Ok(()),
        };
        tokio::task::spawn_blocking(work)
            .await
            .unwrap_or_else(|error| Err(Trouble { text: error.to_string(), kind: TroubleKind::Retry }))
    }
}
