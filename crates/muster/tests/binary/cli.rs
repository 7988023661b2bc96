//! The operator's commands against a running server: output formats and exit codes.

use std::io::{BufRead, BufReader};
use std::os::unix::fs::MetadataExt;

use opamp_proto::wire::{AgentDescription, AgentToServer, AnyValue, KeyValue, any_value::Value};
use serde_json::Value as Json;
use testkit::raw::Connection;

use crate::process::{Place, Server, text};

/// Runs a command that must succeed.
fn good(place: &Place, args: &[&str]) -> String {
    let output = place.run(args);
    assert!(output.status.success(), "{args:?}: {}", text(&output.stderr));
    text(&output.stdout)
}

/// Runs a command that must fail with this code; what it said.
fn bad(place: &Place, args: &[&str], code: i32) -> String {
    let output = place.run(args);
    let err = text(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{args:?}: {err}");
    assert!(err.starts_with("muster: ") && err.lines().count() <= 2, "{args:?}: {err}");
    err
}

fn report(name: &str, number: u8) -> AgentToServer {
    let value = Some(AnyValue { value: Some(Value::StringValue(name.to_owned())) });
    AgentToServer {
        instance_uid: vec![number; 16].into(),
        capabilities: 1,
        agent_description: Some(AgentDescription {
            identifying_attributes: vec![KeyValue { key: "service.name".to_owned(), value }],
            ..Default::default()
        }),
        ..Default::default()
    }
}

/// Brings an agent in over HTTP.
fn bring_in(server: &Server, name: &str, number: u8) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let token = format!("Bearer {}", server.ready.enrolment_token.as_deref().unwrap());
    runtime.block_on(async {
        let mut connection = Connection::to(server.opamp()).await;
        let answer = connection.exchange(&[("authorization", &token)], &report(name, number)).await;
        assert_eq!(answer.status, 200);
    });
}

#[test]
fn agents_are_listed_and_shown_in_every_format() {
    let place = Place::new();
    let server = place.server(&["--insecure-http"]);
    assert!(place.log_in(&server, &[]).status.success());
    bring_in(&server, "web", 1);
    bring_in(&server, "d\u{1b}[31mb", 2);
    let uid = "01010101-0101-0101-0101-010101010101";

    let table = good(&place, &["agents", "list"]);
    assert!(table.starts_with("NAME") && table.contains("web") && table.contains(uid), "{table}");
    assert!(!table.contains('\u{1b}'), "an agent drives the terminal: {table:?}");
    assert_eq!(good(&place, &["agents", "list", "-o", "name", "-l", "service.name=web"]).trim(), uid);
    let json: Json = serde_json::from_str(&good(&place, &["agents", "list", "-o", "json"])).unwrap();
    assert_eq!((&json["total"], &json["items"][1]["name"]), (&2.into(), &"web".into()));
    assert!(good(&place, &["agents", "list", "-o", "yaml", "-q", "web"]).contains("    name: \"web\"\n"));
    assert_eq!(good(&place, &["agents", "list", "--state", "disconnected"]).trim(), "No agents match.");
    assert!(good(&place, &["agents", "show", "0101"]).contains("service.name = web (string)"));
    let json: Json = serde_json::from_str(&good(&place, &["agents", "show", uid, "-o", "json"])).unwrap();
    assert_eq!(json["description"]["identifying"][0]["value"], "web");

    assert!(
        bad(&place, &["agents", "show", "03030303-0303-0303-0303-030303030303"], 3)
            .contains("there is no agent")
    );
    assert!(bad(&place, &["agents", "show", "77"], 3).contains("begins with"));
    assert!(bad(&place, &["agents", "list", "-l", "a in ("], 2).starts_with("muster: --selector: "));
    assert!(bad(&place, &["agents", "list", "--state", "asleep"], 2).starts_with("muster: --state: "));
    server.stop();
}

#[test]
fn a_watched_list_is_printed_again_when_an_agent_arrives() {
    let place = Place::new();
    let server = place.server(&["--insecure-http"]);
    assert!(place.log_in(&server, &[]).status.success());
    let (pipe, out) = std::io::pipe().unwrap();
    let mut watcher = place.command(&["agents", "list", "--watch"]).stdout(out).spawn().unwrap();
    let mut lines = BufReader::new(pipe).lines().map(Result::unwrap);
    assert_eq!(lines.next().as_deref(), Some("No agents match."));
    bring_in(&server, "late-comer", 1);
    // The pipe's other end is open in this process no longer, so a watcher that ends ends this too.
    assert!(lines.any(|line| line.contains("late-comer")));
    watcher.kill().unwrap();
    watcher.wait().unwrap();
    server.stop();
}

