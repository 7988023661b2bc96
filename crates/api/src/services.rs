//! /api/v1/projects, /services, /deployments and what belongs to them: what runs on hosts.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A file with its text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TextFile {
    /// The name that problems give it.
    pub name: String,
    /// What it says.
    pub text: String,
}

/// Body of `POST /projects/{project}/deployments` and of `…/plan`: Compose files and what they refer to.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Deploy {
    /// Compose files, each over those before it.
    pub files: Vec<TextFile>,
    /// Values of the variables that the files use.
    #[serde(default)]
    pub variables: BTreeMap<String, String>,
    /// Profiles that are on.
    #[serde(default)]
    pub profiles: Vec<String>,
    /// Texts of the files that `env_file:` names, by path.
    #[serde(default)]
    pub env_files: BTreeMap<String, String>,
    /// Contents of the files that `secrets:` names, by path, in base64.
    #[serde(default)]
    pub secret_files: BTreeMap<String, String>,
    /// Contents of the files that `configs:` names, by path, in base64.
    #[serde(default)]
    pub config_files: BTreeMap<String, String>,
    /// Why.
    #[serde(default)]
    pub message: String,
    /// Deploy replicas anew although nothing about them changed.
    #[serde(default)]
    pub force: bool,
}

impl std::fmt::Debug for Deploy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Deploy").field("files", &self.files.len()).finish_non_exhaustive()
    }
}

/// What a deployment would do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Plan {
    /// The project.
    pub project: String,
    /// Each service, by name.
    pub services: Vec<PlannedService>,
    /// What somebody should look at, with the place in the files where there is one.
    pub warnings: Vec<String>,
    /// Why it would not begin; empty: it would.
    pub refusals: Vec<String>,
    /// In words, a line for each thing that happens.
    pub text: Vec<String>,
}

/// What a deployment would do to a service.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PlannedService {
    /// Its name.
    pub name: String,
    /// `new`, `changed`, `scaled`, `unchanged`, `removed`.
    pub change: String,
    /// What about it is another, in words: `image nginx:1 → nginx:2`.
    pub changes: Vec<String>,
    /// Replicas before.
    pub replicas_before: u32,
    /// Replicas after.
    pub replicas_after: u32,
    /// How it is updated, in words.
    pub update: String,
    /// Where its replicas would run.
    pub hosts: Vec<String>,
}

/// A deployment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Deployment {
    /// Its number.
    pub id: String,
    /// Of which project.
    pub project: String,
    /// `running`, `rolling back`, `done`, `rolled back`, `superseded`.
    pub state: String,
    /// Why it went back.
    pub reason: Option<String>,
    /// Each service of it.
    pub services: Vec<DeployedService>,
    /// Who wanted it.
    pub created_by: String,
    /// Why.
    pub message: String,
    /// RFC 3339.
    pub created_at: String,
    /// RFC 3339.
    pub finished_at: Option<String>,
}

/// A service of a deployment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DeployedService {
    /// Its name.
    pub name: String,
    /// The number of its release before.
    pub from: Option<u32>,
    /// The number of its release after; `null`: it is removed.
    pub to: Option<u32>,
    /// `waiting`, `done`, `failed`.
    pub state: String,
    /// Why it failed.
    pub reason: Option<String>,
    /// What it waits for.
    pub waits_for: Option<String>,
    /// Replicas of the new release that work.
    pub ready: u32,
    /// Replicas that it should have.
    pub wanted: u32,
    /// Replicas of the release before that still work.
    #[serde(default)]
    pub old_ready: u32,
}

/// Answer of `GET /deployments`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DeploymentList {
    /// The newest first.
    pub items: Vec<Deployment>,
    /// For the next page: the `before` to ask with; `null`: this was the last.
    pub next: Option<String>,
}

/// A project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Project {
    /// Its name.
    pub name: String,
    /// Its services.
    pub services: Vec<Service>,
    /// The deployment that is under way.
    pub deployment: Option<Deployment>,
    /// Volumes with the hosts that they are on.
    pub volumes: Vec<Volume>,
    /// RFC 3339.
    pub created_at: String,
}

/// Answer of `GET /projects`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ProjectList {
    /// By name.
    pub items: Vec<Project>,
}

/// A volume.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Volume {
    /// Its name in the project.
    pub name: String,
    /// The host that it is on.
    pub host: String,
    /// Whether a service uses it.
    pub used: bool,
}

/// A service.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Service {
    /// Its identifier.
    pub id: String,
    /// The project.
    pub project: String,
    /// Its name.
    pub name: String,
    /// `healthy`, `running` (it has no health check), `degraded` (some replicas do not work), `failed` (none works),
    /// `stranded` (of none its host can say), `updating`, `stopped`.
    pub state: String,
    /// The image.
    pub image: String,
    /// The number of the release that it runs; `null`: none yet.
    pub release: Option<u32>,
    /// Replicas that it should have.
    pub wanted: u32,
    /// Replicas that work, as far as is known: none on a host that is offline, or where no container engine answers.
    pub ready: u32,
    /// What it waits for when that is not all.
    pub waits_for: Option<String>,
    /// Ports of hosts that lead to it, as `8080/tcp → 80`.
    pub ports: Vec<String>,
    /// Names of the volumes that its replicas share: all of them run where these are.
    pub volumes: Vec<String>,
    /// Its replicas.
    pub replicas: Vec<Replica>,
}

