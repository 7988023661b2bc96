//! Users, API tokens, the own password and the audit trail from the command line.

use std::process::Output;

use serde_json::Value as Json;

use crate::process::{Place, Server, text};

/// A command with lines on its standard input.
fn told(place: &Place, args: &[&str], lines: &str) -> Output {
    let file = place.path("lines");
    std::fs::write(&file, lines).unwrap();
    place.command(args).stdin(std::fs::File::open(file).unwrap()).output().unwrap()
}

fn log_in(place: &Place, server: &Server, user: &str, password: &str) {
    let output = told(place, &["login", &server.ready.console, "--user", user, "--password-stdin"], password);
    assert!(output.status.success(), "{}", text(&output.stderr));
}

/// Runs a command that must end with this code; what it printed or said.
fn run(place: &Place, args: &[&str], code: i32) -> String {
    let output = place.run(args);
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(code), "{args:?}: {out}{err}");
    if code == 0 { out } else { err }
}

fn json(place: &Place, args: &[&str]) -> Json {
    serde_json::from_str(&run(place, &[args, &["-o", "json"]].concat(), 0)).unwrap()
}

#[test]
fn a_user_is_made_works_within_the_role_changes_the_password_and_is_removed() {
    let place = Place::new();
    let server = place.server(&["--insecure-http"]);
    log_in(&place, &server, "admin", server.ready.admin_password.as_deref().unwrap());
    let made = json(&place, &["users", "create", "ann", "--role", "operator"]);
    let password = made["password"].as_str().unwrap().to_owned();
    run(&place, &["users", "create", "Ann"], 2);
    assert!(run(&place, &["users", "list"], 0).contains("ann"));

    log_in(&place, &server, "ann", &password);
    run(&place, &["users", "list"], 4);
    run(&place, &["tokens", "create", "rack"], 0);
    let changed =
        told(&place, &["passwd", "--password-stdin"], &format!("{password}\nlong enough, this one\n"));
    assert!(changed.status.success(), "{}", text(&changed.stderr));
    let refused = told(&place, &["passwd", "--password-stdin"], "wrong\nlong enough, this one\n");
    assert_eq!(refused.status.code(), Some(4), "as at a login");
    log_in(&place, &server, "ann", "long enough, this one");

    log_in(&place, &server, "admin", server.ready.admin_password.as_deref().unwrap());
    assert!(run(&place, &["users", "set", "ann", "--disable"], 0).contains("disabled"));
    run(&place, &["users", "set", "ann"], 2);
    assert!(run(&place, &["users", "rm", "ann"], 2).contains("--yes"));
    run(&place, &["users", "rm", "ann", "--yes"], 0);
    run(&place, &["users", "rm", "ann", "--yes"], 3);
    assert_eq!(run(&place, &["users", "list", "-o", "name"], 0).trim(), "admin");
}

#[test]
fn an_api_token_serves_commands_and_the_trail_says_what_it_did() {
    let place = Place::new();
    let server = place.server(&["--insecure-http"]);
    log_in(&place, &server, "admin", server.ready.admin_password.as_deref().unwrap());
    let made = json(&place, &["api-tokens", "create", "ci", "--role", "operator", "--expires", "90d"]);
    let (id, token) = (made["id"].as_str().unwrap(), made["token"].as_str().unwrap());
    run(&place, &["tokens", "create", "rack", "--token", token], 0);
    run(&place, &["users", "list", "--token", token], 4);
    assert!(run(&place, &["api-tokens", "list"], 0).contains("ci"));
    assert!(!run(&place, &["api-tokens", "list"], 0).contains(token));
    run(&place, &["api-tokens", "create", "x", "--expires", "soon"], 2);

    let actor = format!("ci#{id}");
    let trail = json(&place, &["audit", "--actor", &actor]);
    assert_eq!((&trail["total"], &trail["items"][0]["action"]), (&1.into(), &"token.create".into()));
    assert!(run(&place, &["audit", "--action", "token"], 0).contains(&actor));
    assert!(run(&place, &["audit", "--export", "csv"], 0).contains(",token.create,"));
    let lines = run(&place, &["audit", "--export", "ndjson", "--object", "api-token"], 0);
    assert_eq!(lines.lines().count(), 1);
    run(&place, &["audit", "--since", "yesterday"], 2);

    run(&place, &["api-tokens", "revoke", id, "--yes"], 0);
    run(&place, &["tokens", "list", "--token", token], 4);
    run(&place, &["api-tokens", "revoke", "99", "--yes"], 3);
}
