//! Compose files become releases and a deployment. What would happen is worked out the same way for the plan that a
//! person reads and for the deployment itself; only the second one writes anything.

mod outline;
mod plan;
mod rollback;
mod size;

use std::collections::{BTreeMap, BTreeSet};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use host_proto::id::{FileId, ProjectId, ReleaseId, ServiceId};
use model::UnixMillis;
use model::compose::{self, ConfigSource, Problem, SecretSource, SourceFile};
use model::hosting::{
    Deployment, DeploymentItem, FileKind, FileVersion, ItemOutcome, Project, ProjectWorld, Release, Service,
};
use model::service::{MountSource, ServiceSpec};
use scheduler::hash::container_hash;
use store::{AuditEntry, Expected, NewDeployment, StoreError};

use super::Services;
use super::allocate::{random, unsigned};
use super::files::{Content, FileError, MAX_FILE};
use crate::clock;

pub(crate) use outline::{Change, Outline, Planned};

/// Why a deployment does not begin.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DeployError {
    /// The files are wrong.
    #[error("the Compose files have errors")]
    Files(Vec<Problem>),
    /// What was sent with them is wrong.
    #[error("{0}")]
    Input(String),
    /// It could not come to its end.
    #[error("{}", .0.join("; "))]
    Refused(Vec<String>),
    /// There is no such thing.
    #[error("{0}")]
    Unknown(String),
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A file cannot be kept.
    #[error("a file of the project cannot be kept")]
    File(#[from] FileError),
}

/// What is to be deployed, read and checked.
pub(crate) struct Wish {
    pub(crate) compose: compose::Project,
    pub(crate) contents: Vec<Given>,
    pub(crate) stored: Vec<(String, String)>,
    pub(crate) source: String,
    pub(crate) message: String,
    pub(crate) force: bool,
}

/// A file that came along.
pub(crate) struct Given {
    pub(crate) kind: FileKind,
    pub(crate) name: String,
    pub(crate) bytes: Vec<u8>,
}

impl Wish {
    /// Reads the request for a project.
    pub(crate) fn read(project: &str, body: api::services::Deploy) -> Result<Self, DeployError> {
        let files: Vec<SourceFile<'_>> =
            body.files.iter().map(|file| SourceFile { name: &file.name, text: &file.text }).collect();
        if files.is_empty() {
            return Err(DeployError::Input("there is no Compose file".to_owned()));
        }
        let input = compose::Input {
            files: &files,
            env: &body.variables,
            profiles: &body.profiles,
            project: Some(project),
            env_files: &body.env_files,
        };
        let compose = compose::parse(&input).map_err(DeployError::Files)?;
        let mut contents = Vec::new();
        let mut stored = Vec::new();
        for secret in &compose.secrets {
            let given = |bytes| Given { kind: FileKind::Secret, name: secret.name.clone(), bytes };
            match &secret.source {
                SecretSource::File(path) => contents.push(given(decoded(&body.secret_files, path)?)),
                SecretSource::Variable(name) => {
                    let value = body.variables.get(name).ok_or_else(|| {
                        DeployError::Input(format!(
                            "the secret {} wants the variable {name}, which is not set",
                            secret.name
                        ))
                    })?;
                    contents.push(given(value.clone().into_bytes()));
                }
                SecretSource::Stored(name) => stored.push((secret.name.clone(), name.clone())),
            }
        }
        for config in &compose.configs {
            let bytes = match &config.source {
                ConfigSource::File(path) => decoded(&body.config_files, path)?,
                ConfigSource::Content(text) => text.clone().into_bytes(),
            };
            contents.push(Given { kind: FileKind::Config, name: config.name.clone(), bytes });
        }
        if let Some(large) = contents.iter().find(|it| it.bytes.len() > MAX_FILE) {
            return Err(DeployError::Input(format!("{} is larger than {MAX_FILE} bytes", large.name)));
        }
        let source = body.files.iter().map(|file| file.text.as_str()).collect::<Vec<_>>().join("\n---\n");
        Ok(Self { compose, contents, stored, source, message: body.message, force: body.force })
    }
}

