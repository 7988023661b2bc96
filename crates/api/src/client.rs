//! The typed client that the CLI and the tests use. It knows routes and shapes; what trust means is in
//! [`trust`]. Every error says whether the server answered, could not be reached or could not be trusted.

mod access;
mod assignments;
mod configs;
mod hosting;
mod labels;
mod mask;
mod path;
mod trust;

use std::fmt;
use std::net::SocketAddr;
use std::time::Duration;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::{Method, RequestBuilder};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::agents::{AgentDetail, AgentPage, AgentQuery};
use crate::history::{Messages, Timeline};
use crate::overview::Overview;
use crate::problem::Problem;
use crate::session::{Login, Session};
use crate::tokens::{CreatedToken, NewToken, TokenList};

pub use hosting::{LogEvent, LogQuery, LogStream};
use mask::masked;
pub(crate) use path::{path_part, with_query};
pub use trust::{Trust, presented_keys};

/// Called with one line per request and per answer; secrets are masked before.
pub type Trace = fn(&str);

/// A server's API under one URL.
#[derive(Clone)]
pub struct Client {
    http: reqwest::Client,
    base: String,
    token: Option<String>,
    credential: Option<Credential>,
    trace: Option<Trace>,
}

/// Where a client's token is from, for people whose token is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Credential {
    /// What it is called, such as `the token in MUSTER_TOKEN`.
    pub name: String,
    /// What to do when the server does not accept it.
    pub advice: String,
}

/// Why a call has no result.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The server answered with a problem.
    #[error("{}", .0.detail)]
    Problem(Box<Problem>),
    /// The server does not accept the token that was sent.
    #[error("{url} does not accept {name}: it is wrong, has expired or was revoked")]
    Credential {
        /// The server's URL.
        url: String,
        /// What the token is called.
        name: String,
        /// What to do.
        advice: String,
    },
    /// No connection, or it broke. Worth a retry.
    #[error("cannot reach {url}: {reason}")]
    Unreachable {
        /// What was asked for.
        url: String,
        /// The innermost cause in words.
        reason: String,
    },
    /// The server's certificate is not one that we trust.
    #[error("the certificate of {url} is not trusted: {reason}")]
    Untrusted {
        /// What was asked for.
        url: String,
        /// What TLS said.
        reason: String,
    },
    /// Something answered that is no Muster server, or a much newer one.
    #[error("{url} answered something unexpected: {reason}")]
    Unexpected {
        /// What was asked for.
        url: String,
        /// What was wrong with the answer.
        reason: String,
    },
    /// The URL is none, its scheme is neither http nor https, or it holds a user.
    #[error("{0:?} is no URL of a server (http://… or https://…, without a user)")]
    Url(String),
}

impl ClientError {
    /// The HTTP status, if the server answered.
    pub fn status(&self) -> Option<u16> {
        match self {
            Self::Problem(problem) => Some(problem.status),
            Self::Credential { .. } => Some(401),
            _ => None,
        }
    }
}

/// An answer with what stands around its body.
#[derive(Debug, Clone)]
pub struct Answer<T> {
    /// The HTTP status.
    pub status: u16,
    /// The version of what it shows, for `if_match` of a later change.
    pub tag: Option<String>,
    /// The body.
    pub value: T,
}

/// How reqwest gets addresses: see [`names`].
#[derive(Debug)]
struct Names;

impl Resolve for Names {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move {
            let found = names::addresses(name.as_str()).await?;
            // The port is that of the URL.
            Ok(Box::new(found.into_iter().map(|address| SocketAddr::new(address, 0))) as Addrs)
        })
    }
}

/// A stream of hints. Who hears one reads again what it shows.
#[derive(Debug)]
pub struct Hints(reqwest::Response);

impl Hints {
    /// Waits until something changed; `false`: the stream ended. Signs of life are passed over.
    pub async fn changed(&mut self) -> bool {
        while let Ok(Some(piece)) = self.0.chunk().await {
            if piece.windows(6).any(|window| window == b"event:") {
                return true;
            }
        }
        false
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("base", &self.base).finish_non_exhaustive()
    }
}

impl Client {
    /// A client for the server at `base` (scheme, host, port). `token` is sent as a bearer token.
    pub fn new(base: &str, trust: &Trust, token: Option<String>) -> Result<Self, ClientError> {
        let wrong = || ClientError::Url(crate::without_user(base));
        let url = reqwest::Url::parse(base).map_err(|_| wrong())?;
        let has_user = !url.username().is_empty() || url.password().is_some();
        if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() || has_user {
            return Err(wrong());
        }
        // The system's roots are read by code that asks for the process's provider. Whoever chose one before wins.
        let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
        let builder = reqwest::Client::builder()
            .dns_resolver(Names)
            .connect_timeout(Duration::from_secs(10))
            .redirect(reqwest::redirect::Policy::none());
        let builder = match trust.tls().map_err(|e| unreachable(base, &e))? {
            Some(tls) => builder.tls_backend_preconfigured(tls),
            None => builder,
        };
        let http = builder.build().map_err(|e| unreachable(base, &e))?;
        Ok(Self { http, base: base.trim_end_matches('/').to_owned(), token, credential: None, trace: None })
    }

