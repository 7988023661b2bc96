//! /api/v1/audit: who changed what, as pages and as a file.

use api::audit::{AuditActor, AuditFilter, AuditItem, AuditPage};
use axum::Json;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use futures_util::Stream;
use model::{Role, UnixMillis};
use store::{AuditOrder, AuditQuery, AuditRecord, Store, StoreError};

use super::caller::Caller;
use super::context::Context;
use super::problem::ApiError;
use super::request::Parameters;
use crate::clock::{self, rfc3339};

const FILTER: [&str; 5] = ["actor", "action", "object", "since", "until"];
/// Longer texts are refused.
const MAX_TEXT: usize = 256;
/// Entries that are read at once for a file.
const PIECE: u32 = 500;

/// Lists entries of the audit trail, the newest first.
#[utoipa::path(get, path = "/audit", operation_id = "list_audit", tag = "access",
    params(AuditFilter,
        ("limit" = Option<u32>, Query, description = "1 to 500, 100 when absent."),
        ("cursor" = Option<String>, Query, description = "`next_cursor` of the page before.")),
    responses((status = OK, description = "A page of the trail.", body = AuditPage)))]
pub(super) async fn list(
    State(context): State<Context>,
    _: Caller,
    parameters: Parameters,
) -> Result<Json<AuditPage>, ApiError> {
    let parameters = parameters.only(&[&FILTER[..], &["limit", "cursor"]].concat())?;
    let query = query(&parameters)?;
    let limit = parameters
        .parse("limit", "a number from 1 to 500", |text| {
            text.parse::<u32>().ok().filter(|limit| (1..=500).contains(limit))
        })?
        .unwrap_or(100);
    let before =
        parameters.parse("cursor", "the next_cursor of the page before", |text| text.parse().ok())?;
    let order = AuditOrder::NewestBefore(before.unwrap_or(i64::MAX));
    let mut records = context.store.audit(query.clone(), order, limit + 1).await?;
    let total = context.store.audit_count(query).await?;
    let is_last = records.len() <= limit as usize;
    records.truncate(limit as usize);
    let next_cursor = records.last().filter(|_| !is_last).map(|record| record.id.to_string());
    Ok(Json(AuditPage { items: records.into_iter().map(item).collect(), next_cursor, total }))
}

/// Gives the audit trail as a file, the oldest first. For administrators.
#[utoipa::path(get, path = "/audit/export", operation_id = "export_audit", tag = "access",
    params(AuditFilter, ("format" = Option<String>, Query, description = "`csv` or `ndjson` (when absent).")),
    responses((status = OK, description = "All entries that match.", body = String,
        content_type = "application/x-ndjson")))]
pub(super) async fn export(
    State(context): State<Context>,
    caller: Caller,
    parameters: Parameters,
) -> Result<Response, ApiError> {
    caller.require(Role::Admin)?;
    let parameters = parameters.only(&[&FILTER[..], &["format"]].concat())?;
    let query = query(&parameters)?;
    let format = parameters.parse("format", "csv or ndjson", Format::parse)?.unwrap_or(Format::Lines);
    let (media, name) = match format {
        Format::Csv => ("text/csv; charset=utf-8; header=present", "audit.csv"),
        Format::Lines => ("application/x-ndjson", "audit.ndjson"),
    };
    let disposition = format!("attachment; filename=\"{name}\"");
    let pieces = pieces(context.store.clone(), query, format);
    let headers = [(header::CONTENT_TYPE, media.to_owned()), (header::CONTENT_DISPOSITION, disposition)];
    Ok((headers, Body::from_stream(pieces)).into_response())
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    Csv,
    Lines,
}

impl Format {
    fn parse(text: &str) -> Option<Self> {
        match text {
            "csv" => Some(Self::Csv),
            "ndjson" => Some(Self::Lines),
            _ => None,
        }
    }
}

/// The file in pieces, so that a long trail is never in memory as a whole.
fn pieces(store: Store, query: AuditQuery, format: Format) -> impl Stream<Item = Result<Bytes, StoreError>> {
    let head = match format {
        Format::Csv => "id,at,actor_kind,actor,address,action,object,before,after\r\n",
        Format::Lines => "",
    };
    let start = (Some(0), head.to_owned());
    futures_util::stream::unfold(start, move |(after, mut text)| {
        let (store, query) = (store.clone(), query.clone());
        async move {
            let records = match store.audit(query, AuditOrder::OldestAfter(after?), PIECE).await {
                Ok(records) => records,
                Err(error) => return Some((Err(error), (None, String::new()))),
            };
            let next = records.last().map(|record| record.id).filter(|_| records.len() == PIECE as usize);
            records.into_iter().for_each(|record| text.push_str(&line(item(record), format)));
            Some((Ok(Bytes::from(text)), (next, String::new())))
        }
    })
}

fn line(item: AuditItem, format: Format) -> String {
    match format {
        Format::Lines => serde_json::to_string(&item).unwrap_or_default() + "\n",
        Format::Csv => {
            let AuditItem { id, at, actor, address, action, object, before, after } = item;
            let json =
                |value: Option<serde_json::Value>| value.map_or(String::new(), |value| value.to_string());
            let fields = [id, at, actor.kind, actor.name, address, action, object, json(before), json(after)];
            fields.map(|field| csv(&field)).join(",") + "\r\n"
        }
    }
}

/// A field as RFC 4180 has it. One that a spreadsheet would take for a formula gets an apostrophe before it.
fn csv(field: &str) -> String {
    let guard = if field.starts_with(['=', '+', '-', '@', '\t', '\r']) { "'" } else { "" };
    let text = format!("{guard}{field}");
    if text.contains([',', '"', '\r', '\n']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text }
}

fn query(parameters: &Parameters) -> Result<AuditQuery, ApiError> {
    let text = |name: &str| match parameters.get(name) {
        Some(text) if text.len() > MAX_TEXT => {
            Err(ApiError::parameter(name, format!("{name} is longer than {MAX_TEXT} bytes")))
        }
        other => Ok(other.map(str::to_owned)),
    };
    let moment = |name: &str| {
        parameters.parse(name, "a moment such as 2026-11-30T03:04:05Z", |text| -> Option<UnixMillis> {
            clock::parse(text)
        })
    };
    Ok(AuditQuery {
        actor: text("actor")?,
        action: text("action")?,
        object: text("object")?,
        since: moment("since")?,
        until: moment("until")?,
    })
}

fn item(record: AuditRecord) -> AuditItem {
    let AuditRecord { id, at, actor_kind, actor, address, action, object, before, after } = record;
    AuditItem {
        id: id.to_string(),
        at: rfc3339(at),
        actor: AuditActor { kind: actor_kind, name: actor },
        address,
        action,
        object,
        before,
        after,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_is_quoted_where_it_must_be_and_is_no_formula() {
        assert_eq!(csv("user/admin"), "user/admin");
        assert_eq!(csv("a,\"b\"\n"), "\"a,\"\"b\"\"\n\"");
        assert_eq!(csv("=1+1"), "'=1+1");
        assert_eq!(csv("@SUM(1,2)"), "\"'@SUM(1,2)\"");
    }
}
