//! Calls about configurations.

use reqwest::Method;

use super::{Answer, Client, ClientError, path_part, with_query};
use crate::configs::{
    Check, CheckRequest, ConfigDetail, ConfigImport, ConfigPage, ConfigPatch, ConfigQuery, Diff, DiffQuery,
    DraftDiff, NewConfig, NewRevision, Revision, RevisionList,
};

fn path(name: &str) -> String {
    format!("/configs/{}", path_part(name))
}

impl Client {
    /// `GET /configs`.
    pub async fn configs(&self, query: &ConfigQuery) -> Result<ConfigPage, ClientError> {
        let ConfigQuery { q, limit, cursor } = query.clone();
        let limit = limit.map(|limit| limit.to_string());
        self.get(&with_query("/configs", &[("q", q), ("limit", limit), ("cursor", cursor)])).await
    }

    /// `POST /configs`.
    pub async fn create_config(&self, new: &NewConfig) -> Result<ConfigDetail, ClientError> {
        self.send(Method::POST, "/configs", Some(new)).await
    }

    /// `GET /configs/{name}`.
    pub async fn config(&self, name: &str) -> Result<Answer<ConfigDetail>, ClientError> {
        self.exchange((Method::GET, &path(name)), None, None::<&()>).await
    }

    /// `PATCH /configs/{name}`.
    pub async fn change_config(&self, name: &str, patch: &ConfigPatch) -> Result<ConfigDetail, ClientError> {
        self.send(Method::PATCH, &path(name), Some(patch)).await
    }

    /// `DELETE /configs/{name}`.
    pub async fn delete_config(&self, name: &str, if_match: Option<&str>) -> Result<(), ClientError> {
        let call = (Method::DELETE, &*path(name));
        self.exchange::<(), serde_json::Value>(call, if_match, None).await.map(drop)
    }

    /// `GET /configs/{name}/revisions`.
    pub async fn revisions(&self, name: &str) -> Result<RevisionList, ClientError> {
        self.get(&(path(name) + "/revisions")).await
    }

    /// `POST /configs/{name}/revisions`. Status 201: it was written; 200: the latest has the same files.
    pub async fn create_revision(
        &self,
        name: &str,
        new: &NewRevision,
    ) -> Result<Answer<Revision>, ClientError> {
        self.exchange((Method::POST, &(path(name) + "/revisions")), None, Some(new)).await
    }

    /// `GET /configs/{name}/revisions/{number}`.
    pub async fn revision(&self, name: &str, number: u32) -> Result<Revision, ClientError> {
        self.get(&format!("{}/revisions/{number}", path(name))).await
    }

    /// `POST /configs/check`.
    pub async fn check_config(&self, draft: &CheckRequest) -> Result<Check, ClientError> {
        self.send(Method::POST, "/configs/check", Some(draft)).await
    }

    /// `GET /configs/{name}/diff`.
    pub async fn diff_revisions(&self, name: &str, query: DiffQuery) -> Result<Diff, ClientError> {
        let number = |number: Option<u32>| number.map(|number| number.to_string());
        let DiffQuery { from, to } = query;
        self.get(&with_query(&(path(name) + "/diff"), &[("from", number(from)), ("to", number(to))])).await
    }

    /// `POST /configs/diff`.
    pub async fn diff_drafts(&self, drafts: &DraftDiff) -> Result<Diff, ClientError> {
        self.send(Method::POST, "/configs/diff", Some(drafts)).await
    }

    /// `POST /configs/import`.
    pub async fn import_config(&self, import: &ConfigImport) -> Result<ConfigDetail, ClientError> {
        self.send(Method::POST, "/configs/import", Some(import)).await
    }
}
