//! `muster tokens`.

use api::tokens::{NewToken, Token};

use super::consent::confirm;
use super::rollout::duration;
use super::runtime;
use crate::cli::{Global, TokensArgs, TokensCreate, TokensList, TokensRevoke, TokensVerb};
use crate::context::client;
use crate::failure::{Failure, Kind};
use crate::output::{self, safe};

/// Lists, makes and revokes enrolment tokens.
pub(crate) fn tokens(args: TokensArgs, global: &Global) -> Result<(), Failure> {
    let runtime = runtime()?;
    match args.verb {
        TokensVerb::List(args) => runtime.block_on(list(args, global)),
        TokensVerb::Create(args) => runtime.block_on(create(args, global)),
        TokensVerb::Revoke(args) => runtime.block_on(revoke(args, global)),
    }
}

async fn list(args: TokensList, global: &Global) -> Result<(), Failure> {
    let tokens = client(&args.connection, global)?.tokens().await?;
    let table = || {
        let head = ["id", "label", "state", "agents", "created", "expires", "last used"];
        output::table(&head, tokens.items.iter().map(row))
    };
    output::value(args.output.format, &tokens, table, || {
        tokens.items.iter().map(|token| token.id.clone()).collect()
    })
}

fn row(token: &Token) -> Vec<String> {
    let or = |text: &Option<String>, none: &str| text.clone().unwrap_or_else(|| none.to_owned());
    vec![
        token.id.clone(),
        safe(&token.label),
        if token.revoked_at.is_some() { "revoked" } else { "valid" }.to_owned(),
        token.agents.to_string(),
        token.created_at.clone(),
        or(&token.expires_at, "never"),
        or(&token.last_used_at, "never"),
    ]
}

async fn create(args: TokensCreate, global: &Global) -> Result<(), Failure> {
    let expires = args.expires.as_deref().map(|text| duration("expires", text));
    let expires_in_seconds = expires.transpose()?.map(|duration| duration.as_secs());
    let new = NewToken { label: args.label, expires_in_seconds };
    let created = client(&args.connection, global)?.create_token(&new).await?;
    let table = || {
        format!(
            "{}\nThis token ({}, id {}) is shown once. Agents send it as: Authorization: Bearer <token>",
            created.token,
            safe(&created.item.label),
            created.item.id
        )
    };
    output::value(args.output.format, &created, table, || vec![created.token.clone()])
}

async fn revoke(args: TokensRevoke, global: &Global) -> Result<(), Failure> {
    let client = client(&args.connection, global)?;
    let tokens = client.tokens().await?;
    let token = tokens.items.iter().find(|token| token.id == args.id);
    let token =
        token.ok_or_else(|| Failure::new(Kind::NotFound, format!("there is no token {}", args.id)))?;
    if !args.yes {
        let question = format!(
            "Revoke token {} ({}): {} agents are bound to it; those that are connected are disconnected at once and \
             cannot come back with it.",
            token.id,
            safe(&token.label),
            token.agents
        );
        confirm(&question)?;
    }
    client.revoke_token(&args.id).await?;
    output::line(&format!("Token {} is revoked.", args.id))
}
