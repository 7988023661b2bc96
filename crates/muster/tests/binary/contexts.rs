//! Contexts, and whose credential was refused.

use serde_json::Value as Json;

use crate::process::{Place, Server, text};

fn log_in(place: &Place, server: &Server, extra: &[&str]) -> String {
    let output = place.log_in(server, extra);
    assert!(output.status.success(), "{}", text(&output.stderr));
    text(&output.stdout)
}

/// Runs a command that must end with this code; what it printed or said.
fn run(place: &Place, args: &[&str], code: i32) -> String {
    let output = place.run(args);
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(code), "{args:?}: {out}{err}");
    if code == 0 { out } else { err }
}

#[test]
fn contexts_are_listed_chosen_shown_and_forgotten_and_never_show_a_token() {
    let place = Place::new();
    let server = place.server(&["--insecure-http"]);
    assert!(run(&place, &["context", "list"], 0).contains("muster login"));
    run(&place, &["context", "show"], 3);
    assert!(log_in(&place, &server, &["--context", "one"]).contains("Context one is the current one."));
    let told = log_in(&place, &server, &["--context", "two"]);
    assert!(told.contains("Context two is the current one now; muster context use one goes back."), "{told}");
    let told = log_in(&place, &server, &["--context", "three", "--keep-current"]);
    assert!(told.contains("not the current one: use it with --context three"), "{told}");

    let list: Json = serde_json::from_str(&run(&place, &["contexts", "list", "-o", "json"], 0)).unwrap();
    let current: Vec<_> = list.as_array().unwrap().iter().filter(|one| one["current"] == true).collect();
    assert_eq!(
        (current.len(), &current[0]["name"], &current[0]["logged_in"]),
        (1, &"two".into(), &true.into())
    );
    assert!(!list.to_string().contains("mss_"), "{list}");
    assert!(run(&place, &["context", "use", "one"], 0).contains(&server.ready.console));
    assert!(run(&place, &["context", "show"], 0).contains("one"));
    assert!(run(&place, &["context", "use", "nope"], 3).contains("There are: one, three, two"));

    // The flag can stand before the command and after it.
    run(&place, &["--context", "three", "agents", "list"], 0);
    run(&place, &["agents", "list", "--context", "three"], 0);
    run(&place, &["agents", "list", "--context", "nope"], 3);
    assert!(run(&place, &["context", "rm", "one"], 0).contains("No context is the current one now"));
    run(&place, &["agents", "list"], 4);
    run(&place, &["context", "rm", "one"], 3);
    server.stop();
}

#[test]
fn dev_leaves_the_current_context_alone_and_says_how_to_reach_it() {
    let place = Place::new();
    let server = place.server(&["--insecure-http"]);
    log_in(&place, &server, &["--context", "prod"]);
    let args = ["dev", "--no-demo-agent", "--opamp-listen", "127.0.0.1:0", "--listen", "127.0.0.1:0"];
    let args = [&args[..], &["--data-dir", "other"]].concat();
    let dev = place.start(place.command(&args));
    crate::process::found(|| dev.out(), || dev.out().contains("--context dev").then_some(()));
    assert!(dev.out().contains("your current context stays prod"), "{}", dev.out());
    assert!(run(&place, &["context", "show"], 0).contains("prod"));
    assert!(run(&place, &["context", "show", "dev"], 0).contains(&dev.ready.console));
    run(&place, &["agents", "list", "--context", "dev"], 0);
    dev.stop();
    server.stop();
}

#[test]
fn a_refused_credential_is_named_by_where_it_is_from() {
    let place = Place::new();
    let server = place.server(&["--insecure-http"]);
    log_in(&place, &server, &["--context", "prod"]);
    let mut command = place.command(&["agents", "list"]);
    let output = command.env("MUSTER_TOKEN", "muster_api_expired").output().unwrap();
    let err = text(&output.stderr);
    assert_eq!(output.status.code(), Some(4), "{err}");
    assert!(err.contains("does not accept the token of MUSTER_TOKEN"), "{err}");
    assert!(
        err.contains("unset it to use the login of context \"prod\"") && err.lines().count() == 2,
        "{err}"
    );
    let err = run(&place, &["agents", "list", "--token", "wrong\n"], 4);
    assert!(err.contains("the token of --token"), "{err}");
    // Caught with all that was printed beside it.
    let err = run(&place, &["agents", "list", "--token", "mst_secret\nThis token is shown once."], 2);
    assert!(err.contains("a token is one word") && err.contains("-o name"), "{err}");
    assert!(!err.contains("mst_secret"), "{err}");

    // The session is ended at the server by the same login from elsewhere.
    let kept = std::fs::read(place.path(".config/muster/contexts.json")).unwrap();
    run(&place, &["logout"], 0);
    std::fs::write(place.path(".config/muster/contexts.json"), kept).unwrap();
    let err = run(&place, &["agents", "list"], 4);
    assert!(err.contains("the login of context \"prod\""), "{err}");
    assert!(err.contains(&format!("muster login {} --context prod", server.ready.console)), "{err}");
    server.stop();
}

#[test]
fn who_somebody_is_to_the_server_is_said_without_a_secret() {
    let place = Place::new();
    let server = place.server(&["--insecure-http"]);
    log_in(&place, &server, &["--context", "here"]);
    let said = run(&place, &["whoami"], 0);
    for line in
        ["user     admin", "role     admin", &format!("server   {}", server.ready.console), "context  here"]
    {
        assert!(said.contains(line), "{line}: {said}");
    }
    let me: Json = serde_json::from_str(&run(&place, &["whoami", "-o", "json"], 0)).unwrap();
    let names: Vec<_> = me.as_object().unwrap().keys().collect();
    assert_eq!(names, ["context", "expires_at", "role", "url", "user"]);
    let made = run(&place, &["api-tokens", "create", "ci", "--role", "viewer", "-o", "json"], 0);
    let made: Json = serde_json::from_str(&made).unwrap();
    let said = run(&place, &["whoami", "--token", made["token"].as_str().unwrap()], 0);
    for line in ["role     viewer", "context  none, a token was given", "until    no end"] {
        assert!(said.contains(line), "{line}: {said}");
    }
    assert_eq!(run(&place, &["whoami", "-o", "name"], 0).trim(), "admin");
    run(&place, &["logout"], 0);
    run(&place, &["whoami"], 4);
    server.stop();
}
