//! Agents that do what they are offered, and the operator, for a server of this process.

use testkit::{Obedient, Operator};

use crate::world::World;

/// The administrator.
pub(crate) async fn operator(world: &World, password: &str) -> Operator {
    Operator::log_in(world.console, "admin", password).await
}

/// The administrator of a first start.
pub(crate) async fn first(world: &World) -> Operator {
    operator(world, &world.first.admin_password.clone().unwrap()).await
}

/// An agent that does what it is offered.
pub(crate) fn agent(world: &World, token: &str, number: u32) -> Obedient {
    Obedient::start(world.opamp, token, number, None)
}
