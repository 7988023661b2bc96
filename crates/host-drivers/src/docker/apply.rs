//! Doing what a plan says: one call, or a few, for each action. What is already so is a success, whatever word the engine
//! has for that.

use std::time::Duration;

use bollard::errors::Error;
use bollard::models::{NetworkConnectRequest, VolumeCreateRequest};
use bollard::query_parameters::{
    CreateContainerOptions, KillContainerOptions, RemoveContainerOptions, RemoveVolumeOptions,
    StartContainerOptions, StopContainerOptions,
};
use host_proto::DesiredState;
use host_proto::desired::{Network, ReplicaSpec, Volume};
use host_proto::id::ReplicaId;
use reconcile::images::pull_name;
use reconcile::{Action, Trouble};

use super::spec::{self, Request};
use super::trouble::{of, refused, status_of, within};
use super::{Engine, labels, network};

/// For a call that makes or removes something.
const LIMIT: Duration = Duration::from_secs(60);
/// For a call that starts or removes a container: mounts and networks are set up, or layers deleted.
const SLOW: Duration = Duration::from_secs(120);
/// How much longer than its grace a stop may take.
const STOP_SLACK: Duration = Duration::from_secs(20);
/// For a stop whose grace the container itself knows.
const STOP_UNKNOWN: Duration = Duration::from_secs(300);

impl Engine {
    /// Does one action of a plan that was made from this state. What it names and the state does not hold is an error.
    /// Actions on files are not the engine's.
    pub async fn apply(&self, action: &Action, desired: &DesiredState) -> Result<(), Trouble> {
        match action {
            Action::CreateNetwork { network, .. } => {
                let network =
                    desired.networks.iter().find(|one| one.id == *network).ok_or_else(|| gone(action))?;
                self.create_network(network).await
            }
            Action::RemoveNetwork { name } => {
                let call = self.docker.remove_network(name);
                unless_gone(LIMIT, "remove network", call).await
            }
            Action::CreateVolume { volume, .. } => {
                let volume = desired.volume(volume).ok_or_else(|| gone(action))?;
                self.create_volume(volume).await
            }
            Action::DeleteVolume { name } => {
                let call = self.docker.remove_volume(name, None::<RemoveVolumeOptions>);
                unless_gone(LIMIT, "delete volume", call).await
            }
            Action::PullImage { image } => {
                let say = |line: &str| tracing::debug!(%image, "pull: {line}");
                self.pull(image, &desired.registry, say).await
            }
            Action::CreateContainer { replica, .. } => self.create_container(desired, replica).await,
            Action::Connect { container, network, ip } => {
                self.attach(container, network, spec::endpoint(*ip, false, self.api)).await
            }
            Action::Start { container } => {
                let call = self.docker.start_container(container, None::<StartContainerOptions>);
                within(SLOW, "start", call).await?;
                self.remember_start(container);
                Ok(())
            }
            Action::Stop { container, grace_ms } => self.stop(container, *grace_ms).await,
            Action::Kill { container } => self.kill(container).await,
            Action::RemoveContainer { container, force } => self.remove(container, *force).await,
            Action::WriteFile { .. } | Action::RemoveFile { .. } => {
                Err(refused("files are not the engine's business".to_owned()))
            }
        }
    }

    async fn create_network(&self, network: &Network) -> Result<(), Trouble> {
        let request = network::request(self.host(), network, self.api);
        within(LIMIT, "create network", self.docker.create_network(request)).await.map(|_| ())
    }

    /// Makes a volume. An engine gives the one that it has when the name is taken: that one is only ours if it says so.
    async fn create_volume(&self, volume: &Volume) -> Result<(), Trouble> {
        let options = spec::volume_options(&self.options, volume).map_err(refused)?;
        let request = VolumeCreateRequest {
            name: Some(volume.name.clone()),
            driver: Some(volume.driver.clone()),
            driver_opts: Some(options.into_iter().collect()),
            labels: Some(labels::of_volume(self.host(), volume)),
            cluster_volume_spec: None,
        };
        let made = within(LIMIT, "create volume", self.docker.create_volume(request)).await?;
        let ours = made.labels.get(labels::VOLUME).map(String::as_str) == Some(volume.id.as_str());
        if ours {
            Ok(())
        } else {
            Err(refused(format!("a volume named {} is there that is not ours", volume.name)))
        }
    }