fn decoded(files: &BTreeMap<String, String>, path: &str) -> Result<Vec<u8>, DeployError> {
    let text = files.get(path).ok_or_else(|| {
        DeployError::Input(format!("the file {path} that the Compose files name was not sent along"))
    })?;
    STANDARD.decode(text).map_err(|_| DeployError::Input(format!("the content of {path} is no base64")))
}

/// Which version of each file is meant.
type Files = BTreeMap<(FileKind, String), FileId>;

impl Services {
    /// What a deployment would do. Nothing is written.
    pub(crate) async fn plan(&self, project: &str, wish: &Wish) -> Result<Outline, DeployError> {
        let rows = self.store.project(project).await?;
        let has_files = !(wish.contents.is_empty() && wish.stored.is_empty());
        let known = match rows.as_ref().filter(|_| has_files) {
            Some(rows) => self.store.files_of(rows.project.id.clone()).await?,
            None => Vec::new(),
        };
        let mut files = Files::new();
        for given in &wish.contents {
            let print = self.fingerprint(given.kind, &given.name, &given.bytes);
            let same =
                known.iter().find(|it| it.kind == given.kind && it.name == given.name && it.sha256 == print);
            let id = match same {
                Some(version) => version.id.clone(),
                // Any new one will do: it differs from what is there.
                None => FileId::generate(unsigned(clock::now()), random()?),
            };
            files.insert((given.kind, given.name.clone()), id);
        }
        add_stored(wish, &known, &mut files)?;
        self.outline(rows, project, wish, &files).await
    }

    /// Begins a deployment; `None` when there is nothing to do.
    pub(crate) async fn deploy(
        &self,
        project: &str,
        wish: &Wish,
        author: &str,
        entry: &AuditEntry,
    ) -> Result<(Outline, Option<Deployment>), DeployError> {
        let plan = self.plan(project, wish).await?;
        if !plan.refusals.is_empty() {
            return Err(DeployError::Refused(plan.refusals));
        }
        // Without anything to keep first, what was planned is what is written.
        let is_known = plan.project.version > 0;
        let outline = if is_known && wish.contents.is_empty() {
            plan
        } else {
            self.kept(project, wish, author, entry).await?
        };
        if outline.is_nothing() {
            return Ok((outline, None));
        }
        let deployment =
            self.begin(&outline, Some(wish.source.clone()), author, &wish.message, entry).await?;
        Ok((outline, Some(deployment)))
    }

    /// Keeps the files that came with a wish, in a project that is made for them if need be, and outlines it with those.
    async fn kept(
        &self,
        project: &str,
        wish: &Wish,
        author: &str,
        entry: &AuditEntry,
    ) -> Result<Outline, DeployError> {
        let now = clock::now();
        let new_id = ProjectId::generate(unsigned(now), random()?);
        let id = self.store.reserve_project(new_id, project.to_owned(), now).await?;
        let mut files = Files::new();
        for given in &wish.contents {
            let Given { kind, name, bytes } = given;
            let content = Content { project: &id, kind: *kind, name, bytes, author };
            let object = format!("{}/{project}/{name}", kind.as_str());
            let (version, _) =
                self.keep(content, AuditEntry { action: "file.set", ..entry.about(object) }).await?;
            files.insert((*kind, name.clone()), version.id);
        }
        let known = self.store.files_of(id).await?;
        add_stored(wish, &known, &mut files)?;
        let rows = self.store.project(project).await?;
        self.outline(rows, project, wish, &files).await
    }

