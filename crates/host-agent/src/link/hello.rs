//! What the first message of a connection says (CONNECT-3): which machine, which boot, which agent, and every replica.

use std::sync::Arc;
use std::time::Duration;

use host_proto::message::{AgentBuild, Foreign, Hello, Identity as Said, ProtocolVersion};
use tokio::sync::watch;

use crate::clock;
use crate::handles::Snapshot;
use crate::machine;
use crate::options::Options;

/// How long the first look at the engine is waited for: the server wants the hello within five seconds.
const FIRST_LOOK: Duration = Duration::from_millis(2500);

/// What does not change while the agent runs.
#[derive(Debug, Clone)]
pub(crate) struct Machine {
    pub(crate) options: Arc<Options>,
    pub(crate) machine_id: String,
    pub(crate) instance_id: String,
    pub(crate) wg_public_key: String,
    pub(crate) started_at: String,
}

impl Machine {
    pub(crate) async fn hello(&self, mut seen: watch::Receiver<Snapshot>) -> Hello {
        // Without an engine there is nothing to look at; what is known all the same is told.
        let first = seen.wait_for(|snapshot| snapshot.looked);
        drop(tokio::time::timeout(FIRST_LOOK, first).await);
        let snapshot = seen.borrow().clone();
        let docker = snapshot.docker.clone();
        let options = self.options.clone();
        let seen = snapshot.actual.as_ref().and_then(|actual| actual.taken.known().cloned());
        let told = tokio::task::spawn_blocking(move || {
            (machine::facts(&options, docker), seen.unwrap_or_else(host_drivers::blocks::of_machine))
        });
        let (facts, blocks) = told.await.unwrap_or_default();
        let known = snapshot.replicas.is_some() && !snapshot.moving;
        let replicas = snapshot.replicas.unwrap_or_default();
        let ours = replicas.iter().filter(|replica| replica.container_id.is_some()).count() as u64;
        let foreign = u32::try_from(snapshot.containers.saturating_sub(ours)).unwrap_or(u32::MAX);
        Hello {
            protocol: ProtocolVersion::CURRENT,
            features: ["deflate", "logs", "netd", "nft"].map(str::to_owned).to_vec(),
            agent: AgentBuild {
                version: env!("CARGO_PKG_VERSION").to_owned(),
                arch: std::env::consts::ARCH.to_owned(),
                os: std::env::consts::OS.to_owned(),
                started_at: self.started_at.clone(),
            },
            identity: Said {
                machine_id: self.machine_id.clone(),
                instance_id: self.instance_id.clone(),
                boot_id: machine::boot_id(),
                wg_public_key: self.wg_public_key.clone(),
                session_secret_prev: None,
            },
            time_at: clock::wall(),
            facts,
            epoch: None,
            generation: 0,
            section_hashes: snapshot.sections,
            from_cache: snapshot.from_cache,
            cache_age_ms: None,
            replicas,
            replicas_known: known,
            foreign: Foreign { containers: foreign, networks: 0, ports: Vec::new(), blocks },
        }
    }
}