/// Answer of `GET /services`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ServiceList {
    /// By project and name.
    pub items: Vec<Service>,
}

/// A replica.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Replica {
    /// Its identifier.
    pub id: String,
    /// Its container's name.
    pub name: String,
    /// The project.
    pub project: String,
    /// The service.
    pub service: String,
    /// Its number within the service.
    pub number: u32,
    /// `starting`, `healthy`, `running` (it has no health check), `unhealthy`, `stopped`, `failed`, `stranded` (its host is
    /// offline or has not connected since the server started, or no container engine answers there: the reason says which, all
    /// else is as it was last).
    pub state: String,
    /// Whether it is new, serves, or leaves: `starting`, `serving`, `draining`, `removing`.
    pub phase: String,
    /// The host's name.
    pub host: String,
    /// Whether its host is connected: else all this is as it was last.
    pub host_online: bool,
    /// The number of its release.
    pub release: u32,
    /// The engine's id of its container.
    pub container: Option<String>,
    /// Its addresses within the project.
    pub addresses: Vec<String>,
    /// How often the engine started it again.
    pub restarts: u64,
    /// When it was started, RFC 3339.
    pub started_at: Option<String>,
    /// How it ended.
    pub exit_code: Option<i64>,
    /// What is wrong with it.
    pub reason: Option<String>,
    /// What it printed last when it failed.
    pub last_lines: Vec<String>,
}

/// A release of a service.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Release {
    /// Its number.
    pub number: u32,
    /// The image.
    pub image: String,
    /// Whether it is what the service runs.
    pub current: bool,
    /// Whether a deployment brought the service to it, and with replicas: it has worked once.
    pub served: bool,
    /// How many replicas it has.
    pub replicas: u32,
    /// Who made it.
    pub author: String,
    /// Why.
    pub message: String,
    /// RFC 3339.
    pub created_at: String,
    /// What is another than in the release before, in words.
    pub changes: Vec<String>,
}

/// Answer of `GET /services/{project}/{service}/releases`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ReleaseList {
    /// The newest first.
    pub items: Vec<Release>,
}

/// Body of `POST /services/{project}/{service}/rollback`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Rollback {
    /// The number of the release to go to; absent: the newest one before the current one that served.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<u32>,
    /// Why.
    #[serde(default)]
    pub message: String,
}

/// Body of `POST /services/{project}/{service}/scale`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Scale {
    /// How many replicas.
    pub replicas: u32,
}

/// A secret of a project, without its content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Secret {
    /// Its name.
    pub name: String,
    /// Counts its contents, from 1.
    pub version: u32,
    /// Length of the content in bytes.
    pub size_bytes: u64,
    /// Services whose current release has it.
    pub used_by: Vec<String>,
    /// Who set it.
    pub created_by: String,
    /// RFC 3339.
    pub created_at: String,
}

/// Answer of `GET /projects/{project}/secrets`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SecretList {
    /// By name.
    pub items: Vec<Secret>,
}

/// Body of `PUT /projects/{project}/secrets/{name}`.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SetSecret {
    /// The content, in base64, at most 512 KiB of it.
    pub content: String,
}

impl std::fmt::Debug for SetSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SetSecret { .. }")
    }
}

/// A credential for a registry, without its password.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Registry {
    /// Host and port as they stand in an image's name; `docker.io` for names without one.
    pub registry: String,
    /// Who pulls.
    pub username: String,
    /// Who set it.
    pub created_by: String,
    /// RFC 3339.
    pub created_at: String,
}

/// Answer of `GET /registries`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RegistryList {
    /// By registry.
    pub items: Vec<Registry>,
}

/// Body of `PUT /registries`.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SetRegistry {
    /// Host and port.
    pub registry: String,
    /// Who pulls.
    pub username: String,
    /// The password or token.
    pub password: String,
}

impl std::fmt::Debug for SetRegistry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SetRegistry").field("registry", &self.registry).finish_non_exhaustive()
    }
}

/// A line that a replica printed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LogLine {
    /// RFC 3339 with microseconds.
    pub at: String,
    /// The replica as `web-1`.
    pub replica: String,
    /// The host's name.
    pub host: String,
    /// `out` or `err`.
    pub stream: String,
    /// The text; bytes that are no UTF-8 are replaced.
    pub text: String,
}

/// Answer of `GET /services/{project}/{service}/logs`; with `follow` each line is a JSON object of its own
/// (`application/x-ndjson`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Logs {
    /// In order of time.
    pub items: Vec<LogLine>,
    /// Hosts that could not be asked, with the reason.
    pub missing: Vec<String>,
}
