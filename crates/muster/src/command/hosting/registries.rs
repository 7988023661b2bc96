//! `muster registries`: what hosts pull images with.

use api::services::SetRegistry;

use crate::cli::{Global, RegistriesArgs, RegistriesList, RegistriesRm, RegistriesSet, RegistriesVerb};
use crate::command::consent::agree;
use crate::command::login::password;
use crate::command::runtime;
use crate::context::client;
use crate::failure::{Failure, Kind};
use crate::output::{self, safe};

/// Lists, sets and removes credentials for registries.
pub(crate) fn registries(args: RegistriesArgs, global: &Global) -> Result<(), Failure> {
    let runtime = runtime()?;
    match args.verb {
        RegistriesVerb::List(args) => runtime.block_on(list(&args, global)),
        RegistriesVerb::Set(args) => runtime.block_on(set(args, global)),
        RegistriesVerb::Rm(args) => runtime.block_on(rm(&args, global)),
    }
}

async fn list(args: &RegistriesList, global: &Global) -> Result<(), Failure> {
    let list = client(&args.connection, global)?.registries().await?;
    let table = || {
        if list.items.is_empty() {
            return "There is no credential: hosts pull as anybody could. Set one: muster registries set"
                .to_owned();
        }
        let rows = list.items.iter().map(|one| {
            vec![safe(&one.registry), safe(&one.username), one.created_at.clone(), safe(&one.created_by)]
        });
        output::table(&["registry", "user", "set", "by"], rows)
    };
    output::value(args.output.format, &list, table, || {
        list.items.iter().map(|one| one.registry.clone()).collect()
    })
}

async fn set(args: RegistriesSet, global: &Global) -> Result<(), Failure> {
    let RegistriesSet { registry, user, password_stdin, connection } = args;
    let client = client(&connection, global)?;
    let password = password(password_stdin, &user)?;
    let set = SetRegistry { registry, username: user, password };
    client.set_registry(&set).await?;
    output::line(&format!(
        "registry/{} is set: hosts pull as {} from now on",
        safe(&set.registry),
        safe(&set.username)
    ))
}

async fn rm(args: &RegistriesRm, global: &Global) -> Result<(), Failure> {
    let client = client(&args.connection, global)?;
    let list = client.registries().await?;
    let name = safe(&args.registry);
    if !list.items.iter().any(|one| one.registry == args.registry) {
        return Err(Failure::new(Kind::NotFound, format!("there is no credential for {name}")));
    }
    let plan = format!("Remove the credential for {name}: hosts pull without it from now on.");
    if agree(args.consent, &plan)? {
        client.remove_registry(&args.registry).await?;
        output::line(&format!("registry/{name} is removed"))?;
    }
    Ok(())
}
