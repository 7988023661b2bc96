//! An operator who speaks JSON to the API, over a connection for each call.

use std::net::SocketAddr;
use std::time::Duration;

use serde_json::{Value, json};

use crate::DEADLINE;
use crate::raw::Connection;

/// An operator's session.
#[derive(Debug, Clone)]
pub struct Operator {
    console: SocketAddr,
    authorization: String,
}

impl Operator {
    /// Logs in.
    pub async fn log_in(console: SocketAddr, user: &str, password: &str) -> Self {
        let login = json!({ "username": user, "password": password, "want_token": true });
        let stranger = Self { console, authorization: String::new() };
        let session = stranger.done("POST", "/session", login).await;
        Self { authorization: format!("Bearer {}", session["token"].as_str().unwrap()), ..stranger }
    }

    /// A call of the API: the status and the JSON of the answer.
    pub async fn call(&self, method: &str, path: &str, body: Value) -> (u16, Value) {
        let (status, _, json) = self.tagged(method, path, None, body).await;
        (status, json)
    }

    /// The same for one version; the answer's version with it.
    pub async fn tagged(
        &self,
        method: &str,
        path: &str,
        version: Option<&str>,
        body: Value,
    ) -> (u16, String, Value) {
        let mut headers = vec![("authorization", self.authorization.as_str())];
        if let Some(version) = version {
            headers.push(("if-match", version));
        }
        let body = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
        if !body.is_empty() {
            headers.push(("content-type", "application/json"));
        }
        let mut connection = Connection::to(self.console).await;
        let answer = connection.request(&format!("{method} /api/v1{path}"), &headers, &body).await;
        let tag = answer.headers.get("etag").cloned().unwrap_or_default();
        (answer.status, tag, serde_json::from_slice(&answer.body).unwrap_or(Value::Null))
    }

    /// A call that must succeed.
    ///
    /// # Panics
    /// When it does not.
    pub async fn done(&self, method: &str, path: &str, body: Value) -> Value {
        let (status, json) = self.call(method, path, body).await;
        assert!((200..300).contains(&status), "{method} {path}: {status} {json}");
        json
    }

    /// Reads until it is as it must be.
    pub async fn when(&self, what: &str, path: &str, holds: impl Fn(&Value) -> bool) -> Value {
        let mut last = Value::Null;
        let holds = async {
            loop {
                let (status, json) = self.call("GET", path, Value::Null).await;
                if status == 200 && holds(&json) {
                    return json;
                }
                last = json;
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        match tokio::time::timeout(DEADLINE, holds).await {
            Ok(json) => json,
            Err(_) => panic!("waited {DEADLINE:?} for {what}; {path} is {last}"),
        }
    }
}
