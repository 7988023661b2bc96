//! The smallest useful agent: it connects, takes any configuration that is not empty, and stores who it is.
#![allow(clippy::print_stderr)]

use opamp_client::{Client, Event, FileStorage};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    match &std::env::args().collect::<Vec<_>>()[..] {
        [_, url, state_directory] => run(url, state_directory).await,
        _ => Err("usage: minimal URL STATE_DIRECTORY".into()),
    }
}

pub(crate) async fn run(url: &str, state_directory: &str) -> Result<(), Box<dyn std::error::Error>> {
    let (client, mut events) = Client::builder(url)
        .service("com.example.agent", "1.0.0")
        .attribute("os.type", std::env::consts::OS)
        .accept_remote_config()
        .accept_restart()
        .storage(FileStorage::new(state_directory))
        .start()
        .await?;
    while let Some(event) = events.next().await {
        match event {
            Event::RemoteConfig(offer) if offer.config.config_map.is_empty() => {
                client.config_failed(offer.hash, "this agent needs a configuration");
            }
            Event::RemoteConfig(offer) => client.config_applied(offer.hash),
            Event::RestartRequested => client.stop().await,
            Event::Disconnected { reason, .. } => eprintln!("not connected: {reason}"),
            other => eprintln!("{other:?}"),
        }
    }
    Ok(())
}
