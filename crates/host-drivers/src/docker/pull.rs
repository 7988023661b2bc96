//! Images: looked for by what a state names them, pulled by digest (R44) with the credential of their registry, and removed
//! one by one.

use std::time::Duration;

use bollard::auth::DockerCredentials;
use bollard::models::CreateImageInfo;
use bollard::query_parameters::{CreateImageOptions, RemoveImageOptions};
use futures_util::StreamExt;
use host_proto::desired::{Image, Registry};
use reconcile::Trouble;
use reconcile::images::{Reference, pull_name};

use super::Engine;
use super::trouble::{of, retry, status_of, within};

const LOOK: Duration = Duration::from_secs(10);
const REMOVE: Duration = Duration::from_secs(60);
/// A pull that says nothing for this long has come to a standstill: a registry that hangs must not hold an image for ever.
const SILENCE: Duration = Duration::from_secs(120);
/// Longest pull: an image of several gigabytes over a slow line.
const WHOLE: Duration = Duration::from_secs(3600);

impl Engine {
    /// What an image is known by on this host: its name with the digest, or its id when it was made here. `None` when it is
    /// not there.
    pub async fn find_image(&self, image: &Image) -> Option<String> {
        let name = pull_name(image);
        if self.has_image(&name).await {
            return Some(name);
        }
        let id = image.digest.clone()?;
        self.has_image(&id).await.then_some(id)
    }

    async fn has_image(&self, name: &str) -> bool {
        within(LOOK, "inspect image", self.docker.inspect_image(name)).await.is_ok()
    }

    /// Pulls an image. `progress` is told what the engine says, a line at a time.
    pub async fn pull(
        &self,
        name: &str,
        registry: &Registry,
        mut progress: impl FnMut(&str) + Send,
    ) -> Result<(), Trouble> {
        let reference = Reference::parse(name);
        let tag =
            reference.digest.clone().or_else(|| reference.tag.clone()).unwrap_or_else(|| "latest".to_owned());
        let options = CreateImageOptions {
            from_image: Some(reference.name.clone()),
            tag: Some(tag),
            ..CreateImageOptions::default()
        };
        let credentials = credentials(registry, &reference.registry);
        let mut lines = Box::pin(self.docker.create_image(Some(options), None, credentials));
        let all = async {
            loop {
                match tokio::time::timeout(SILENCE, lines.next()).await {
                    Ok(Some(line)) => told(line.map_err(|error| of("pull", error))?, &mut progress),
                    Ok(None) => return Ok(()),
                    Err(_) => return Err(retry(format!("pull: nothing came for {} s", SILENCE.as_secs()))),
                }
            }
        };
        match tokio::time::timeout(WHOLE, all).await {
            Ok(outcome) => outcome,
            Err(_) => Err(retry(format!("pull: not done within {} s", WHOLE.as_secs()))),
        }
    }

    /// Removes an image that nothing uses; one that something uses stays, and that is an error.
    pub async fn remove_image(&self, name: &str) -> Result<(), Trouble> {
        let call = self.docker.remove_image(name, None::<RemoveImageOptions>, None);
        match tokio::time::timeout(REMOVE, call).await {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(error)) if status_of(&error) == Some(404) => Ok(()),
            Ok(Err(error)) => Err(of("remove image", error)),
            Err(_) => Err(retry("remove image: no answer".to_owned())),
        }
    }
}

/// Passes on what is news: each layer's bar would be hundreds of lines.
fn told(line: CreateImageInfo, progress: &mut impl FnMut(&str)) {
    let counts = line.progress_detail.is_some_and(|detail| detail.total.is_some());
    if let Some(status) = line.status.filter(|_| !counts) {
        match line.id {
            Some(layer) => progress(&format!("{layer}: {status}")),
            None => progress(&status),
        }
    }
}

/// The credential for a registry.
fn credentials(registry: &Registry, wanted: &str) -> Option<DockerCredentials> {
    let auth = registry.auth.iter().find(|auth| auth.is_for(wanted))?;
    Some(DockerCredentials {
        username: Some(auth.username.clone()),
        password: Some(auth.password.expose().to_owned()),
        serveraddress: Some(auth.registry.clone()),
        ..DockerCredentials::default()
    })
}

#[cfg(test)]
mod tests {
    use host_proto::Secret;
    use host_proto::desired::RegistryAuth;

    use super::*;

    #[test]
    fn each_registry_gets_its_own_credential_and_no_other() {
        let auth = |registry: &str| RegistryAuth {
            registry: registry.to_owned(),
            username: format!("user of {registry}"),
            password: Secret::new("pw"),
        };
        let registry =
            Registry { address: None, auth: vec![auth("r.example:5000"), auth("index.docker.io")] };
        let user = |name: &str| credentials(&registry, name).and_then(|found| found.username);
        assert_eq!(user("r.example:5000").as_deref(), Some("user of r.example:5000"));
        assert_eq!(user("docker.io").as_deref(), Some("user of index.docker.io"));
        assert_eq!(user("r.example"), None);
    }
}
