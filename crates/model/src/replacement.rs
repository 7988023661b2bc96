//! Whether a new agent is an old one that came back with another instance_uid. A pure rule; finding the
//! candidates is `store`'s.

use crate::agent::AgentFacts;
use crate::time::UnixMillis;

/// What tells whether two agents are the same program at the same place. Empty text means "not said".
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Identity {
    /// `service.instance.id`.
    pub instance_id: String,
    /// `service.name`.
    pub name: String,
    /// `service.namespace`.
    pub namespace: String,
    /// `host.id`.
    pub host_id: String,
    /// `host.name`.
    pub host: String,
}

/// Why a new agent is taken for the successor of an old one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Replacement {
    /// Both report the same `service.instance.id` and nothing of their services differs.
    SameInstance,
    /// Same host (`host.id`, or `host.name` when the new one has no id), same service and namespace.
    SameHostAndService,
}

/// A new agent.
#[derive(Debug, Clone, Copy)]
pub struct Arrival<'a> {
    /// What it says of itself.
    pub identity: &'a Identity,
    /// When it was seen for the first time.
    pub first_seen: UnixMillis,
}

/// An old agent that is disconnected.
#[derive(Debug, Clone, Copy)]
pub struct Departure<'a> {
    /// What it said of itself.
    pub identity: &'a Identity,
    /// When it was heard last.
    pub last_seen: UnixMillis,
}

impl Arrival<'_> {
    /// Whether this agent came in place of `old`. The caller vouches that `old` is disconnected: an agent that
    /// is connected is never replaced, however alike it is. One that was still heard after the new one had
    /// come was another agent beside it.
    pub fn replaces(&self, old: &Departure<'_>) -> Option<Replacement> {
        if old.last_seen > self.first_seen {
            return None;
        }
        self.identity.is_same_as(old.identity)
    }
}

impl Identity {
    /// Whether both are the same program at the same place, and by what.
    pub fn is_same_as(&self, old: &Self) -> Option<Replacement> {
        if self.name != old.name || self.namespace != old.namespace {
            return None;
        }
        if !self.instance_id.is_empty() && self.instance_id == old.instance_id {
            return Some(Replacement::SameInstance);
        }
        (!self.name.is_empty() && self.same_host(old)).then_some(Replacement::SameHostAndService)
    }

    fn same_host(&self, old: &Self) -> bool {
        if self.host_id.is_empty() {
            return !self.host.is_empty() && self.host == old.host;
        }
        self.host_id == old.host_id
    }
}

impl From<&AgentFacts> for Identity {
    fn from(facts: &AgentFacts) -> Self {
        Self {
            instance_id: facts.instance_id.clone(),
            name: facts.name.clone(),
            namespace: facts.namespace.clone(),
            host_id: facts.host_id.clone(),
            host: facts.host.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agent(instance_id: &str, name: &str, host_id: &str, host: &str) -> Identity {
        let own = |text: &str| text.to_owned();
        Identity {
            instance_id: own(instance_id),
            name: own(name),
            namespace: String::new(),
            host_id: own(host_id),
            host: own(host),
        }
    }

    #[test]
    fn the_same_instance_id_is_the_same_agent() {
        let old = agent("i1", "collector", "h1", "a");
        assert_eq!(agent("i1", "collector", "h2", "b").is_same_as(&old), Some(Replacement::SameInstance));
        assert_eq!(agent("", "collector", "", "").is_same_as(&agent("", "collector", "", "")), None);
    }

    #[test]
    fn the_same_service_on_the_same_host_is_the_same_agent() {
        let old = agent("i1", "collector", "h1", "a");
        assert_eq!(
            agent("i2", "collector", "h1", "b").is_same_as(&old),
            Some(Replacement::SameHostAndService)
        );
        assert_eq!(agent("i2", "collector", "", "a").is_same_as(&old), Some(Replacement::SameHostAndService));
    }

    #[test]
    fn an_agent_that_was_heard_after_the_other_came_is_another_agent() {
        let (old, new) = (agent("i1", "collector", "h1", "a"), agent("i2", "collector", "h1", "a"));
        let replaces = |came, heard| {
            let old = Departure { identity: &old, last_seen: UnixMillis(heard) };
            Arrival { identity: &new, first_seen: UnixMillis(came) }.replaces(&old)
        };
        assert_eq!(replaces(10, 10), Some(Replacement::SameHostAndService));
        assert_eq!(replaces(10, 11), None);
    }

    #[test]
    fn another_host_id_another_service_or_no_service_is_another_agent() {
        let old = agent("i1", "collector", "h1", "a");
        assert_eq!(agent("i2", "collector", "h2", "a").is_same_as(&old), None);
        assert_eq!(agent("i2", "gateway", "h1", "a").is_same_as(&old), None);
        assert_eq!(agent("i1", "gateway", "h1", "a").is_same_as(&old), None);
        assert_eq!(agent("i2", "", "h1", "a").is_same_as(&agent("i1", "", "h1", "a")), None);
        let namespaced = Identity { namespace: "b".into(), ..agent("i2", "collector", "h1", "a") };
        assert_eq!(namespaced.is_same_as(&old), None);
    }
}
