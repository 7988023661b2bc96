//! The health that an agent reports, with its components (HEALTH-1 and following). Not what the server
//! thinks of the connection: that is [`crate::state`].

use opamp_proto::wire;

use crate::attribute::Attribute;
use crate::time::UnixMillis;

/// The health of an agent or of one of its components.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct HealthTree {
    /// Whether it works as it should.
    pub healthy: bool,
    /// Free text of the agent's own (HEALTH-7).
    pub status: String,
    /// The last error; empty when there is none.
    pub last_error: String,
    /// Since when it runs; `None` while it does not (HEALTH-5).
    pub start_time: Option<UnixMillis>,
    /// When the status was observed.
    pub status_time: Option<UnixMillis>,
    /// Attributes of the component.
    pub attributes: Vec<Attribute>,
    /// The parts, in the order of their names.
    pub components: Vec<(String, HealthTree)>,
}

impl From<wire::ComponentHealth> for HealthTree {
    fn from(health: wire::ComponentHealth) -> Self {
        let wire::ComponentHealth {
            healthy,
            start_time_unix_nano,
            last_error,
            status,
            status_time_unix_nano,
            component_health_map,
            attributes,
        } = health;
        Self {
            healthy,
            status,
            last_error,
            start_time: UnixMillis::from_wire_nanos(start_time_unix_nano),
            status_time: UnixMillis::from_wire_nanos(status_time_unix_nano),
            attributes: attributes.into_iter().map(Attribute::from).collect(),
            components: component_health_map.into_iter().map(|(name, part)| (name, part.into())).collect(),
        }
    }
}
