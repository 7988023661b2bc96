//! The API's description in OpenAPI 3.1. It is made from the handlers and types that the router serves, so it cannot
//! say anything else; docs/api/openapi.json is a copy that a test keeps fresh.

use api::Problem;
use axum::Extension;
use axum::body::Bytes;
use axum::http::header;
use axum::response::IntoResponse;
use utoipa::openapi::path::{HttpMethod, Operation, Parameter, ParameterBuilder, ParameterIn, PathItem};
use utoipa::openapi::schema::{ObjectBuilder, Type};
use utoipa::openapi::security::{ApiKey, ApiKeyValue, HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::openapi::{ContentBuilder, OpenApi as Document, Ref, ResponseBuilder, SecurityRequirement};
use utoipa::{OpenApi, ToSchema};

use super::idempotency::KEY;
use super::preconditions::VERSIONED;
use crate::auth::{COOKIE, CSRF_HEADER};

/// Where the API is.
pub(super) const BASE: &str = "/api/v1";

#[derive(OpenApi)]
#[openapi(
    info(
        title = "Muster",
        version = "1",
        description = "The control plane's API. Times are RFC 3339 in UTC with milliseconds. Every error is a problem \
            (RFC 9457). Fields are added, never renamed.",
        license(name = "Apache-2.0", identifier = "Apache-2.0")
    ),
    components(schemas(Problem)),
    tags(
        (name = "access", description = "Who may do what: sessions and enrolment tokens."),
        (name = "agents", description = "The inventory."),
        (name = "server", description = "The server itself.")
    )
)]
struct Frame;

/// What the document says before any route is added.
pub(super) fn frame() -> Document {
    let mut document = Frame::openapi();
    let components = document.components.get_or_insert_default();
    let bearer = HttpBuilder::new().scheme(HttpAuthScheme::Bearer);
    let bearer = bearer.description(Some("A session's token (muster login) or an API token."));
    components.add_security_scheme("bearer", SecurityScheme::Http(bearer.build()));
    let cookie = format!("The console's cookie. A write needs the header {CSRF_HEADER} too.");
    let cookie = ApiKey::Cookie(ApiKeyValue::with_description(COOKIE, &cookie));
    components.add_security_scheme("cookie", SecurityScheme::ApiKey(cookie));
    let either = |name| SecurityRequirement::new::<_, [&str; 0], &str>(name, []);
    document.security = Some(vec![either("bearer"), either("cookie")]);
    document
}

/// Adds what is true of every operation.
pub(super) fn complete(mut document: Document) -> Document {
    for item in document.paths.paths.values_mut() {
        for (method, operation) in operations(item) {
            // A login has no caller yet whose key it could be.
            if method == HttpMethod::Post && operation.operation_id.as_deref() != Some("log_in") {
                operation.parameters.get_or_insert_default().push(key().into());
            }
            if operation.operation_id.as_deref().is_some_and(|id| VERSIONED.contains(&id)) {
                operation.parameters.get_or_insert_default().push(version().into());
            }
            let content = ContentBuilder::new().schema(Some(Ref::from_schema_name(Problem::name())));
            let problem = ResponseBuilder::new()
                .description("What went wrong.")
                .content(api::problem::CONTENT_TYPE, content.build());
            operation.responses.responses.insert("default".to_owned(), problem.build().into());
        }
    }
    document
}

fn version() -> Parameter {
    let text = ObjectBuilder::new().schema_type(Type::String);
    let told = "The ETag of the version that the change is meant for. 412 when there is another one.";
    ParameterBuilder::new()
        .name("if-match")
        .parameter_in(ParameterIn::Header)
        .description(Some(told))
        .schema(Some(text.build()))
        .build()
}

fn key() -> Parameter {
    let text = ObjectBuilder::new().schema_type(Type::String).min_length(Some(1)).max_length(Some(128));
    ParameterBuilder::new()
        .name(KEY)
        .parameter_in(ParameterIn::Header)
        .description(Some(
            "Sent again with the same key within a day, the request gets its first answer again.",
        ))
        .schema(Some(text.build()))
        .build()
}

/// The operations of a path, each with its method.
pub(super) fn operations(item: &mut PathItem) -> impl Iterator<Item = (HttpMethod, &mut Operation)> {
    let all = [
        (HttpMethod::Get, &mut item.get),
        (HttpMethod::Put, &mut item.put),
        (HttpMethod::Post, &mut item.post),
        (HttpMethod::Patch, &mut item.patch),
        (HttpMethod::Delete, &mut item.delete),
    ];
    all.into_iter().filter_map(|(method, operation)| Some((method, operation.as_mut()?)))
}

/// This document.
#[utoipa::path(get, path = "/openapi.json", operation_id = "describe_api", tag = "server", security(()),
    responses((status = OK, description = "This document.", body = serde_json::Value)))]
pub(super) async fn show(Extension(Text(document)): Extension<Text>) -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "application/json")], document)
}

/// The document as it is sent.
#[derive(Debug, Clone)]
pub(super) struct Text(Bytes);

impl Text {
    pub(super) fn of(document: &Document) -> Self {
        // Plain structs with text as keys always become JSON.
        Self(serde_json::to_vec(document).unwrap_or_default().into())
    }
}

#[cfg(test)]
mod tests {
    use super::super::router::document;

    /// Where the copy is, and how it is made anew.
    const COPY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/api/openapi.json");
    const WRITE: &str = "MUSTER_WRITE_OPENAPI";

    #[test]
    fn the_copy_in_the_documentation_is_what_the_router_serves() {
        let made = document().to_pretty_json().unwrap() + "\n";
        if std::env::var_os(WRITE).is_some() {
            std::fs::write(COPY, &made).unwrap();
        }
        let copy = std::fs::read_to_string(COPY).unwrap_or_default();
        assert!(
            copy == made,
            "docs/api/openapi.json is stale, run: {WRITE}=1 cargo nextest run -p control-plane openapi"
        );
    }

    #[test]
    fn every_operation_that_compares_versions_is_there() {
        let mut left: std::collections::BTreeSet<_> = super::VERSIONED.into();
        for mut item in document().paths.paths.into_values() {
            for (_, operation) in super::operations(&mut item) {
                left.remove(operation.operation_id.as_deref().unwrap());
            }
        }
        assert!(left.is_empty(), "{left:?}");
    }

    #[test]
    fn every_operation_has_a_name_of_its_own_a_tag_and_a_summary() {
        let mut names = std::collections::BTreeSet::new();
        for (path, mut item) in document().paths.paths {
            for (_, operation) in super::operations(&mut item) {
                let name = operation.operation_id.clone().unwrap();
                assert!(names.insert(name.clone()), "{name} is the name of two operations");
                assert!(operation.summary.is_some() && operation.tags.is_some(), "{name} of {path}");
            }
        }
    }
}
