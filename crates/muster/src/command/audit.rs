//! `muster audit`: who changed what, as a table or as a file of all entries. What an entry says is in `api::audit`.

use std::io::{self, Write};

use api::ClientError;
use api::audit::{AuditFilter, AuditItem, AuditPage};

use super::runtime;
use crate::cli::access::{AuditArgs, ExportFormat};
use crate::context::client;
use crate::failure::{Code, Failure};
use crate::output::{self, safe};

/// Entries that are asked for at once.
const PAGE: u32 = 500;

/// Lists the audit trail, or prints it as a file.
pub(crate) fn audit(args: AuditArgs, debug: bool) -> Result<(), Failure> {
    let AuditArgs { actor, action, object, since, until, limit, export, output, connection } = args;
    let filter = AuditFilter { actor, action, object, since, until };
    let client = client(&connection, debug)?;
    runtime()?.block_on(async {
        match export {
            Some(format) => print(&client, &filter, format).await,
            None => {
                let page = read(&client, &filter, limit).await?;
                let table = || {
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
    let json = |value: &Option<serde_json::Value>| {
        value.as_ref().map_or(String::new(), |value| safe(&value.to_string()))
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
            Err(error) => Err(Stop::Failed(Failure::new(Code::Failed, format!("cannot print: {error}")))),
        }
    };
    match client.export_audit(filter, format, write).await {
        Ok(()) | Err(Stop::Gone) => Ok(()),
        Err(Stop::Failed(failure)) => Err(failure),
    }
}
