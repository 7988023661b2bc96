//! Hosts, deployments and what belongs to them from the command line, against a server that has no host: everything up to
//! the moment at which a container would start.

use std::process::Output;

use serde_json::Value as Json;

use crate::configs::{bad, good, json, run, write};
use crate::process::{Place, Server, text};

const WEB: &str = "\
services:
  web:
    image: nginx:1
    environment: {GREETING: \"${GREETING:-hello}\"}
";

/// A command with text on its standard input.
fn fed(place: &Place, args: &[&str], input: &str) -> Output {
    let file = place.path("input");
    std::fs::write(&file, input).unwrap();
    place.command(args).stdin(std::fs::File::open(file).unwrap()).output().unwrap()
}

/// A server that the command line is logged in to.
pub(crate) fn started(place: &Place, args: &[&str]) -> Server {
    let server = place.server(&[&["--insecure-http"], args].concat());
    let login = ["login", &server.ready.console, "--password-stdin"];
    let output = fed(place, &login, server.ready.admin_password.as_deref().unwrap());
    assert!(output.status.success(), "{}", text(&output.stderr));
    server
}

#[test]
fn a_host_is_added_by_one_command_that_is_shown_once() {
    let place = Place::new();
    let server = started(&place, &[]);
    assert!(good(&place, &["hosts", "list"]).contains("muster hosts add"));
    let shown = good(&place, &["hosts", "add", "one", "--expires", "2h"]);
    assert!(shown.contains("mst_join_") && shown.contains("/api/agent/v1/install.sh"), "{shown}");
    let made = json(&place, &["hosts", "add", "--name", "two"]);
    let (id, token) = (made["id"].as_str().unwrap(), made["token"].as_str().unwrap());
    assert!(made["command"].as_str().unwrap().contains(token));
    let listed = good(&place, &["hosts", "tokens", "list"]);
    assert!(
        listed.contains("two") && listed.contains("waiting") && !listed.contains("mst_join_"),
        "{listed}"
    );
    assert!(bad(&place, &["hosts", "tokens", "revoke", id], 2).contains("--yes"));
    good(&place, &["hosts", "tokens", "revoke", id, "--yes"]);
    assert!(good(&place, &["hosts", "tokens", "list"]).contains("revoked"));
    // What is not there is not asked about first.
    assert!(bad(&place, &["hosts", "tokens", "revoke", "99"], 3).contains("there is no join token 99"));
    bad(&place, &["hosts", "tokens", "revoke", "99", "--yes"], 3);
    bad(&place, &["hosts", "tokens", "revoke", "x", "--yes"], 3);

    bad(&place, &["hosts", "add", "No Name"], 2);
    bad(&place, &["hosts", "add", "--expires", "soon"], 2);
    bad(&place, &["hosts", "add", "--expires", "30d"], 2);
    bad(&place, &["hosts", "add", "--replace", "nobody"], 3);
    let (code, _, err) = run(&place, &["hosts", "add", "three", "--expires", "1s", "--wait"]);
    assert!(code == 6 && err.contains("[ ] the machine joins"), "{code}: {err}");

    for verb in [&["show"][..], &["log"], &["rm", "--yes"], &["set", "--cordon"]] {
        let args = [&["hosts", verb[0], "nobody"], &verb[1..]].concat();
        assert!(bad(&place, &args, 3).contains("there is no host nobody"));
    }
    assert_eq!(run(&place, &["hosts", "set", "nobody"]).0, 2, "nothing is to be changed");
    let traced = place.run(&["--debug", "hosts", "add"]);
    assert!(!text(&traced.stderr).contains("mst_join_"), "{}", text(&traced.stderr));
    server.stop();
}

#[test]
fn a_plan_is_shown_and_refused_while_there_is_no_host() {
    let place = Place::new();
    let server = started(&place, &[]);
    std::fs::create_dir(place.path("shop")).unwrap();
    write(&place, "shop/compose.yaml", WEB);
    let file = ["--file", "shop/compose.yaml"];
    let (code, out, err) = run(&place, &[&["diff"], &file[..]].concat());
    assert_eq!(code, 1, "{out} {err}");
    assert!(out.starts_with("project/shop:\n  + web: 1 replica of nginx:1"), "{out}");
    assert!(err.starts_with("muster: shop cannot be deployed: web: "), "{err}");
    let (code, out, _) = run(&place, &[&["diff", "-o", "json"], &file[..]].concat());
    let plan: Json = serde_json::from_str(&out).unwrap();
    assert_eq!((code, &plan["project"], &plan["services"][0]["change"]), (1, &"shop".into(), &"new".into()));

    for consent in ["--yes", "--dry-run"] {
        let (code, _, err) = run(&place, &[&["deploy", consent, "--wait"], &file[..]].concat());
        assert!(code == 1 && err.contains("shop cannot be deployed"), "{consent}: {code} {err}");
    }
    let named = run(&place, &[&["diff", "--project", "other"], &file[..]].concat());
    assert!(named.1.starts_with("project/other:"), "{}", named.1);
    bad(&place, &[&["diff", "--project", "No Name"], &file[..]].concat(), 2);
    assert!(good(&place, &["projects", "list"]).contains("There is no project"));
    assert!(good(&place, &["services", "list"]).contains("There is no service"));
    assert!(good(&place, &["ps"]).contains("No replica"));
    assert!(good(&place, &["deployments", "list"]).contains("Nothing was deployed"));
    assert_eq!(json(&place, &["ps"]), serde_json::json!({"items": []}));
    server.stop();
}

#[test]
fn what_is_wrong_in_compose_files_is_told_with_its_place() {
    let place = Place::new();
    let server = started(&place, &[]);
    write(&place, "compose.yaml", "name: shop\nservices:\n  web:\n    image: nginx\n    restart: perhaps\n");
    for command in [&["diff"][..], &["deploy", "--yes"]] {
        let (code, out, err) = run(&place, command);
        assert_eq!((code, out.as_str()), (1, ""), "{err}");
        assert!(err.starts_with("compose.yaml:5:5: error: services.web.restart: "), "{err}");
        assert!(err.ends_with("muster: the Compose files have 1 error: nothing was changed\n"), "{err}");
    }
    write(&place, "compose.yaml", "name: No Name\nservices: {web: {image: nginx}}\n");
    assert!(run(&place, &["diff"]).2.starts_with("compose.yaml:1:1: error: name: "));
    write(&place, "compose.yaml", "services: {web: {image: nginx, env_file: nowhere.env}}\n");
    let missing = bad(&place, &["diff", "--project", "p"], 3);
    assert!(missing.starts_with("muster: compose.yaml:1:32: cannot read nowhere.env: "), "{missing}");
    write(
        &place,
        "compose.yaml",
        "services: {web: {image: nginx}, top: {image: nginx, profiles: [debug]}}\n",
    );
    let unknown = run(&place, &["deploy", "--project", "p", "--profile", "nope", "--yes"]);
    assert!(unknown.0 == 1 && unknown.2.contains("no service has the profile \"nope\"; there are \"debug\""));
    let mut diff = place.command(&["diff", "--project", "p"]);
    let said = text(&diff.env("COMPOSE_PROFILES", "nope,debug").output().unwrap().stderr);
    assert!(said.contains("COMPOSE_PROFILES: no service has the profile nope"), "{said}");
    std::fs::remove_file(place.path("compose.yaml")).unwrap();
    assert!(bad(&place, &["diff", "--file", "nowhere.yaml"], 3).contains("nowhere.yaml"));
    server.stop();
}

#[test]
fn files_are_found_as_compose_finds_them_and_only_what_they_name_is_sent() {
    let place = Place::new();
    let server = started(&place, &[]);
    std::fs::create_dir_all(place.path("app/deep/er")).unwrap();
    write(
        &place,
        "app/compose.yml",
        "name: found\nservices: {web: {image: \"nginx:${TAG}\", env_file: web.env}}\n",
    );
    write(&place, "app/docker-compose.yaml", "services: {never: {image: x}}\n");
    write(&place, "app/compose.override.yaml", "services: {db: {image: postgres}}\n");
    write(&place, "app/.env", "TAG=from-dotenv\nUNUSED=unused-value\nINNER=inner-value\n");
    write(&place, "app/web.env", "GREETING=${INNER}\n");
    write(&place, "app/other.env", "TAG=from-flag\nINNER=x\n");
    let diff = |env: &[(&str, &str)], args: &[&str]| {
        let mut command = place.command(&[&["--debug", "diff", "-o", "json"], args].concat());
        let output =
            command.current_dir(place.path("app/deep/er")).envs(env.iter().copied()).output().unwrap();
        (serde_json::from_slice::<Json>(&output.stdout).unwrap(), text(&output.stderr))
    };
    let (plan, said) = diff(&[], &[]);
    assert_eq!(plan["project"], "found");
    let lines = plan["text"].to_string();
    assert!(
        lines.contains("nginx:from-dotenv") && lines.contains("postgres") && !lines.contains("never"),
        "{lines}"
    );
    let sent = said.lines().find(|line| line.starts_with("> {")).unwrap();
    assert!(sent.contains("\"TAG\":\"***\"") && sent.contains("\"INNER\":\"***\""), "{sent}");
    for never in ["UNUSED", "HOME", "inner-value", "from-dotenv"] {
        assert!(!sent.contains(never), "{never}: {sent}");
    }
    let (plan, _) = diff(&[("TAG", "from-process")], &[]);
    assert!(plan["text"].to_string().contains("nginx:from-process"));
    let (plan, _) = diff(&[], &["--env-file", "../../other.env"]);
    assert!(plan["text"].to_string().contains("nginx:from-flag"));
    let (plan, _) = diff(&[("COMPOSE_PROJECT_NAME", "renamed")], &[]);
    assert_eq!(plan["project"], "renamed");
    let output = fed(&place, &["diff", "-f", "-", "-p", "piped", "-o", "name"], WEB);
    assert_eq!(text(&output.stdout), "web\n");
    server.stop();
}

#[test]
fn secrets_and_registries_take_contents_and_never_show_them() {
    let place = Place::new();
    let server = started(&place, &[]);
    bad(&place, &["secrets", "list", "shop"], 3);
    let set = fed(&place, &["secrets", "set", "shop/db"], "hunter2\n");
    assert!(set.status.success(), "{}", text(&set.stderr));
    write(&place, "key.pem", "hunter2-of-a-file");
    let (_, _, traced) = run(&place, &["--debug", "secrets", "set", "shop/key", "--from-file", "key.pem"]);
    let listed = good(&place, &["secrets", "list", "shop"]);
    assert!(listed.contains("8 bytes") && listed.contains("17 bytes"), "{listed}");
    for shown in [&traced, &listed] {
        assert!(!shown.contains("hunter2") && !shown.contains("aHVudGVy"), "{shown}");
    }
    for project in [&["shop"][..], &["-p", "shop"], &["--project", "shop"]] {
        assert_eq!(good(&place, &[&["secrets", "list", "-o", "name"], project].concat()), "db\nkey\n");
    }
    bad(&place, &["secrets", "set", "shop"], 2);
    bad(&place, &["secrets", "set", "shop/empty"], 2);
    bad(&place, &["secrets", "set", "shop/key", "--from-file", "nowhere"], 3);
    assert!(bad_plan(&place, &["secrets", "rm", "shop/db"]).contains("no service uses it"));
    good(&place, &["secrets", "rm", "shop/db", "--yes"]);
    bad(&place, &["secrets", "rm", "shop/db", "--yes"], 3);

    write(
        &place,
        "compose.yaml",
        "name: shop\nservices: {web: {image: nginx, secrets: [db]}}\nsecrets: {db: {external: true}}\n",
    );
    let (code, _, err) = run(&place, &["deploy", "--yes"]);
    assert!(code == 1 && err.contains("muster secrets set shop/db"), "{code}: {err}");

    let set = ["registries", "set", "registry.example:5000", "--user", "robot", "--password-stdin"];
    assert!(fed(&place, &set, "hunter2").status.success());
    let listed = json(&place, &["registries", "list"]);
    assert_eq!(listed["items"][0]["username"], "robot");
    assert!(!listed.to_string().contains("hunter2"));
    bad(&place, &["registries", "rm", "other.example", "--yes"], 3);
    good(&place, &["registries", "rm", "registry.example:5000", "--yes"]);
    assert!(good(&place, &["registries", "list"]).contains("There is no credential"));
    server.stop();
}

/// A command that would ask, without a terminal: the plan is printed, nothing is done.
fn bad_plan(place: &Place, args: &[&str]) -> String {
    let (code, out, err) = run(place, args);
    assert!(code == 2 && err.contains("--yes"), "{args:?}: {code} {err}");
    out
}

#[test]
fn what_is_not_there_and_what_makes_no_sense_have_their_exit_codes() {
    let place = Place::new();
    let server = started(&place, &["--network-range", "10.64.0.0/12", "--mesh-range", "10.99.0.0/16"]);
    for args in [
        &["projects", "show", "nowhere"][..],
        &["projects", "rm", "nowhere", "--yes"],
        &["services", "show", "nowhere/web"],
        &["services", "releases", "nowhere/web"],
        &["services", "scale", "nowhere/web=2", "--yes"],
        &["services", "rollback", "nowhere/web", "--yes"],
        &["services", "rm", "nowhere/web", "--yes"],
        &["services", "list", "nowhere"],
        &["ps", "-p", "nowhere"],
        &["logs", "nowhere/web"],
        &["logs", "nowhere", "--follow"],
        &["deployments", "show", "7"],
        &["deployments", "abort", "7", "--yes"],
        &["deployments", "show", "seven"],
    ] {
        bad(&place, args, 3);
    }
    for args in [
        &["services", "show", "web"][..],
        &["services", "scale", "p/web", "--yes"],
        &["services", "scale", "p/a=1", "p/b=1", "--yes", "--no-wait"],
        &["logs", "a/b/c"],
        &["logs", "a/b", "--since", "yesterday"],
        &["deploy", "--yes", "--timeout", "soon"],
    ] {
        bad(&place, args, 2);
    }
    let token = json(&place, &["api-tokens", "create", "look"])["token"].as_str().unwrap().to_owned();
    bad(&place, &["hosts", "add", "--token", &token], 4);
    server.stop();
    let refused = [
        "server",
        "--data-dir",
        "x",
        "--insecure-http",
        "--listen",
        "127.0.0.1:0",
        "--opamp-listen",
        "127.0.0.1:0",
    ];
    assert!(
        bad(&place, &[&refused[..], &["--network-range", "10.0.0.0/24"]].concat(), 2)
            .contains("--network-range")
    );
    assert!(bad(&place, &[&refused[..], &["--mesh-range", "here"]].concat(), 2).contains("--mesh-range"));
}
