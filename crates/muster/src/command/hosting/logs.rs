//! `muster logs`: what replicas print, the last lines or all that come.

mod follow;
mod line;

use std::collections::BTreeSet;

use api::client::LogQuery;
use api::services::{Logs, Service};
use api::{Client, ClientError};

use self::line::Printer;
use crate::cli::{Global, LogsArgs};
use crate::command::audit::moment;
use crate::command::runtime;
use crate::context::client;
use crate::failure::{Failure, Kind};
use crate::output::{self, safe};

/// What is asked for: a project, and perhaps only one service of it.
struct Wanted<'a> {
    project: &'a str,
    service: Option<&'a str>,
    query: LogQuery,
}

impl Wanted<'_> {
    /// The services as they are now.
    async fn services(&self, client: &Client) -> Result<Vec<Service>, ClientError> {
        match self.service {
            Some(name) => Ok(vec![client.service(self.project, name).await?]),
            None => Ok(client.services(Some(self.project)).await?.items),
        }
    }
}

/// Shows what replicas print.
pub(crate) fn logs(args: &LogsArgs, global: &Global) -> Result<(), Failure> {
    runtime()?.block_on(async {
        let wanted = wanted(args)?;
        let client = client(&args.connection, global)?;
        let mut printer = Printer::new(args.output.format, args.timestamps);
        match args.follow {
            true => follow::follow(&client, wanted, args.tail, &mut printer).await,
            false => last(&client, &wanted, args.tail, &mut printer).await,
        }
    })
}

fn wanted(args: &LogsArgs) -> Result<Wanted<'_>, Failure> {
    let (project, service) = match args.what.split_once('/') {
        Some((project, service)) => (project, Some(service)),
        None => (args.what.as_str(), None),
    };
    if project.is_empty() || service.is_some_and(|name| name.is_empty() || name.contains('/')) {
        return Err(Failure::usage(format!("{:?} is neither PROJECT nor PROJECT/SERVICE", args.what)));
    }
    let now = std::time::SystemTime::now();
    let since = args.since.as_deref().map(|text| moment("since", text, now)).transpose()?;
    let limit = Some(args.tail.max(1));
    Ok(Wanted {
        project,
        service,
        query: LogQuery { replica: args.replica, limit, since, contains: args.contains.clone() },
    })
}

/// The last lines of all services in order of time.
async fn last(client: &Client, wanted: &Wanted<'_>, tail: u32, printer: &mut Printer) -> Result<(), Failure> {
    let mut all = Logs { items: Vec::new(), missing: Vec::new() };
    let services = wanted.services(client).await?;
    none_such(wanted, &services)?;
    for service in services {
        let found = client.logs(wanted.project, &service.name, &wanted.query).await?;
        let missing =
            found.missing.into_iter().filter(|text| !all.missing.contains(text)).collect::<Vec<_>>();
        all.missing.extend(missing);
        all.items.extend(found.items);
    }
    all.items.sort_by(|one, other| one.at.cmp(&other.at));
    let surplus = all.items.len().saturating_sub(usize::try_from(tail).unwrap_or(usize::MAX));
    if wanted.service.is_some() {
        all.items.drain(..surplus);
    }
    all.missing.iter().for_each(|text| output::warning(&safe(text)));
    printer.whole(&all)
}

/// A replica that is not there prints nothing; those that there are are said.
fn none_such(wanted: &Wanted<'_>, services: &[Service]) -> Result<(), Failure> {
    let Some(number) = wanted.query.replica else { return Ok(()) };
    let there: BTreeSet<u32> = services.iter().flat_map(|it| &it.replicas).map(|it| it.number).collect();
    if there.contains(&number) {
        return Ok(());
    }
    let what = match wanted.service {
        Some(name) => format!("{}/{}", safe(wanted.project), safe(name)),
        None => safe(wanted.project),
    };
    let failure = Failure::new(Kind::NotFound, format!("{what} has no replica {number}"));
    let numbers: Vec<String> = there.iter().map(u32::to_string).collect();
    Err(match numbers.is_empty() {
        true => failure.hint("It has none at all."),
        false => failure.hint(format!("There are: {}", numbers.join(", "))),
    })
}

/// Nothing is there to be shown, and nothing will be.
fn nothing(wanted: &Wanted<'_>) -> Failure {
    Failure::new(Kind::NotFound, format!("project {} has no services", safe(wanted.project)))
}
