//! An OpAMP server that lets in whoever knows a token, prints what agents report and offers each a configuration.
#![allow(clippy::print_stdout, reason = "it is a program for a terminal")]
use opamp_server::opamp_proto::{Part, server::ConfigOffer, wire};
use opamp_server::*;
use std::sync::Arc;

struct Fleet;

impl Handler for Fleet {
    type Principal = ();
    type Data = ();

    async fn authenticate(&self, request: &ConnectRequest<'_>) -> Result<(), Refusal> {
        match request.bearer() {
            Some("secret") => Ok(()),
            _ => Err(Refusal::Unauthorized("a bearer token is needed".into())),
        }
    }

    async fn admit(&self, agent: &Arc<Agent<Self>>, _: &StatusReport<'_>) -> Result<(), Rejection> {
        let file = wire::AgentConfigFile { body: "level: info".into(), ..Default::default() };
        agent.offer_config(Some(ConfigOffer::new(wire::AgentConfigMap {
            config_map: [(String::new(), file)].into(),
        })));
        Ok(())
    }

    fn reported(&self, agent: &Arc<Agent<Self>>, report: &StatusReport<'_>) {
        let health = report.part::<wire::ComponentHealth>(Part::Health).map(|health| health.healthy);
        println!("{} reports {:?}, healthy: {health:?}", agent.instance_uid(), report.changed());
    }

    fn disconnected(&self, agent: &Arc<Agent<Self>>, why: Disconnect) {
        println!("{} is gone: {why:?}", agent.instance_uid());
    }
}

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:4320").await?;
    Server::new(Fleet, Settings::default()).serve(listener, None, std::future::pending()).await
}