    /// Tells every request and answer to `trace`.
    #[must_use]
    pub fn with_trace(mut self, trace: Option<Trace>) -> Self {
        self.trace = trace;
        self
    }

    /// The same server with another token.
    #[must_use]
    pub fn with_token(mut self, token: Option<String>) -> Self {
        self.token = token;
        self
    }

    /// Names the token, so that an error can say which one was refused.
    #[must_use]
    pub fn with_credential(mut self, credential: Option<Credential>) -> Self {
        self.credential = credential;
        self
    }

    /// The server's URL without a final slash.
    pub fn base(&self) -> &str {
        &self.base
    }

    /// `POST /session`.
    pub async fn login(&self, login: &Login) -> Result<Session, ClientError> {
        self.send(Method::POST, "/session", Some(login)).await
    }

    /// `GET /session`.
    pub async fn session(&self) -> Result<Session, ClientError> {
        self.get("/session").await
    }

    /// `DELETE /session`.
    pub async fn logout(&self) -> Result<(), ClientError> {
        self.delete("/session").await
    }

    /// What time it is there, from the headers of `GET /healthz`; to the second.
    pub async fn clock(&self) -> Result<std::time::SystemTime, ClientError> {
        self.tell(|| format!("> GET {}/healthz", self.base));
        let request = self.http.get(format!("{}/healthz", self.base)).timeout(Duration::from_secs(10));
        let response = request.send().await.map_err(|error| unreachable(&self.base, &error))?;
        let date = response.headers().get("date").and_then(|date| date.to_str().ok());
        date.and_then(|date| httpdate::parse_http_date(date).ok()).ok_or_else(|| ClientError::Unexpected {
            url: self.base.clone(),
            reason: "it does not say what time it is".to_owned(),
        })
    }

    /// `GET /overview`.
    pub async fn overview(&self) -> Result<Overview, ClientError> {
        self.get("/overview").await
    }

    /// `GET /agents`.
    pub async fn agents(&self, query: &AgentQuery) -> Result<AgentPage, ClientError> {
        let path = match query.to_query_string() {
            text if text.is_empty() => "/agents".to_owned(),
            text => format!("/agents?{text}"),
        };
        self.get(&path).await
    }

    /// `GET /agents/{uid}`.
    pub async fn agent(&self, uid: &str) -> Result<AgentDetail, ClientError> {
        self.get(&format!("/agents/{}", path_part(uid))).await
    }

    /// `GET /agents/{uid}/timeline`.
    pub async fn timeline(&self, uid: &str) -> Result<Timeline, ClientError> {
        self.get(&format!("/agents/{}/timeline", path_part(uid))).await
    }

    /// `GET /agents/{uid}/messages`.
    pub async fn messages(&self, uid: &str) -> Result<Messages, ClientError> {
        self.get(&format!("/agents/{}/messages", path_part(uid))).await
    }

    /// `DELETE /agents/{uid}`.
    pub async fn forget_agent(&self, uid: &str) -> Result<(), ClientError> {
        self.delete(&format!("/agents/{}", path_part(uid))).await
    }

    /// `GET /tokens`.
    pub async fn tokens(&self) -> Result<TokenList, ClientError> {
        self.get("/tokens").await
    }

    /// `POST /tokens`.
    pub async fn create_token(&self, token: &NewToken) -> Result<CreatedToken, ClientError> {
        self.send(Method::POST, "/tokens", Some(token)).await
    }

    /// `DELETE /tokens/{id}`.
    pub async fn revoke_token(&self, id: &str) -> Result<(), ClientError> {
        self.delete(&format!("/tokens/{}", path_part(id))).await
    }

    /// `GET /events`: hints of what changed.
    pub async fn events(&self) -> Result<Hints, ClientError> {
        let request = self.request(Method::GET, "/events").header("accept", "text/event-stream");
        self.answer("/events", request).await.map(Hints)
    }

    fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.tell(|| format!("> {method} {}/api/v1{path}", self.base));
        let request = self.http.request(method, format!("{}/api/v1{path}", self.base));
        match &self.token {
            Some(token) => {
                self.tell(|| "> authorization: Bearer ***".to_owned());
                request.bearer_auth(token)
            }
            None => request,
        }
    }

    async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, ClientError> {
        self.send(Method::GET, path, None::<&()>).await
    }

    async fn send<B: Serialize, T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: Option<&B>,
    ) -> Result<T, ClientError> {
        let request = self.request(method, path).timeout(Duration::from_secs(60));
        let request = match body {
            Some(body) => {
                self.tell(|| format!("> {}", masked(&serde_json::to_string(body).unwrap_or_default())));
                request.json(body)
            }
            None => request,
        };
        self.read(path, request).await
    }

    /// A call whose answer is more than its body.
    async fn exchange<B: Serialize, T: DeserializeOwned>(
        &self,
        (method, path): (Method, &str),
        if_match: Option<&str>,
        body: Option<&B>,
    ) -> Result<Answer<T>, ClientError> {
        let mut request = self.request(method, path).timeout(Duration::from_secs(60));
        if let Some(tag) = if_match {
            request = request.header("if-match", tag);
        }
        if let Some(body) = body {
            self.tell(|| format!("> {}", masked(&serde_json::to_string(body).unwrap_or_default())));
            request = request.json(body);
        }
        let response = self.answer(path, request).await?;
        let status = response.status().as_u16();
        let tag = response.headers().get("etag").and_then(|tag| tag.to_str().ok()).map(str::to_owned);
        let body = response.bytes().await.map_err(|e| unreachable(&self.base, &e))?;
        self.tell(|| format!("< {}", masked(&String::from_utf8_lossy(&body))));
        let text: &[u8] = if body.is_empty() { b"null" } else { &body };
        let value = serde_json::from_slice(text).map_err(|e| self.unexpected(path, e.to_string()))?;
        Ok(Answer { status, tag, value })
    }

    async fn delete(&self, path: &str) -> Result<(), ClientError> {
        let request = self.request(Method::DELETE, path).timeout(Duration::from_secs(60));
        self.answer(path, request).await.map(drop)
    }

    async fn read<T: DeserializeOwned>(&self, path: &str, request: RequestBuilder) -> Result<T, ClientError> {
        let response = self.answer(path, request).await?;
        let body = response.bytes().await.map_err(|e| unreachable(&self.base, &e))?;
        self.tell(|| format!("< {}", masked(&String::from_utf8_lossy(&body))));
        serde_json::from_slice(&body).map_err(|e| self.unexpected(path, e.to_string()))
    }

    async fn answer(&self, path: &str, request: RequestBuilder) -> Result<reqwest::Response, ClientError> {
        let response = request.send().await.map_err(|e| unreachable(&self.base, &e))?;
        let status = response.status();
        self.tell(|| format!("< {status}"));
        if status.is_success() {
            return Ok(response);
        }
        let body = response.bytes().await.map_err(|e| unreachable(&self.base, &e))?;
        self.tell(|| format!("< {}", masked(&String::from_utf8_lossy(&body))));
        match (serde_json::from_slice::<Problem>(&body), &self.credential) {
            (Ok(_), Some(Credential { name, advice })) if status.as_u16() == 401 => {
                let (name, advice) = (name.clone(), advice.clone());
                Err(ClientError::Credential { url: self.base.clone(), name, advice })
            }
            (Ok(problem), _) => Err(ClientError::Problem(Box::new(problem))),
            (Err(_), _) => {
                let reason = match words(&body) {
                    Some(words) => format!("HTTP {}: {words}", status.as_u16()),
                    None => format!("HTTP {status} without problem details"),
                };
                Err(self.unexpected(path, reason))
            }
        }
    }

    fn unexpected(&self, path: &str, reason: String) -> ClientError {
        ClientError::Unexpected { url: format!("{}/api/v1{path}", self.base), reason }
    }

    fn tell(&self, line: impl FnOnce() -> String) {
        if let Some(trace) = self.trace {
            trace(&line());
        }
    }
}

/// What something that is no Muster API says in a line of plain text, such as which scheme its port speaks.
fn words(body: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(body).ok()?.trim();
    let is_plain = !text.is_empty() && text.len() <= 200 && !text.contains(['<', '{']);
    (is_plain && !text.chars().any(char::is_control)).then_some(text)
}

fn unreachable(url: &str, error: &(dyn std::error::Error + 'static)) -> ClientError {
    let mut reason = String::new();
    match innermost(error, &mut reason) {
        Some(why) => ClientError::Untrusted { url: url.to_owned(), reason: why },
        None => ClientError::Unreachable { url: url.to_owned(), reason },
    }
}

/// Goes down to the cause that says most to people. If TLS does not trust a certificate on the way, says why.
fn innermost(error: &(dyn std::error::Error + 'static), reason: &mut String) -> Option<String> {
    if let Some(rustls::Error::InvalidCertificate(why)) = error.downcast_ref::<rustls::Error>() {
        return Some(why.to_string());
    }
    *reason = error.to_string();
    // An io::Error that wraps another error names that one's source as its own, and so would hide it.
    let wrapped = error.downcast_ref::<std::io::Error>().and_then(|io| io.get_ref());
    match wrapped {
        Some(inner) => innermost(inner, reason),
        None => innermost(error.source()?, reason),
    }
}
