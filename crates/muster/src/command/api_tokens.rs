//! `muster api-tokens`.

use api::api_tokens::{ApiToken, NewApiToken};

use super::consent::confirm;
use super::runtime;
use crate::cli::Global;
use crate::cli::access::{ApiTokensArgs, ApiTokensCreate, ApiTokensList, ApiTokensRevoke, ApiTokensVerb};
use crate::context::client;
use crate::failure::{Failure, Kind};
use crate::output::{self, safe};

/// Lists, makes and revokes API tokens.
pub(crate) fn api_tokens(args: ApiTokensArgs, global: &Global) -> Result<(), Failure> {
    let runtime = runtime()?;
    match args.verb {
        ApiTokensVerb::List(args) => runtime.block_on(list(args, global)),
        ApiTokensVerb::Create(args) => runtime.block_on(create(args, global)),
        ApiTokensVerb::Revoke(args) => runtime.block_on(revoke(args, global)),
    }
}

async fn list(args: ApiTokensList, global: &Global) -> Result<(), Failure> {
    let tokens = client(&args.connection, global)?.api_tokens().await?;
    let table = || {
        let head = ["id", "label", "role", "owner", "state", "created", "expires", "last used"];
        output::table(&head, tokens.items.iter().map(row))
    };
    output::value(args.output.format, &tokens, table, || {
        tokens.items.iter().map(|token| token.id.clone()).collect()
    })
}

fn row(token: &ApiToken) -> Vec<String> {
    let or_never = |text: &Option<String>| text.clone().unwrap_or_else(|| "never".to_owned());
    vec![
        token.id.clone(),
        safe(&token.label),
        token.role.clone(),
        safe(&token.created_by),
        if token.revoked_at.is_some() { "revoked" } else { "valid" }.to_owned(),
        token.created_at.clone(),
        or_never(&token.expires_at),
        or_never(&token.last_used_at),
    ]
}

async fn create(args: ApiTokensCreate, global: &Global) -> Result<(), Failure> {
    let ApiTokensCreate { label, role, expires, output, connection } = args;
    let new = NewApiToken { label, role: role.as_str().to_owned(), expires_in: expires };
    let created = client(&connection, global)?.create_api_token(&new).await?;
    let table = || {
        format!(
            "{}\nThis token ({}, id {}, {}) is shown once. Commands take it from MUSTER_TOKEN, programs send it as: \
             Authorization: Bearer <token>",
            created.token,
            safe(&created.item.label),
            created.item.id,
            created.item.role
        )
    };
    output::value(output.format, &created, table, || vec![created.token.clone()])
}

async fn revoke(args: ApiTokensRevoke, global: &Global) -> Result<(), Failure> {
    let client = client(&args.connection, global)?;
    let tokens = client.api_tokens().await?;
    let token = tokens.items.iter().find(|token| token.id == args.id);
    let token =
        token.ok_or_else(|| Failure::new(Kind::NotFound, format!("there is no API token {}", args.id)))?;
    if !args.yes {
        let (label, owner) = (safe(&token.label), safe(&token.created_by));
        confirm(&format!(
            "Revoke API token {} ({label}) of {owner}: it is worth nothing at once.",
            token.id
        ))?;
    }
    client.revoke_api_token(&args.id).await?;
    output::line(&format!("API token {} is revoked.", args.id))
}
