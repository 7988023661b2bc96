//! What a list of agents can be asked for. How it becomes SQL: `list`.

use model::{AgentSummary, AssignmentId, ConfigState, ConnectionState, Selector};

use super::cursor::Cursor;

/// A question for a page of agents.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentQuery {
    /// Requirements on their attributes.
    pub selector: Selector,
    /// Text that occurs in the name, host, instance id, instance_uid or version, whatever the case.
    pub text: Option<String>,
    /// Only agents in this state.
    pub state: Option<ConnectionState>,
    /// Only agents of this health.
    pub health: Option<HealthFilter>,
    /// Only agents whose configuration is in this state.
    pub config_state: Option<ConfigState>,
    /// Only agents that are to run a revision of the configuration of this name.
    pub config: Option<String>,
    /// Only agents about which this assignment decides.
    pub assignment: Option<AssignmentId>,
    /// Only agents whose turn in a rollout has not come.
    pub waiting: bool,
    /// Also agents that others have replaced.
    pub include_replaced: bool,
    /// The order.
    pub sort: AgentSort,
    /// Where the page begins; `None`: at the start.
    pub cursor: Option<Cursor>,
    /// The most agents on the page, 1 to [`AgentQuery::MAX_LIMIT`]; other numbers are moved into that range.
    pub limit: u32,
}

impl AgentQuery {
    /// The longest page.
    pub const MAX_LIMIT: u32 = 500;
}

impl Default for AgentQuery {
    /// The first hundred agents by name.
    fn default() -> Self {
        Self {
            selector: Selector::everything(),
            text: None,
            state: None,
            health: None,
            config_state: None,
            config: None,
            assignment: None,
            waiting: false,
            include_replaced: false,
            sort: AgentSort { key: SortKey::Name, descending: false },
            cursor: None,
            limit: 100,
        }
    }
}

/// A health to look for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum HealthFilter {
    /// Reports that it is healthy.
    Healthy,
    /// Reports that it is not.
    Unhealthy,
    /// Reports no health.
    Unknown,
}

/// An order of agents. Agents that are equal in it are ordered by the age of their rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct AgentSort {
    /// By what.
    pub key: SortKey,
    /// Greatest, or latest, first.
    pub descending: bool,
}

/// What agents can be ordered by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SortKey {
    /// `service.name`.
    Name,
    /// When it was heard last, as far as that is written.
    LastSeen,
    /// Connected, silent, disconnected.
    State,
    /// Unhealthy, unknown, healthy.
    Health,
    /// When its session began.
    ConnectedSince,
}

impl SortKey {
    /// Every key.
    pub const ALL: [Self; 5] = [Self::Name, Self::LastSeen, Self::State, Self::Health, Self::ConnectedSince];

    /// The word in the API: `name`, `last_seen`, `state`, `health` or `connected_since`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Name => "name",
            Self::LastSeen => "last_seen",
            Self::State => "state",
            Self::Health => "health",
            Self::ConnectedSince => "connected_since",
        }
    }
}

impl AgentSort {
    /// Reads `name` or `-name`, as the API's `sort` parameter has it.
    pub fn parse(text: &str) -> Option<Self> {
        let (word, descending) = text.strip_prefix('-').map_or((text, false), |word| (word, true));
        let key = SortKey::ALL.into_iter().find(|key| key.as_str() == word)?;
        Some(Self { key, descending })
    }
}

/// A page of agents.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentPage {
    /// The agents, in order.
    pub items: Vec<AgentSummary>,
    /// Where the next page begins; `None` on the last one.
    pub next: Option<Cursor>,
    /// How many agents the question has on all pages.
    pub total: u64,
}

/// How many agents there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AgentCounts {
    /// Connected.
    pub connected: u64,
    /// Connected, but overdue.
    pub silent: u64,
    /// Disconnected and not replaced.
    pub disconnected: u64,
    /// Of the connected and silent: those that report that they are not healthy.
    pub unhealthy: u64,
    /// Of the connected and silent: those that report that they are healthy.
    pub healthy: u64,
    /// All three states together.
    pub total: u64,
    /// Not in any of the numbers above: replaced by others.
    pub replaced: u64,
}