    /// Writes an outline as a deployment and has the controller begin.
    pub(crate) async fn begin(
        &self,
        outline: &Outline,
        source: Option<String>,
        author: &str,
        message: &str,
        entry: &AuditEntry,
    ) -> Result<Deployment, DeployError> {
        let now = clock::now();
        let (mut services, mut releases, mut items) = (Vec::new(), Vec::new(), Vec::new());
        for planned in outline.planned.iter().filter(|it| it.change != Change::Unchanged) {
            if planned.is_new_service {
                services.push(planned.service.clone());
            }
            if let Some(release) = &planned.release {
                let release = Release {
                    author: author.to_owned(),
                    message: message.to_owned(),
                    created_at: now,
                    ..release.clone()
                };
                if planned.is_new_release {
                    releases.push(release);
                }
            }
            items.push(DeploymentItem {
                service_id: planned.service.id.clone(),
                service_name: planned.service.name.clone(),
                from: planned.service.current.clone(),
                to: planned.release.as_ref().map(|release| release.id.clone()),
                outcome: ItemOutcome::Waiting,
            });
        }
        let new = NewDeployment {
            project: outline.project.clone(),
            source,
            expected: Expected::OneOf(vec![outline.project.version]),
            services,
            releases,
            items,
            created_by: author.to_owned(),
            message: message.to_owned(),
            created_at: now,
        };
        let deployment = self.store.begin_deployment(new, entry.clone()).await?;
        self.hub.projects_changed([outline.project.name.clone()]);
        self.look_at(outline.project.id.clone());
        Ok(deployment)
    }
}

/// Secrets that the control plane has already.
fn add_stored(wish: &Wish, known: &[FileVersion], files: &mut Files) -> Result<(), DeployError> {
    for (name, stored) in &wish.stored {
        let found = known.iter().find(|it| it.kind == FileKind::Secret && it.name == *stored);
        let found = found.ok_or_else(|| {
            let project = &wish.compose.name;
            DeployError::Refused(vec![format!(
                "the secret {stored} is not set: muster secrets set {project}/{stored} sets it"
            )])
        })?;
        files.insert((FileKind::Secret, name.clone()), found.id.clone());
    }
    Ok(())
}

/// The files that a specification mounts.
fn files_of(spec: &ServiceSpec, files: &Files) -> Files {
    let mut used = Files::new();
    for mount in &spec.container.mounts {
        let key = match &mount.source {
            MountSource::Secret { secret, .. } => (FileKind::Secret, secret.clone()),
            MountSource::Config { config, .. } => (FileKind::Config, config.clone()),
            MountSource::Volume { .. } | MountSource::HostPath { .. } | MountSource::Tmpfs { .. } => continue,
        };
        if let Some(id) = files.get(&key) {
            used.insert(key, id.clone());
        }
    }
    used
}

fn new_release(
    service: &ServiceId,
    spec: ServiceSpec,
    files: Files,
    now: UnixMillis,
) -> Result<Release, StoreError> {
    let hash = container_hash(&spec.container, &files).map_err(|_| StoreError::Corrupt("release"))?;
    Ok(Release {
        id: ReleaseId::generate(unsigned(now), random()?),
        service_id: service.clone(),
        number: 0,
        spec,
        files,
        container_hash: hash,
        author: String::new(),
        message: String::new(),
        created_at: now,
    })
}

fn new_project(name: &str, now: UnixMillis) -> Result<ProjectWorld, StoreError> {
    Ok(ProjectWorld {
        project: Project {
            id: ProjectId::generate(unsigned(now), random()?),
            name: name.to_owned(),
            networks: Vec::new(),
            volumes: Vec::new(),
            created_at: now,
            version: 0,
        },
        services: Vec::new(),
        releases: BTreeMap::new(),
        replicas: Vec::new(),
        networks: Vec::new(),
        volumes: Vec::new(),
        deployment: None,
    })
}

fn new_service(project: &ProjectId, name: &str, now: UnixMillis) -> Result<Service, StoreError> {
    Ok(Service {
        id: ServiceId::generate(unsigned(now), random()?),
        project_id: project.clone(),
        name: name.to_owned(),
        current: None,
        created_at: now,
    })
}

/// Services in an order in which each comes after those that it depends on; circles were refused when the files were read.
fn in_order(services: &[compose::Service]) -> Vec<&compose::Service> {
    let mut ordered: Vec<&compose::Service> = Vec::new();
    let mut placed = BTreeSet::new();
    while ordered.len() < services.len() {
        let before = ordered.len();
        for service in services {
            let known = |name: &String| placed.contains(name) || !services.iter().any(|it| it.name == *name);
            let ready = service.spec.depends_on.iter().all(|it| known(&it.service));
            if ready && placed.insert(service.name.clone()) {
                ordered.push(service);
            }
        }
        if ordered.len() == before {
            ordered.extend(services.iter().filter(|it| !placed.contains(&it.name)));
            break;
        }
    }
    ordered
}