    /// Makes a container with all its networks. When one of them cannot be attached the container goes again: half of one
    /// must not be started by anybody.
    async fn create_container(&self, desired: &DesiredState, id: &ReplicaId) -> Result<(), Trouble> {
        let spec = replica(desired, id)?;
        let image = match self.remembered_image(&pull_name(&spec.image)) {
            Some(image) => image,
            // It was pulled since the last look.
            None => self.find_image(&spec.image).await.ok_or_else(|| {
                super::trouble::retry(format!("the image {} is not here", spec.image.reference))
            })?,
        };
        let Request { body, more } =
            spec::request(&self.options, self.api, desired, spec, image).map_err(refused)?;
        let options =
            CreateContainerOptions { name: Some(spec.name.clone()), ..CreateContainerOptions::default() };
        let call = self.docker.create_container(Some(options), body);
        let made = within(LIMIT, "create container", call).await?;
        for (network, end) in more {
            if let Err(trouble) = self.attach(&made.id, &network, end).await {
                let _ = self.remove(&made.id, true).await;
                return Err(trouble);
            }
        }
        Ok(())
    }

    async fn attach(
        &self,
        container: &str,
        network: &str,
        end: bollard::models::EndpointSettings,
    ) -> Result<(), Trouble> {
        let request = NetworkConnectRequest { container: container.to_owned(), endpoint_config: Some(end) };
        let call = self.docker.connect_network(network, request);
        let attached = |error: &Error| error.to_string().contains("already exists in network");
        allowing(LIMIT, &format!("attach to {network}"), call, attached).await
    }

    async fn stop(&self, container: &str, grace_ms: Option<u64>) -> Result<(), Trouble> {
        let seconds = grace_ms.map(|ms| i32::try_from(ms.div_ceil(1000)).unwrap_or(i32::MAX));
        let limit = grace_ms.map_or(STOP_UNKNOWN, |ms| Duration::from_millis(ms).saturating_add(STOP_SLACK));
        let options = StopContainerOptions { t: seconds, ..StopContainerOptions::default() };
        unless_gone(limit, "stop", self.docker.stop_container(container, Some(options))).await
    }

    async fn kill(&self, container: &str) -> Result<(), Trouble> {
        let call = self.docker.kill_container(container, None::<KillContainerOptions>);
        // 409: it does not run.
        let ended = |error: &Error| matches!(status_of(error), Some(404 | 409));
        allowing(LIMIT, "kill", call, ended).await
    }

    async fn remove(&self, container: &str, force: bool) -> Result<(), Trouble> {
        let options = RemoveContainerOptions { force, v: true, ..RemoveContainerOptions::default() };
        let call = self.docker.remove_container(container, Some(options));
        let going = |error: &Error| {
            status_of(error) == Some(404) || error.to_string().contains("is already in progress")
        };
        allowing(SLOW, "remove", call, going).await
    }
}

fn replica<'a>(desired: &'a DesiredState, id: &ReplicaId) -> Result<&'a ReplicaSpec, Trouble> {
    let found = desired.replicas.iter().find(|spec| spec.replica_id == *id);
    found.ok_or_else(|| refused(format!("the state no longer lists {id}")))
}

fn gone(action: &Action) -> Trouble {
    refused(format!("the state no longer lists what to {action}"))
}

async fn unless_gone(
    limit: Duration,
    what: &str,
    call: impl Future<Output = Result<(), Error>>,
) -> Result<(), Trouble> {
    allowing(limit, what, call, |error| status_of(error) == Some(404)).await
}

/// A call some of whose errors only say that it is so already.
async fn allowing(
    limit: Duration,
    what: &str,
    call: impl Future<Output = Result<(), Error>>,
    fine: impl Fn(&Error) -> bool,
) -> Result<(), Trouble> {
    match tokio::time::timeout(limit, call).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(error)) if fine(&error) => Ok(()),
        Ok(Err(error)) => Err(of(what, error)),
        Err(_) => Err(super::trouble::retry(format!("{what}: no answer within {} s", limit.as_secs()))),
    }
}
