//! `muster users` and `muster passwd`.

use std::io::{self, IsTerminal, Read};

use api::session::PasswordChange;
use api::users::{Account, AccountChange, NewAccount, NewPassword};

use super::consent::confirm;
use super::runtime;
use crate::cli::Global;
use crate::cli::access::{PasswdArgs, UsersArgs, UsersCreate, UsersList, UsersRm, UsersSet, UsersVerb};
use crate::context::client;
use crate::failure::{Failure, Kind};
use crate::output::{self, safe};

/// Lists, makes, changes and removes users.
pub(crate) fn users(args: UsersArgs, global: &Global) -> Result<(), Failure> {
    let runtime = runtime()?;
    match args.verb {
        UsersVerb::List(args) => runtime.block_on(list(args, global)),
        UsersVerb::Create(args) => runtime.block_on(create(args, global)),
        UsersVerb::Set(args) => runtime.block_on(set(args, global)),
        UsersVerb::Rm(args) => runtime.block_on(rm(args, global)),
    }
}

async fn list(args: UsersList, global: &Global) -> Result<(), Failure> {
    let users = client(&args.connection, global)?.users().await?;
    let table = || {
        let row = |user: &Account| {
            let state = if user.disabled { "disabled" } else { "active" };
            vec![safe(&user.name), user.role.clone(), state.to_owned(), user.created_at.clone()]
        };
        output::table(&["name", "role", "state", "created"], users.items.iter().map(row))
    };
    output::value(args.output.format, &users, table, || {
        users.items.iter().map(|user| user.name.clone()).collect()
    })
}

async fn create(args: UsersCreate, global: &Global) -> Result<(), Failure> {
    let password = args.password_stdin.then(|| lines(1)).transpose()?;
    let password = password.and_then(|mut lines| lines.pop());
    let new = NewAccount { name: args.name, role: args.role.as_str().to_owned(), password };
    let made = client(&args.connection, global)?.create_user(&new).await?;
    output::value(args.output.format, &made, || told(&made, "was made"), || vec![made.name.clone()])
}

async fn set(args: UsersSet, global: &Global) -> Result<(), Failure> {
    let password = match (args.new_password, args.password_stdin) {
        (true, _) => Some(NewPassword::Make(true)),
        (_, true) => lines(1)?.pop().map(NewPassword::Is),
        _ => None,
    };
    let change = AccountChange {
        role: args.role.map(|role| role.as_str().to_owned()),
        disabled: (args.disable || args.enable).then_some(args.disable),
        password,
    };
    let changed = client(&args.connection, global)?.change_user(&args.name, &change).await?;
    output::value(
        args.output.format,
        &changed,
        || told(&changed, "was changed"),
        || vec![changed.name.clone()],
    )
}

/// A user in words, with a password that was made for it.
fn told(user: &Account, what: &str) -> String {
    let state = if user.disabled { ", disabled" } else { "" };
    let line = format!("User {} {what} ({}{state}).", safe(&user.name), user.role);
    match &user.password {
        Some(password) => format!("{line}\npassword  {password}\nThis password is shown once."),
        None => line,
    }
}

async fn rm(args: UsersRm, global: &Global) -> Result<(), Failure> {
    let client = client(&args.connection, global)?;
    let name = safe(&args.name);
    if !args.yes {
        confirm(&format!("Remove user {name}: sessions end, API tokens are revoked."))?;
    }
    client.delete_user(&args.name).await?;
    output::line(&format!("User {name} is removed."))
}

/// `muster passwd`.
pub(crate) fn passwd(args: &PasswdArgs, global: &Global) -> Result<(), Failure> {
    let client = client(&args.connection, global)?;
    let change = if args.password_stdin {
        let mut lines = lines(2)?.into_iter();
        PasswordChange { current: lines.next().unwrap_or_default(), new: lines.next().unwrap_or_default() }
    } else {
        asked()?
    };
    runtime()?.block_on(client.change_password(&change))?;
    output::line("Your password is changed; your other sessions have ended.")
}

fn asked() -> Result<PasswordChange, Failure> {
    if !io::stdin().is_terminal() {
        return Err(Failure::new(Kind::Usage, "there is no terminal to ask for the passwords")
            .hint("Give the current and the new one with --password-stdin, a line each."));
    }
    let ask = |what: &str| {
        rpassword::prompt_password(what).map_err(|error| Failure::new(Kind::Usage, error.to_string()))
    };
    let (current, new) = (ask("Current password: ")?, ask("New password: ")?);
    if ask("New password again: ")? != new {
        return Err(Failure::new(Kind::Usage, "the new passwords differ; nothing was changed"));
    }
    Ok(PasswordChange { current, new })
}

/// So many lines from standard input.
fn lines(count: usize) -> Result<Vec<String>, Failure> {
    let mut text = String::new();
    let read = io::stdin().read_to_string(&mut text);
    read.map_err(|error| Failure::new(Kind::Usage, format!("no password: {error}")))?;
    let lines: Vec<String> = text.lines().map(str::to_owned).collect();
    if lines.len() != count || lines.iter().any(String::is_empty) {
        let what = if count == 1 { "one line" } else { "two lines, the current and the new password," };
        return Err(Failure::usage(format!("--password-stdin: {what} must come from standard input")));
    }
    Ok(lines)
}
