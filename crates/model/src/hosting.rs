//! Hosts and what runs on them, as the control plane knows it: a host, the projects, their services, releases and
//! replicas, and deployments, which lead from one set of releases to another. What a service runs is [`crate::service`];
//! what follows from all this is decided in `scheduler`.

mod deployment;
mod host;
mod project;
mod replica;
mod world;

pub use deployment::{Deployment, DeploymentId, DeploymentItem, DeploymentState, ItemOutcome};
pub use host::{Host, HostMode, JoinToken, JoinTokenId, JoinTokenState};
pub use project::{
    BadSubnet, FileKind, FileVersion, NetworkPlace, Project, RegistryCredential, Release, Service, Subnet,
    VolumePlace,
};
pub use replica::{Address, Phase, Replica};
pub use world::{ProjectWorld, Wanted};
