//! The smallest useful agent: it connects, takes any configuration that is not empty, and stores who it is.
#![allow(clippy::print_stdout)]

use opamp_client::{Client, Event, FileStorage};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let url = std::env::args().nth(1).ok_or("usage: minimal URL STATE_DIRECTORY")?;
    let state = std::env::args().nth(2).ok_or("usage: minimal URL STATE_DIRECTORY")?;
    let (client, mut events) = Client::builder(url)
        .service("com.example.agent", "1.0.0")
        .attribute("os.type", std::env::consts::OS)
        .accept_remote_config()
        .storage(FileStorage::new(state))
        .start()
        .await?;
    while let Some(event) = events.next().await {
        match event {
            Event::Connected { .. } => println!("connected as {}", client.instance_uid()),
            Event::Disconnected { reason, .. } => println!("not connected: {reason}"),
            Event::RemoteConfig(offer) => match offer.config.config_map.is_empty() {
                true => client.config_failed(offer.hash, "this agent needs a configuration"),
                false => client.config_applied(offer.hash),
            },
            Event::RestartRequested => client.stop().await,
            other => println!("{other:?}"),
        }
    }
    Ok(())
}
