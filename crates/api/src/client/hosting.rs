//! Calls about hosts, and about what runs on them.

use std::collections::VecDeque;
use std::time::Duration;

use reqwest::Method;
use serde::Deserialize;

use super::{Answer, Client, ClientError, path_part, with_query};
use crate::hosts::{ChangeHost, CreatedJoinToken, Host, HostList, HostLog, JoinTokenList, NewJoinToken};
use crate::services::{
    Deploy, Deployment, DeploymentList, LogLine, Logs, Plan, Project, ProjectList, RegistryList, ReleaseList,
    Rollback, Scale, SecretList, Service, ServiceList, SetRegistry, SetSecret,
};

/// The server says that it lives every 15 seconds; a stream that is silent for longer than three of these is dead.
const SILENCE: Duration = Duration::from_secs(50);
/// A line of a stream that is longer ends it: the server sends none.
const MAX_LINE: usize = 4 << 20;

/// Which lines of a service are wanted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LogQuery {
    /// Only of the replica with this number.
    pub replica: Option<u32>,
    /// The last so many, 1 to 500.
    pub limit: Option<u32>,
    /// Not before this moment, RFC 3339.
    pub since: Option<String>,
    /// Only lines with this text.
    pub contains: Option<String>,
}

/// What comes from a stream of lines.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum LogEvent {
    /// A line that a replica printed.
    Line(LogLine),
    /// Something about the stream itself.
    Note {
        /// In words.
        note: String,
    },
}

/// A stream of lines as they come.
#[derive(Debug)]
pub struct LogStream {
    response: reqwest::Response,
    rest: Vec<u8>,
    ready: VecDeque<LogEvent>,
}

impl LogStream {
    /// Waits for the next one. `None`: the stream ended, or says nothing at all any more.
    pub async fn next(&mut self) -> Option<LogEvent> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some(event);
            }
            let chunk = tokio::time::timeout(SILENCE, self.response.chunk()).await.ok()?.ok()??;
            self.take(&chunk);
            if self.rest.len() > MAX_LINE {
                return None;
            }
        }
    }

    /// Empty lines are signs of life.
    fn take(&mut self, chunk: &[u8]) {
        self.rest.extend_from_slice(chunk);
        let Some(end) = self.rest.iter().rposition(|byte| *byte == b'\n') else { return };
        let rest = self.rest.split_off(end + 1);
        let whole = std::mem::replace(&mut self.rest, rest);
        let lines = whole.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        self.ready.extend(lines.filter_map(|line| serde_json::from_slice(line).ok()));
    }
}

fn host_path(host: &str) -> String {
    format!("/hosts/{}", path_part(host))
}

fn project_path(project: &str) -> String {
    format!("/projects/{}", path_part(project))
}

fn service_path(project: &str, service: &str) -> String {
    format!("/services/{}/{}", path_part(project), path_part(service))
}

fn secret_path(project: &str, name: &str) -> String {
    format!("{}/secrets/{}", project_path(project), path_part(name))
}

/// A call that begins a deployment, unless there is nothing to do.
type Begun = Result<Option<Deployment>, ClientError>;

impl Client {
    /// `GET /hosts`.
    pub async fn hosts(&self) -> Result<HostList, ClientError> {
        self.get("/hosts").await
    }

    /// `GET /hosts/{host}`.
    pub async fn host(&self, host: &str) -> Result<Answer<Host>, ClientError> {
        self.exchange((Method::GET, &host_path(host)), None, None::<&()>).await
    }

    /// `PATCH /hosts/{host}`.
    pub async fn change_host(
        &self,
        host: &str,
        if_match: Option<&str>,
        change: &ChangeHost,
    ) -> Result<Host, ClientError> {
        let call = (Method::PATCH, &*host_path(host));
        self.exchange(call, if_match, Some(change)).await.map(|answer| answer.value)
    }

    /// `DELETE /hosts/{host}`, with `force` also when something is meant to be there.
    pub async fn remove_host(&self, host: &str, force: bool) -> Result<(), ClientError> {
        let force = force.then(|| "true".to_owned());
        self.delete(&with_query(&host_path(host), &[("force", force)])).await
    }

    /// `GET /hosts/{host}/log`.
    pub async fn host_log(&self, host: &str, limit: Option<u32>) -> Result<HostLog, ClientError> {
        let limit = limit.map(|limit| limit.to_string());
        self.get(&with_query(&(host_path(host) + "/log"), &[("limit", limit)])).await
    }

    /// `GET /join-tokens`.
    pub async fn join_tokens(&self) -> Result<JoinTokenList, ClientError> {
        self.get("/join-tokens").await
    }

    /// `POST /join-tokens`.
    pub async fn create_join_token(&self, new: &NewJoinToken) -> Result<CreatedJoinToken, ClientError> {
        self.send(Method::POST, "/join-tokens", Some(new)).await
    }

    /// `DELETE /join-tokens/{id}`.
    pub async fn revoke_join_token(&self, id: &str) -> Result<(), ClientError> {
        self.delete(&format!("/join-tokens/{}", path_part(id))).await
    }

    /// `GET /projects`.
    pub async fn projects(&self) -> Result<ProjectList, ClientError> {
        self.get("/projects").await
    }

    /// `GET /projects/{project}`.
    pub async fn project(&self, project: &str) -> Result<Project, ClientError> {
        self.get(&project_path(project)).await
    }

    /// `POST /projects/{project}/plan`.
    pub async fn plan(&self, project: &str, deploy: &Deploy) -> Result<Plan, ClientError> {
        self.send(Method::POST, &(project_path(project) + "/plan"), Some(deploy)).await
    }

