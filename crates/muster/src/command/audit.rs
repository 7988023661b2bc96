//! `muster audit`: who changed what, as a table or as a file of all entries. What an entry says is in `api::audit`.

use std::io::{self, Write};
use std::time::SystemTime;

use api::ClientError;
use api::audit::{AuditFilter, AuditItem, AuditPage};
use serde_json::Value;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use super::runtime;
use crate::cli::Global;
use crate::cli::access::{AuditArgs, ExportFormat};
use crate::context::client;
use crate::failure::{Failure, Kind};
use crate::output::{self, safe};

/// Entries that are asked for at once.
const PAGE: u32 = 500;

/// Lists the audit trail, or prints it as a file.
pub(crate) fn audit(args: AuditArgs, global: &Global) -> Result<(), Failure> {
    let AuditArgs { actor, action, object, since, until, limit, export, output, connection } = args;
    let now = SystemTime::now();
    let since = since.map(|text| moment("since", &text, now)).transpose()?;
    let until = until.map(|text| moment("until", &text, now)).transpose()?;
    let filter = AuditFilter { actor, action, object, since, until };
    let client = client(&connection, global)?;
    runtime()?.block_on(async {
        match export {
            Some(format) => print(&client, &filter, format).await,
            None => {
                let page = read(&client, &filter, limit).await?;
                let table = || {
                    if page.items.is_empty() {
                        return "No entry of the audit trail matches.".to_owned();
                    }
                    let head = ["at", "actor", "address", "action", "object", "before", "after"];
                    output::table(&head, page.items.iter().map(row))
                };
                output::value(output.format, &page, table, || {
                    page.items.iter().map(|item| item.id.clone()).collect()
                })
            }
        }
    })
}

/// A moment as the API takes it, from one that is written out or from how long ago it was.
pub(super) fn moment(flag: &str, text: &str, now: SystemTime) -> Result<String, Failure> {
    if let Some(ago) = control_plane::config::parse_duration(text) {
        let then = OffsetDateTime::from(now).checked_sub(ago.try_into().unwrap_or(time::Duration::ZERO));
        let then =
            then.and_then(|then| then.replace_nanosecond(0).ok()).and_then(|then| then.format(&Rfc3339).ok());
        return then.ok_or_else(|| Failure::usage(format!("--{flag}: {text} is too long ago")));
    }
    match OffsetDateTime::parse(text, &Rfc3339) {
        Ok(_) => Ok(text.to_owned()),
        Err(_) => Err(Failure::usage(format!("--{flag}: {text:?} is no moment"))
            .hint("Write how long ago (30m, 2h, 7d), or a moment such as 2026-11-30T03:04:05Z.")),
    }
}

/// As many pages as it takes.
async fn read(client: &api::Client, filter: &AuditFilter, limit: u32) -> Result<AuditPage, ClientError> {
    let mut all = client.audit(filter, limit.min(PAGE), None).await?;
    loop {
        let missing = limit.saturating_sub(u32::try_from(all.items.len()).unwrap_or(u32::MAX));
        let (Some(cursor), 1..) = (&all.next_cursor, missing) else { return Ok(all) };
        let next = client.audit(filter, missing.min(PAGE), Some(cursor)).await?;
        all.items.extend(next.items);
        all.next_cursor = next.next_cursor;
    }
}

fn row(item: &AuditItem) -> Vec<String> {
    let json = |value: &Option<Value>| {
        value.as_ref().map_or(String::new(), |value| safe(&with_times(value).to_string()))
    };
    vec![
        item.at.clone(),
        safe(&item.actor.name),
        safe(&item.address),
        safe(&item.action),
        safe(&item.object),
        json(&item.before),
        json(&item.after),
    ]
}

/// The same for people: moments are stored in milliseconds, and shown as times.
fn with_times(value: &Value) -> Value {
    let Value::Object(fields) = value else { return value.clone() };
    let shown = fields.iter().map(|(name, value)| {
        let at = value.as_u64().filter(|at| name.ends_with("_at") && *at > 0);
        let time = at.and_then(|at| OffsetDateTime::from_unix_timestamp(i64::try_from(at / 1000).ok()?).ok());
        let shown = time.and_then(|time| time.format(&Rfc3339).ok());
        (name.clone(), shown.map_or_else(|| value.clone(), Value::String))
    });
    Value::Object(shown.collect())
}

/// A reader that went away (`| head`) ends it without an error.
enum Stop {
    Gone,
    Failed(Failure),
}

impl From<ClientError> for Stop {
    fn from(error: ClientError) -> Self {
        Self::Failed(error.into())
    }
}

async fn print(client: &api::Client, filter: &AuditFilter, format: ExportFormat) -> Result<(), Failure> {
    let format = match format {
        ExportFormat::Csv => "csv",
        ExportFormat::Ndjson => "ndjson",
    };
    let write = |piece: &[u8]| {
        let mut out = io::stdout().lock();
        match out.write_all(piece).and_then(|()| out.flush()) {
            Ok(()) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Err(Stop::Gone),
            Err(error) => Err(Stop::Failed(Failure::new(Kind::Failed, format!("cannot print: {error}")))),
        }
    };
    match client.export_audit(filter, format, write).await {
        Ok(()) | Err(Stop::Gone) => Ok(()),
        Err(Stop::Failed(failure)) => Err(failure),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn moments_in_an_entry_are_times_and_other_numbers_stay() {
        let entry =
            serde_json::json!({"expires_at": 1_764_471_845_000_u64, "priority": 10, "revoked_at": null});
        let shown =
            serde_json::json!({"expires_at": "2025-11-30T03:04:05Z", "priority": 10, "revoked_at": null});
        assert_eq!(with_times(&entry), shown);
    }

    #[test]
    fn a_moment_is_written_out_or_so_long_ago() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(10 * 86_400);
        let read = |text| moment("since", text, now).map_err(|failure| failure.to_string());
        assert_eq!(read("30m").as_deref(), Ok("1970-01-10T23:30:00Z"));
        assert_eq!(read("2h").as_deref(), Ok("1970-01-10T22:00:00Z"));
        assert_eq!(read("7d").as_deref(), Ok("1970-01-04T00:00:00Z"));
        assert_eq!(read("2026-11-30T03:04:05+01:00").as_deref(), Ok("2026-11-30T03:04:05+01:00"));
        assert_eq!(read("yesterday"), Err("--since: \"yesterday\" is no moment".to_owned()));
    }
}
