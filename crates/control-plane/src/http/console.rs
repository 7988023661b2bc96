//! The console: files that were built into the binary. A path that is no file is a page of the single-page
//! application. Without a built console a placeholder says how to make one.

use std::borrow::Cow;

use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use rust_embed::{EmbeddedFile, RustEmbed};

use super::problem::ApiError;

#[derive(RustEmbed)]
#[folder = "$CARGO_MANIFEST_DIR/../../console/dist"]
#[allow_missing = true]
struct Files;

const PLACEHOLDER: &str = "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Muster</title></head>\n\
    <body><h1>Muster</h1><p>This binary was built without its console. Run <code>make console</code> and build \
    again. The API under <code>/api/v1</code> and the command line work.</p></body></html>\n";

/// Whatever is not the API's.
pub(super) async fn serve(method: Method, uri: Uri, headers: HeaderMap) -> Response {
    let path = uri.path().trim_start_matches('/');
    // Whoever asks for the API is a program, which a page would only confuse.
    if path.split('/').next().is_some_and(|first| first.eq_ignore_ascii_case("api")) {
        return ApiError::not_found(format!("there is no resource {}", uri.path())).into_response();
    }
    if !matches!(method, Method::GET | Method::HEAD) {
        return ApiError::method_not_allowed().into_response();
    }
    if let Some(found) = (!path.is_empty()).then(|| Files::get(path)).flatten() {
        return file(path, found, &headers);
    }
    if path.starts_with("assets/") {
        // A page of an older build asks for a file that is gone: a page instead would only confuse it.
        return ApiError::not_found(format!("there is no file {}", uri.path())).into_response();
    }
    match Files::get("index.html") {
        Some(index) => file("index.html", index, &headers),
        None => html(Cow::Borrowed(PLACEHOLDER.as_bytes())),
    }
}

fn html(body: Cow<'static, [u8]>) -> Response {
    ([(header::CONTENT_TYPE, "text/html; charset=utf-8")], Bytes::from_owner(body)).into_response()
}

fn file(path: &str, found: EmbeddedFile, headers: &HeaderMap) -> Response {
    let tag = format!("\"{}\"", hex::encode(&found.metadata.sha256_hash()[..16]));
    let keep = match path.starts_with("assets/") {
        // Vite puts a hash of the content into these names.
        true => "public, max-age=31536000, immutable",
        false => "no-cache",
    };
    let is_known = headers
        .get_all(header::IF_NONE_MATCH)
        .into_iter()
        .filter_map(|value| value.to_str().ok())
        .any(|list| {
            list.split(',').any(|known| known.trim().trim_start_matches("W/") == tag || known.trim() == "*")
        });
    let mut response = match is_known {
        true => StatusCode::NOT_MODIFIED.into_response(),
        false => Response::new(Body::from(Bytes::from_owner(found.data))),
    };
    let answer = response.headers_mut();
    answer.insert(header::CACHE_CONTROL, HeaderValue::from_static(keep));
    if let Ok(tag) = HeaderValue::try_from(tag) {
        answer.insert(header::ETAG, tag);
    }
    answer.insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type(path)));
    response
}

fn media_type(path: &str) -> &'static str {
    match path.rsplit_once('.').map(|(_, extension)| extension) {
        Some("html") => "text/html; charset=utf-8",
        Some("js" | "mjs") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        Some("png") => "image/png",
        Some("ico") => "image/x-icon",
        Some("json" | "map") => "application/json",
        Some("webmanifest") => "application/manifest+json",
        Some("woff2") => "font/woff2",
        Some("txt") => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}