    /// `POST /projects/{project}/deployments`. `None`: everything is as it should be already.
    pub async fn deploy(&self, project: &str, deploy: &Deploy) -> Begun {
        self.begun((Method::POST, &(project_path(project) + "/deployments")), Some(deploy)).await
    }

    /// `DELETE /projects/{project}`. `None`: nothing had to stop.
    pub async fn remove_project(&self, project: &str, volumes: bool) -> Begun {
        let path = format!("{}?volumes={volumes}", project_path(project));
        self.begun((Method::DELETE, &path), None::<&()>).await
    }

    /// `GET /deployments`.
    pub async fn deployments(
        &self,
        project: Option<&str>,
        limit: Option<u32>,
    ) -> Result<DeploymentList, ClientError> {
        let (project, limit) = (project.map(str::to_owned), limit.map(|limit| limit.to_string()));
        self.get(&with_query("/deployments", &[("project", project), ("limit", limit)])).await
    }

    /// `GET /deployments/{id}`.
    pub async fn deployment(&self, id: &str) -> Result<Deployment, ClientError> {
        self.get(&format!("/deployments/{}", path_part(id))).await
    }

    /// `POST /deployments/{id}/abort`.
    pub async fn abort_deployment(&self, id: &str) -> Result<Deployment, ClientError> {
        self.send(Method::POST, &format!("/deployments/{}/abort", path_part(id)), None::<&()>).await
    }

    /// `GET /services`.
    pub async fn services(&self, project: Option<&str>) -> Result<ServiceList, ClientError> {
        self.get(&with_query("/services", &[("project", project.map(str::to_owned))])).await
    }

    /// `GET /services/{project}/{service}`.
    pub async fn service(&self, project: &str, service: &str) -> Result<Service, ClientError> {
        self.get(&service_path(project, service)).await
    }

    /// `GET /services/{project}/{service}/releases`.
    pub async fn releases(&self, project: &str, service: &str) -> Result<ReleaseList, ClientError> {
        self.get(&(service_path(project, service) + "/releases")).await
    }

    /// `POST /services/{project}/{service}/rollback`. `None`: it runs that release already.
    pub async fn roll_back(&self, project: &str, service: &str, to: &Rollback) -> Begun {
        self.begun((Method::POST, &(service_path(project, service) + "/rollback")), Some(to)).await
    }

    /// `POST /services/{project}/{service}/scale`. `None`: it has that many already.
    pub async fn scale(&self, project: &str, service: &str, to: Scale) -> Begun {
        self.begun((Method::POST, &(service_path(project, service) + "/scale")), Some(&to)).await
    }

    /// `DELETE /services/{project}/{service}`.
    pub async fn remove_service(&self, project: &str, service: &str) -> Begun {
        self.begun((Method::DELETE, &service_path(project, service)), None::<&()>).await
    }

    /// `GET /services/{project}/{service}/logs`.
    pub async fn logs(&self, project: &str, service: &str, query: &LogQuery) -> Result<Logs, ClientError> {
        self.get(&log_path(project, service, query, None)).await
    }

    /// The same with `follow`: the last lines, and then those that come.
    pub async fn follow_logs(
        &self,
        project: &str,
        service: &str,
        query: &LogQuery,
    ) -> Result<LogStream, ClientError> {
        let path = log_path(project, service, query, Some("true".to_owned()));
        let request = self.request(Method::GET, &path).header("accept", "application/x-ndjson");
        // Without an answer within this time the server is not there; what follows may take for ever.
        let answer = tokio::time::timeout(SILENCE, self.answer(&path, request)).await;
        let late = || self.unexpected(&path, "it did not answer in time".to_owned());
        let response = answer.map_err(|_| late())??;
        Ok(LogStream { response, rest: Vec::new(), ready: VecDeque::new() })
    }

    /// `GET /projects/{project}/secrets`.
    pub async fn secrets(&self, project: &str) -> Result<SecretList, ClientError> {
        self.get(&(project_path(project) + "/secrets")).await
    }

    /// `PUT /projects/{project}/secrets/{name}`.
    pub async fn set_secret(&self, project: &str, name: &str, secret: &SetSecret) -> Result<(), ClientError> {
        self.put(&secret_path(project, name), secret).await
    }

    /// `DELETE /projects/{project}/secrets/{name}`.
    pub async fn remove_secret(&self, project: &str, name: &str) -> Result<(), ClientError> {
        self.delete(&secret_path(project, name)).await
    }

    /// `GET /registries`.
    pub async fn registries(&self) -> Result<RegistryList, ClientError> {
        self.get("/registries").await
    }

    /// `PUT /registries`.
    pub async fn set_registry(&self, registry: &SetRegistry) -> Result<(), ClientError> {
        self.put("/registries", registry).await
    }

    /// `DELETE /registries/{registry}`.
    pub async fn remove_registry(&self, registry: &str) -> Result<(), ClientError> {
        self.delete(&format!("/registries/{}", path_part(registry))).await
    }

    async fn begun<B: serde::Serialize>(&self, call: (Method, &str), body: Option<&B>) -> Begun {
        self.exchange(call, None, body).await.map(|answer| answer.value)
    }

    async fn put<B: serde::Serialize>(&self, path: &str, body: &B) -> Result<(), ClientError> {
        self.exchange::<B, serde_json::Value>((Method::PUT, path), None, Some(body)).await.map(drop)
    }
}

fn log_path(project: &str, service: &str, query: &LogQuery, follow: Option<String>) -> String {
    let LogQuery { replica, limit, since, contains } = query.clone();
    let number = |number: Option<u32>| number.map(|number| number.to_string());
    let parameters = [
        ("replica", number(replica)),
        ("limit", number(limit)),
        ("since", since),
        ("contains", contains),
        ("follow", follow),
    ];
    with_query(&(service_path(project, service) + "/logs"), &parameters)
}
