//! Versions of resources on the wire: `ETag` on an answer, `If-Match` on a change. The store compares, in the
//! transaction of the change.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use store::Expected;

use super::problem::ApiError;

/// An answer with the version of what it shows.
pub(crate) struct Tagged<T>(pub(crate) u64, pub(crate) T);

impl<T: IntoResponse> IntoResponse for Tagged<T> {
    fn into_response(self) -> Response {
        let Self(version, inner) = self;
        let mut response = inner.into_response();
        if let Ok(tag) = HeaderValue::try_from(format!("\"{version}\"")) {
            response.headers_mut().insert(header::ETAG, tag);
        }
        response
    }
}

/// The versions that `If-Match` asks for; any when there is none. The store answers with
/// [`store::StoreError::Changed`] when it has another, which becomes 412 `changed-meanwhile`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct IfMatch(pub(crate) Expected);

impl<S: Send + Sync> FromRequestParts<S> for IfMatch {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        Ok(Self(expected(&parts.headers)))
    }
}

/// A tag that is none of ours, and a weak one, stands for a version that does not exist (RFC 9110, section 13.1.1).
fn expected(headers: &HeaderMap) -> Expected {
    let mut lines = headers.get_all(header::IF_MATCH).into_iter().peekable();
    if lines.peek().is_none() {
        return Expected::Any;
    }
    let tags = lines.flat_map(|line| line.to_str().unwrap_or_default().split(',')).map(str::trim);
    let mut versions = Vec::new();
    for tag in tags {
        if tag == "*" {
            return Expected::Any;
        }
        let number = tag.strip_prefix('"').and_then(|tag| tag.strip_suffix('"'));
        versions.extend(number.and_then(|number| number.parse::<u64>().ok()));
    }
    Expected::OneOf(versions)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(lines: &[&str]) -> Expected {
        let lines = lines.iter().map(|line| (header::IF_MATCH, line.parse().unwrap()));
        expected(&lines.collect())
    }

    #[test]
    fn a_change_is_for_the_versions_that_are_named_and_without_any_for_all() {
        assert_eq!(read(&[]), Expected::Any);
        assert_eq!(read(&["*"]), Expected::Any);
        assert_eq!(read(&["\"7\""]), Expected::OneOf(vec![7]));
        assert_eq!(read(&["\"7\", \"8\"", "\"9\""]), Expected::OneOf(vec![7, 8, 9]));
    }

    #[test]
    fn a_tag_that_is_none_of_ours_matches_nothing() {
        for junk in ["7", "W/\"7\"", "\"seven\"", "", "\""] {
            assert_eq!(read(&[junk]), Expected::OneOf(Vec::new()), "{junk}");
        }
    }
}
