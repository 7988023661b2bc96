//! Calls about labels and saved views.

use reqwest::Method;

use super::{Client, ClientError, path_part};
use crate::labels::{LabelChange, LabelOutcome, Labels};
use crate::views::{NewView, View, ViewList};

impl Client {
    /// `PUT /agents/{uid}/labels`.
    pub async fn set_labels(&self, uid: &str, labels: &Labels) -> Result<Labels, ClientError> {
        self.send(Method::PUT, &format!("/agents/{}/labels", path_part(uid)), Some(labels)).await
    }

    /// `POST /labels`.
    pub async fn change_labels(&self, change: &LabelChange) -> Result<LabelOutcome, ClientError> {
        self.send(Method::POST, "/labels", Some(change)).await
    }

    /// `GET /views`.
    pub async fn views(&self) -> Result<ViewList, ClientError> {
        self.get("/views").await
    }

    /// `POST /views`.
    pub async fn create_view(&self, view: &NewView) -> Result<View, ClientError> {
        self.send(Method::POST, "/views", Some(view)).await
    }

    /// `DELETE /views/{id}`.
    pub async fn delete_view(&self, id: &str) -> Result<(), ClientError> {
        self.delete(&format!("/views/{}", path_part(id))).await
    }
}
