//! Whether a new agent is an old one that came back with another instance_uid. A pure rule; finding the
//! candidates is `store`'s.

use crate::agent::AgentFacts;

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
    /// Same host (`host.id`, or `host.name` where one of them has no id), same service and namespace.
    SameHostAndService,
}

impl Identity {
    /// Whether `self`, a new agent, replaces `old`. The caller vouches that `old` is disconnected: an agent
    /// that is connected is never replaced, however alike it is.
    pub fn replaces(&self, old: &Self) -> Option<Replacement> {
        let same_service = self.name == old.name && self.namespace == old.namespace;
        if !self.instance_id.is_empty() && self.instance_id == old.instance_id && same_service {
            return Some(Replacement::SameInstance);
        }
        (same_service && !self.name.is_empty() && self.same_host(old))
            .then_some(Replacement::SameHostAndService)
    }

    fn same_host(&self, old: &Self) -> bool {
        if !self.host_id.is_empty() && !old.host_id.is_empty() {
            return self.host_id == old.host_id;
        }
        !self.host.is_empty() && self.host == old.host
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
        assert_eq!(agent("i1", "collector", "h2", "b").replaces(&old), Some(Replacement::SameInstance));
        assert_eq!(agent("", "collector", "", "").replaces(&agent("", "collector", "", "")), None);
    }

    #[test]
    fn the_same_service_on_the_same_host_is_the_same_agent() {
        let old = agent("i1", "collector", "h1", "a");
        assert_eq!(agent("i2", "collector", "h1", "b").replaces(&old), Some(Replacement::SameHostAndService));
        assert_eq!(agent("i2", "collector", "", "a").replaces(&old), Some(Replacement::SameHostAndService));
    }

    #[test]
    fn another_host_id_another_service_or_no_service_is_another_agent() {
        let old = agent("i1", "collector", "h1", "a");
        assert_eq!(agent("i2", "collector", "h2", "a").replaces(&old), None);
        assert_eq!(agent("i2", "gateway", "h1", "a").replaces(&old), None);
        assert_eq!(agent("i1", "gateway", "h1", "a").replaces(&old), None);
        assert_eq!(agent("i2", "", "h1", "a").replaces(&agent("i1", "", "h1", "a")), None);
        let namespaced = Identity { namespace: "b".into(), ..agent("i2", "collector", "h1", "a") };
        assert_eq!(namespaced.replaces(&old), None);
    }
}