#[test]
fn tokens_are_made_listed_and_revoked() {
    let place = Place::new();
    let server = place.server(&["--insecure-http"]);
    assert!(place.log_in(&server, &[]).status.success());
    let token = good(&place, &["tokens", "create", "edge", "--expires", "1h", "-o", "name"]);
    assert!(token.starts_with("mst_"), "{token}");
    let json: Json = serde_json::from_str(&good(&place, &["tokens", "list", "-o", "json"])).unwrap();
    let id = json["items"][0]["id"].as_str().unwrap().to_owned();
    assert_eq!(json["items"][0]["label"], "edge");
    assert!(!json.to_string().contains("mst_"));
    assert!(bad(&place, &["tokens", "revoke", &id], 2).contains("Revoke token"));
    assert!(good(&place, &["tokens", "revoke", &id, "--yes"]).contains("is revoked"));
    assert!(good(&place, &["tokens", "list"]).contains("revoked"));
    assert!(bad(&place, &["tokens", "revoke", "999", "--yes"], 3).contains("there is no token 999"));
    assert!(
        bad(&place, &["tokens", "create", "x", "--expires", "soon"], 2).starts_with("muster: --expires: ")
    );
    assert!(bad(&place, &["tokens", "create", " "], 2).contains("label"));
    server.stop();
}

#[test]
fn logins_are_kept_in_a_file_of_mode_0600_and_the_environment_goes_before_it() {
    let place = Place::new();
    let server = place.server(&["--insecure-http"]);
    assert!(bad(&place, &["agents", "list"], 4).contains("no server is known"));
    assert!(place.log_in(&server, &[]).status.success());
    let file = place.path(".config/muster/contexts.json");
    assert_eq!(std::fs::metadata(&file).unwrap().mode() & 0o777, 0o600);
    let contexts: Json = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    let (_, context) = contexts["contexts"].as_object().unwrap().iter().next().unwrap();
    let token = context["token"].as_str().unwrap().to_owned();

    let other = Place::new();
    let url = server.ready.console.as_str();
    let with_env = |token: &str| {
        let mut command = other.command(&["agents", "list"]);
        command.env("MUSTER_URL", url).env("MUSTER_TOKEN", token).output().unwrap()
    };
    assert!(with_env(&token).status.success());
    let refused = with_env("mss_wrong");
    assert_eq!(refused.status.code(), Some(4));
    assert!(text(&refused.stderr).contains("muster login"), "{}", text(&refused.stderr));

    let debug = place.run(&["--debug", "agents", "list"]);
    let err = text(&debug.stderr);
    assert!(err.contains("> GET ") && err.contains("Bearer ***") && !err.contains(&token), "{err}");
    assert!(good(&place, &["logout"]).contains("Logged out"));
    assert_eq!(with_env(&token).status.code(), Some(4));
    server.stop();
}

#[test]
fn a_wrong_password_a_wrong_server_and_an_unknown_authority_say_what_to_do() {
    let place = Place::new();
    let server = place.server(&[]);
    let unknown = place.log_in(&server, &[]);
    let err = text(&unknown.stderr);
    assert_eq!(unknown.status.code(), Some(4), "{err}");
    let fingerprint = err.split("--fingerprint ").nth(1).expect("a fingerprint").trim().to_owned();
    assert!(server.out().contains(&fingerprint), "{err}");
    let good_login = place.log_in(&server, &["--fingerprint", &fingerprint]);
    assert!(good_login.status.success(), "{}", text(&good_login.stderr));
    good(&place, &["agents", "list"]);
    let pinned_wrongly = place.log_in(&server, &["--fingerprint", &"ab".repeat(32)]);
    assert_eq!(pinned_wrongly.status.code(), Some(4), "{}", text(&pinned_wrongly.stderr));

    let opamp = server.ready.opamp.trim_end_matches("/v1/opamp").to_owned();
    let fingerprint = fingerprint.as_str();
    let err =
        bad(&place, &["agents", "list", "--url", &opamp, "--fingerprint", fingerprint, "--token", "x"], 1);
    assert!(err.contains("port 5050"), "{err}");
    let nobody = bad(&place, &["agents", "list", "--url", "http://127.0.0.1:9", "--token", "x"], 1);
    assert!(nobody.contains("cannot reach"), "{nobody}");
    server.stop();
}

#[test]
fn version_completion_and_help_need_no_server() {
    let place = Place::new();
    assert!(good(&place, &["version"]).starts_with("muster 0."));
    assert!(good(&place, &["completion", "bash"]).contains("MUSTER_COMPLETE"));
    assert!(good(&place, &["--help"]).contains("agents"));
    assert_eq!(place.run(&["agents", "fly"]).status.code(), Some(2));
}

#[test]
fn a_login_at_the_wrong_scheme_or_port_says_so_before_anybody_is_asked_to_trust_it() {
    let place = Place::new();
    let server = place.server(&[]);
    let plain = bad(&place, &["login", &format!("http://{}", server.console()), "--password-stdin"], 1);
    assert!(plain.contains("This port speaks HTTPS: write https:// instead of http://"), "{plain}");
    let opamp = bad(&place, &["login", &format!("https://{}", server.opamp()), "--password-stdin"], 1);
    assert!(opamp.contains("there is nothing here; OpAMP is at /v1/opamp"), "{opamp}");
    assert!(opamp.contains("URL is that of the console") && !opamp.contains("fingerprint"), "{opamp}");
    let both = bad(&place, &["login", &format!("http://{}", server.opamp()), "--password-stdin"], 1);
    assert!(both.contains("the URL begins with https://"), "{both}");
    server.stop();

    let place = Place::new();
    let server = place.server(&["--insecure-http"]);
    let secure = bad(&place, &["login", &format!("https://{}", server.console()), "--password-stdin"], 1);
    assert!(secure.contains("the URL begins with http://"), "{secure}");
    server.stop();
}
