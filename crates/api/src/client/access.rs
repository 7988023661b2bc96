//! Calls about access: users, API tokens, passwords, the audit trail.

use std::time::Duration;

use reqwest::Method;

use super::{Client, ClientError, path_part};
use crate::api_tokens::{ApiTokenList, CreatedApiToken, NewApiToken};
use crate::audit::{AuditFilter, AuditPage};
use crate::session::PasswordChange;
use crate::users::{Account, AccountChange, AccountList, NewAccount};

/// How long the export of a trail may take.
const EXPORT: Duration = Duration::from_secs(600);

impl Client {
    /// `POST /session/password`.
    pub async fn change_password(&self, change: &PasswordChange) -> Result<(), ClientError> {
        let request = self.request(Method::POST, "/session/password").timeout(Duration::from_secs(60));
        self.answer("/session/password", request.json(change)).await.map(drop)
    }

    /// `GET /users`.
    pub async fn users(&self) -> Result<AccountList, ClientError> {
        self.get("/users").await
    }

    /// `POST /users`.
    pub async fn create_user(&self, new: &NewAccount) -> Result<Account, ClientError> {
        self.send(Method::POST, "/users", Some(new)).await
    }

    /// `PATCH /users/{name}`.
    pub async fn change_user(&self, name: &str, change: &AccountChange) -> Result<Account, ClientError> {
        self.send(Method::PATCH, &format!("/users/{}", path_part(name)), Some(change)).await
    }

    /// `DELETE /users/{name}`.
    pub async fn delete_user(&self, name: &str) -> Result<(), ClientError> {
        self.delete(&format!("/users/{}", path_part(name))).await
    }

    /// `GET /api-tokens`.
    pub async fn api_tokens(&self) -> Result<ApiTokenList, ClientError> {
        self.get("/api-tokens").await
    }

    /// `POST /api-tokens`.
    pub async fn create_api_token(&self, new: &NewApiToken) -> Result<CreatedApiToken, ClientError> {
        self.send(Method::POST, "/api-tokens", Some(new)).await
    }

    /// `DELETE /api-tokens/{id}`.
    pub async fn revoke_api_token(&self, id: &str) -> Result<(), ClientError> {
        self.delete(&format!("/api-tokens/{}", path_part(id))).await
    }

    /// `GET /audit`: a page of `limit` entries after a cursor.
    pub async fn audit(
        &self,
        filter: &AuditFilter,
        limit: u32,
        cursor: Option<&str>,
    ) -> Result<AuditPage, ClientError> {
        let cursor = cursor.map_or(String::new(), |cursor| format!("&cursor={}", path_part(cursor)));
        self.get(&format!("/audit?limit={limit}{cursor}&{}", filter.to_query_string())).await
    }

    /// `GET /audit/export`: the whole trail as `csv` or `ndjson`, given to `write` piece by piece.
    pub async fn export_audit<E: From<ClientError>>(
        &self,
        filter: &AuditFilter,
        format: &str,
        mut write: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let path = format!("/audit/export?format={format}&{}", filter.to_query_string());
        let request = self.request(Method::GET, &path).timeout(EXPORT);
        let mut response = self.answer(&path, request).await?;
        while let Some(piece) =
            response.chunk().await.map_err(|error| super::unreachable(&self.base, &error))?
        {
            write(&piece)?;
        }
        Ok(())
    }
}
