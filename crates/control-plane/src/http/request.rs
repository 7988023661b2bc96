//! What handlers ask of a request: from where it came, with which body and parameters; who sent it is in `caller`.
//! Whatever is wrong is answered with problem details.

use axum::body::Bytes;
use axum::extract::rejection::{BytesRejection, FailedToBufferBody};
use axum::extract::{ConnectInfo, FromRequest, FromRequestParts, Request};
use axum::http::{header, request::Parts};
use serde::de::DeserializeOwned;

use super::client_address::Client;
use super::context::Context;
use super::problem::ApiError;
use super::serve::PeerAddress;

/// The longest body that a resource takes.
pub(crate) const MAX_BODY: usize = 64 * 1024;
/// The longest body with the files of a configuration: they have up to 1 MiB, and JSON writes some of it longer.
const MAX_LARGE_BODY: usize = 4 * 1024 * 1024;

impl FromRequestParts<Context> for Client {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, context: &Context) -> Result<Self, ApiError> {
        let peer = parts.extensions.get::<ConnectInfo<PeerAddress>>().map(|info| info.0.0);
        let peer = peer.unwrap_or_else(|| ([0, 0, 0, 0], 0).into());
        Ok(context.proxies.client(peer, &parts.headers))
    }
}

/// The one variable part of a path.
pub(crate) struct PathPart(pub(crate) String);

impl<S: Send + Sync> FromRequestParts<S> for PathPart {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        match axum::extract::Path::from_request_parts(parts, state).await {
            Ok(axum::extract::Path(part)) => Ok(Self(part)),
            Err(rejection) => Err(ApiError::parameter("path", rejection.body_text())),
        }
    }
}

/// The variable parts of a path.
pub(crate) struct PathParts<T>(pub(crate) T);

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for PathParts<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        match axum::extract::Path::from_request_parts(parts, state).await {
            Ok(axum::extract::Path(parts)) => Ok(Self(parts)),
            Err(rejection) => Err(ApiError::parameter("path", rejection.body_text())),
        }
    }
}

/// A JSON body with files in it.
pub(crate) struct LargeBody<T>(pub(crate) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for LargeBody<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, _: &S) -> Result<Self, ApiError> {
        must_be_json(&request)?;
        let bytes = axum::body::to_bytes(request.into_body(), MAX_LARGE_BODY).await;
        let bytes = bytes.map_err(|_| ApiError::too_large(MAX_LARGE_BODY))?;
        serde_json::from_slice(&bytes).map(Self).map_err(|error| invalid(&error))
    }
}

/// The longest body with Compose files, secrets and configurations.
const MAX_HUGE_BODY: usize = 16 * 1024 * 1024;

/// A JSON body with a whole project in it.
pub(crate) struct HugeBody<T>(pub(crate) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for HugeBody<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, _: &S) -> Result<Self, ApiError> {
        must_be_json(&request)?;
        let bytes = axum::body::to_bytes(request.into_body(), MAX_HUGE_BODY).await;
        let bytes = bytes.map_err(|_| ApiError::too_large(MAX_HUGE_BODY))?;
        serde_json::from_slice(&bytes).map(Self).map_err(|error| invalid(&error))
    }
}

fn must_be_json(request: &Request) -> Result<(), ApiError> {
    let media = request.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let media = media.and_then(|value| value.split(';').next()).unwrap_or_default().trim();
    match media.eq_ignore_ascii_case("application/json") {
        true => Ok(()),
        false => Err(ApiError::not_json()),
    }
}

/// A JSON body.
pub(crate) struct Body<T>(pub(crate) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for Body<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &S) -> Result<Self, ApiError> {
        must_be_json(&request)?;
        let bytes = Bytes::from_request(request, state).await.map_err(|rejection| match rejection {
            BytesRejection::FailedToBufferBody(FailedToBufferBody::LengthLimitError(_)) => {
                ApiError::too_large(MAX_BODY)
            }
            other => ApiError::malformed(format!("the body could not be read: {other}")),
        })?;
        serde_json::from_slice(&bytes).map(Self).map_err(|error| invalid(&error))
    }
}

fn invalid(error: &serde_json::Error) -> ApiError {
    let text = error.to_string();
    match error.classify() {
        serde_json::error::Category::Data => ApiError::unprocessable(named_field(&text), text),
        _ => ApiError::malformed(format!("the body is no JSON: {text}")),
    }
}

/// serde names a field in backticks where one is missing or unknown.
fn named_field(text: &str) -> Option<String> {
    let about_a_field = text.starts_with("missing field") || text.starts_with("unknown field");
    about_a_field.then(|| text.split('`').nth(1).map(str::to_owned)).flatten()
}

/// Longest label, in characters.
const MAX_LABEL: usize = 100;

/// A name that someone gives to a thing, in the field `field` of a body: see [`model::name::label`].
pub(crate) fn label(field: &str, text: &str) -> Result<String, ApiError> {
    let refused = |error: model::name::InvalidLabel| {
        ApiError::unprocessable(Some(field.to_owned()), format!("{field} {error}"))
    };
    model::name::label(text, MAX_LABEL).map(str::to_owned).map_err(refused)
}

/// The query parameters, each with its name. Unknown and repeated ones are refused by whoever reads them.
pub(crate) struct Parameters(Vec<(String, String)>);

impl<S: Send + Sync> FromRequestParts<S> for Parameters {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        let pairs = axum::extract::Query::<Vec<(String, String)>>::try_from_uri(&parts.uri);
        let pairs = pairs.map_err(|error| ApiError::parameter("query", error.to_string()))?;
        Ok(Self(pairs.0))
    }
}

impl Parameters {
    /// Refuses parameters that are not among `known`, and those that occur twice.
    pub(crate) fn only(self, known: &[&str]) -> Result<Self, ApiError> {
        for (place, (name, _)) in self.0.iter().enumerate() {
            if !known.contains(&name.as_str()) {
                let name: String = name.chars().take(64).collect();
                let detail = format!("there is no parameter {name:?}, there are: {}", known.join(", "));
                return Err(ApiError::parameter(name, detail));
            }
            if self.0[..place].iter().any(|(earlier, _)| earlier == name) {
                return Err(ApiError::parameter(name, format!("{name} is given twice")));
            }
        }
        Ok(self)
    }

    /// The value of a parameter; an empty one counts as not given.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        let (_, value) = self.0.iter().find(|(candidate, _)| candidate == name)?;
        (!value.is_empty()).then_some(value)
    }

    /// How many items a page has.
    pub(crate) fn limit(&self) -> Result<u32, ApiError> {
        let read = |text: &str| text.parse().ok().filter(|limit| (1..=500).contains(limit));
        Ok(self.parse("limit", "a number from 1 to 500", read)?.unwrap_or(100))
    }

    /// The value of a parameter as another type; `words` says what it may be.
    pub(crate) fn parse<T>(
        &self,
        name: &str,
        words: &str,
        read: impl FnOnce(&str) -> Option<T>,
    ) -> Result<Option<T>, ApiError> {
        let Some(text) = self.get(name) else { return Ok(None) };
        let wrong = || {
            let text: String = text.chars().take(64).collect();
            ApiError::parameter(name, format!("{name} is {text:?}, it must be {words}"))
        };
        read(text).map(Some).ok_or_else(wrong)
    }
}
