//! A deployment leads a project from the releases that its services have to others. It either comes to its end, or goes
//! back with a reason.

use host_proto::id::{ProjectId, ReleaseId, ServiceId};

use crate::time::UnixMillis;

/// The number of a deployment, over all projects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DeploymentId(pub i64);

/// The way of a project from some releases to others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deployment {
    /// Its number.
    pub id: DeploymentId,
    /// Of which project.
    pub project_id: ProjectId,
    /// How it stands.
    pub state: DeploymentState,
    /// Why it went back.
    pub reason: Option<String>,
    /// What each service of it goes from and to.
    pub items: Vec<DeploymentItem>,
    /// Who wanted it.
    pub created_by: String,
    /// Why.
    pub message: String,
    /// When.
    pub created_at: UnixMillis,
    /// When it was over.
    pub finished_at: Option<UnixMillis>,
}

/// What a service goes from and to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeploymentItem {
    /// Which service.
    pub service_id: ServiceId,
    /// Its name, for the time when it is gone.
    pub service_name: String,
    /// Its release before; none: it is new.
    pub from: Option<ReleaseId>,
    /// Its release after; none: it is removed.
    pub to: Option<ReleaseId>,
    /// How it stands.
    pub outcome: ItemOutcome,
}

/// How a deployment stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DeploymentState {
    /// It goes on.
    Running,
    /// Something failed, or a person stopped it: the services go back.
    RollingBack,
    /// Every service runs its new release.
    Done,
    /// The services run what they ran before.
    RolledBack,
    /// Another deployment took its place.
    Superseded,
}

impl DeploymentState {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::Running, Self::RollingBack, Self::Done, Self::RolledBack, Self::Superseded];

    /// The word in API, CLI, console and database.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::RollingBack => "rolling back",
            Self::Done => "done",
            Self::RolledBack => "rolled back",
            Self::Superseded => "superseded",
        }
    }

    /// The state of a word.
    pub fn of(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == word)
    }

    /// Whether it is over.
    pub const fn is_over(self) -> bool {
        matches!(self, Self::Done | Self::RolledBack | Self::Superseded)
    }
}

/// How a service of a deployment stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ItemOutcome {
    /// Its turn comes, or it is under way.
    Waiting,
    /// It runs the new release.
    Done,
    /// It could not, for this reason.
    Failed(String),
}
