//! `muster views`: the queries of the list of agents that were given a name. What they hold is in `api::views`.

use api::views::{NewView, View, ViewQuery};

use super::configs::known_config;
use super::runtime;
use crate::cli::{Global, ViewsArgs, ViewsCreate, ViewsList, ViewsRm, ViewsVerb};
use crate::context::client;
use crate::failure::{Failure, Kind};
use crate::output::{self, safe};

/// Lists, saves and removes views.
pub(crate) fn views(args: ViewsArgs, global: &Global) -> Result<(), Failure> {
    let runtime = runtime()?;
    match args.verb {
        ViewsVerb::List(args) => runtime.block_on(list(args, global)),
        ViewsVerb::Create(args) => runtime.block_on(create(args, global)),
        ViewsVerb::Rm(args) => runtime.block_on(rm(args, global)),
    }
}

async fn list(args: ViewsList, global: &Global) -> Result<(), Failure> {
    let views = client(&args.connection, global)?.views().await?;
    let table = || {
        if views.items.is_empty() {
            return "There is no view. Save one: muster views create NAME -l SELECTOR".to_owned();
        }
        let head = ["id", "name", "query", "created by", "created"];
        output::table(&head, views.items.iter().map(row))
    };
    output::value(args.output.format, &views, table, || {
        views.items.iter().map(|view| view.name.clone()).collect()
    })
}

fn row(view: &View) -> Vec<String> {
    vec![
        view.id.clone(),
        safe(&view.name),
        query_text(&view.query),
        safe(&view.created_by),
        view.created_at.clone(),
    ]
}

/// A query as the flags of `muster agents list`.
fn query_text(query: &ViewQuery) -> String {
    let ViewQuery { selector, q, state, health, config_state, config, sort, columns: _ } = query;
    let flags = [
        ("selector", selector),
        ("query", q),
        ("state", state),
        ("health", health),
        ("config-state", config_state),
        ("config", config),
        ("sort", sort),
    ];
    let given = flags
        .iter()
        .filter_map(|(name, value)| value.as_ref().map(|value| format!("--{name} {:?}", safe(value))));
    given.collect::<Vec<_>>().join(" ")
}

async fn create(args: ViewsCreate, global: &Global) -> Result<(), Failure> {
    let ViewsCreate { name, selector, query, state, health, config_state, config, sort, output, connection } =
        args;
    let columns = Vec::new();
    let query = ViewQuery { selector, q: query, state, health, config_state, config, sort, columns };
    let client = client(&connection, global)?;
    if let Some(config) = &query.config {
        known_config(&client, config).await?;
    }
    let view = client.create_view(&NewView { name, query }).await?;
    let table = || format!("view/{} created: id {}", safe(&view.name), view.id);
    output::value(output.format, &view, table, || vec![view.id.clone()])
}

async fn rm(args: ViewsRm, global: &Global) -> Result<(), Failure> {
    let client = client(&args.connection, global)?;
    let views = client.views().await?.items;
    let by_name = views.iter().find(|view| view.name == args.view);
    let view = by_name.or_else(|| views.iter().find(|view| view.id == args.view));
    let view =
        view.ok_or_else(|| Failure::new(Kind::NotFound, format!("there is no view {:?}", args.view)))?;
    client.delete_view(&view.id).await?;
    output::line(&format!("view/{} is removed", safe(&view.name)))
}
