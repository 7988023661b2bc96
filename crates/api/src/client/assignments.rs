//! Calls about assignments, rollouts and overrides.

use reqwest::Method;

use super::{Answer, Client, ClientError, path_part, with_query};
use crate::assignments::{
    AssignedPage, AssignedQuery, Assignment, AssignmentPage, AssignmentPatch, AssignmentQuery, NewAssignment,
    NewOverride, Override, Preview, PreviewRequest, Reason, SetRevision,
};

fn path(id: &str) -> String {
    format!("/assignments/{}", path_part(id))
}

impl Client {
    /// `GET /assignments`.
    pub async fn assignments(&self, query: &AssignmentQuery) -> Result<AssignmentPage, ClientError> {
        let AssignmentQuery { config, state, limit, cursor } = query.clone();
        let limit = limit.map(|limit| limit.to_string());
        let parameters = [("config", config), ("state", state), ("limit", limit), ("cursor", cursor)];
        self.get(&with_query("/assignments", &parameters)).await
    }

    /// `POST /assignments`.
    pub async fn create_assignment(&self, new: &NewAssignment) -> Result<Assignment, ClientError> {
        self.send(Method::POST, "/assignments", Some(new)).await
    }

    /// `GET /assignments/{id}`.
    pub async fn assignment(&self, id: &str) -> Result<Answer<Assignment>, ClientError> {
        self.exchange((Method::GET, &path(id)), None, None::<&()>).await
    }

    /// `PATCH /assignments/{id}`.
    pub async fn change_assignment(
        &self,
        id: &str,
        if_match: Option<&str>,
        patch: &AssignmentPatch,
    ) -> Result<Assignment, ClientError> {
        self.exchange((Method::PATCH, &path(id)), if_match, Some(patch)).await.map(|answer| answer.value)
    }

    /// `POST /assignments/{id}/revision`.
    pub async fn set_revision(
        &self,
        id: &str,
        if_match: Option<&str>,
        set: &SetRevision,
    ) -> Result<Assignment, ClientError> {
        let path = path(id) + "/revision";
        self.exchange((Method::POST, &path), if_match, Some(set)).await.map(|answer| answer.value)
    }

    /// `POST /assignments/{id}/pause`.
    pub async fn pause_assignment(
        &self,
        id: &str,
        reason: Option<String>,
    ) -> Result<Assignment, ClientError> {
        self.send(Method::POST, &(path(id) + "/pause"), Some(&Reason { reason })).await
    }

    /// `POST /assignments/{id}/resume`.
    pub async fn resume_assignment(&self, id: &str) -> Result<Assignment, ClientError> {
        self.send(Method::POST, &(path(id) + "/resume"), None::<&()>).await
    }

    /// `POST /assignments/{id}/abort`.
    pub async fn abort_assignment(
        &self,
        id: &str,
        reason: Option<String>,
    ) -> Result<Assignment, ClientError> {
        self.send(Method::POST, &(path(id) + "/abort"), Some(&Reason { reason })).await
    }

    /// `DELETE /assignments/{id}`.
    pub async fn delete_assignment(
        &self,
        id: &str,
        if_match: Option<&str>,
        clear: bool,
    ) -> Result<(), ClientError> {
        let path = format!("{}?clear={clear}", path(id));
        self.exchange::<(), serde_json::Value>((Method::DELETE, &path), if_match, None).await.map(drop)
    }

    /// `GET /assignments/{id}/agents`.
    pub async fn assigned_agents(
        &self,
        id: &str,
        query: &AssignedQuery,
    ) -> Result<AssignedPage, ClientError> {
        let AssignedQuery { state, limit, cursor } = query.clone();
        let limit = limit.map(|limit| limit.to_string());
        let path = path(id) + "/agents";
        self.get(&with_query(&path, &[("state", state), ("limit", limit), ("cursor", cursor)])).await
    }

    /// `POST /assignments/preview`.
    pub async fn preview(&self, request: &PreviewRequest) -> Result<Preview, ClientError> {
        self.send(Method::POST, "/assignments/preview", Some(request)).await
    }

    /// `PUT /agents/{uid}/config`.
    pub async fn pin_agent(&self, uid: &str, to: &NewOverride) -> Result<Override, ClientError> {
        self.send(Method::PUT, &format!("/agents/{}/config", path_part(uid)), Some(to)).await
    }

    /// `DELETE /agents/{uid}/config`.
    pub async fn unpin_agent(&self, uid: &str) -> Result<(), ClientError> {
        self.delete(&format!("/agents/{}/config", path_part(uid))).await
    }
}
