//! What a host is told now: read from the store, with secrets opened, and never kept longer than it takes to send it.

use std::collections::{BTreeMap, BTreeSet};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use host_proto::desired::RegistryAuth;
use host_proto::id::{FileId, HostId};
use host_proto::{DesiredState, Secret};
use model::hosting::{FileKind, Phase, ProjectWorld, RegistryCredential};
use scheduler::{FileContent, HostWorld, desired_state};
use sha2::{Digest, Sha256};
use store::{HostRows, SealedSecret, StoreError};

use super::{Services, files};
use crate::hosts::Ways;

impl Services {
    /// The desired state of a host; its generation is the caller's to set, and its hashes the session's, which compares by
    /// them. With it the replicas that are on their way out. `None`: there is no such host.
    pub(crate) async fn desired(&self, id: &HostId) -> Result<Option<(DesiredState, Ways)>, StoreError> {
        let Some(HostRows { host, projects, registries }) = self.store.host_rows(id.clone()).await? else {
            return Ok(None);
        };
        let files = self.contents(id, &projects).await?;
        let registries = self.credentials(registries);
        let here = projects.iter().flat_map(|it| &it.replicas).filter(|it| it.host_id == *id);
        let mut ways = Ways::default();
        for replica in here {
            match replica.phase {
                Phase::Removing => ways.leaves.push(replica.id.clone()),
                Phase::Draining => drop(ways.drains.insert(replica.id.clone())),
                Phase::Preparing | Phase::Starting | Phase::Serving => {}
            }
        }
        let state = desired_state(&HostWorld {
            host: &host,
            epoch: self.epoch_of(&host),
            generation: host.generation,
            projects: &projects,
            files: &files,
            registries: &registries,
            unknown: self.live.unknown(id),
        });
        Ok(Some((state, ways)))
    }

    /// The contents of the files that replicas on a host see.
    async fn contents(
        &self,
        host: &HostId,
        projects: &[ProjectWorld],
    ) -> Result<BTreeMap<FileId, FileContent>, StoreError> {
        let mut wanted = BTreeSet::new();
        for project in projects {
            for replica in project.replicas.iter().filter(|it| it.host_id == *host) {
                wanted.extend(
                    project.release_of(replica).into_iter().flat_map(|it| it.files.values().cloned()),
                );
            }
        }
        if wanted.is_empty() {
            return Ok(BTreeMap::new());
        }
        let mut contents = BTreeMap::new();
        for (id, kind, sealed) in self.store.file_contents(wanted).await? {
            match self.sealer.open(&files::sealed_as(&id), &sealed) {
                Ok(bytes) => {
                    let content = FileContent {
                        sha256: hex::encode(Sha256::digest(bytes.as_slice())),
                        size_bytes: u64::try_from(bytes.len()).unwrap_or(u64::MAX),
                        b64: Secret::new(STANDARD.encode(bytes.as_slice())),
                        secret: kind == FileKind::Secret,
                    };
                    contents.insert(id, content);
                }
                Err(error) => {
                    let error: &dyn std::error::Error = &error;
                    tracing::error!(error, file = %id, "the file {id} of a project cannot be opened");
                }
            }
        }
        Ok(contents)
    }

    fn credentials(&self, sealed: Vec<(RegistryCredential, SealedSecret)>) -> Vec<RegistryAuth> {
        let mut all = Vec::new();
        for (credential, sealed) in sealed {
            let opened = self.sealer.open(&files::registry_sealed_as(&credential.registry), &sealed);
            match opened.map(|bytes| String::from_utf8_lossy(bytes.as_slice()).into_owned()) {
                Ok(password) => all.push(RegistryAuth {
                    registry: credential.registry,
                    username: credential.username,
                    password: Secret::new(password),
                }),
                Err(error) => {
                    let (registry, error): (_, &dyn std::error::Error) = (&credential.registry, &error);
                    tracing::error!(error, registry, "the credential for {registry} cannot be opened");
                }
            }
        }
        all
    }
}
