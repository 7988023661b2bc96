//! Single fields of an encoded sub-message, for those who need no more of it: the rest is passed over, not decoded.

use prost::Message;

/// The fields of ComponentHealth that are looked at.
#[derive(Message)]
struct Health {
    #[prost(bool, tag = "1")]
    healthy: bool,
}

/// Whether a component says that it is healthy; `None` when the bytes are no ComponentHealth.
pub fn healthy(health: &[u8]) -> Option<bool> {
    Health::decode(health).ok().map(|health| health.healthy)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::ComponentHealth;

    #[test]
    fn what_is_looked_at_is_what_is_there() {
        for is_healthy in [true, false] {
            let inner = ComponentHealth { healthy: !is_healthy, ..ComponentHealth::default() };
            let health = ComponentHealth {
                healthy: is_healthy,
                status: "fine".into(),
                component_health_map: [("inner".to_owned(), inner)].into(),
                ..ComponentHealth::default()
            };
            assert_eq!(healthy(&health.encode_to_vec()), Some(is_healthy));
        }
        assert_eq!(healthy(&[0xff]), None);
    }
}
