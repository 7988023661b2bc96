//! Configurations, rollouts, labels and views from the command line, with a live agent that takes what it is offered.

use serde_json::Value as Json;

use crate::process::{Place, Server, found, text};

pub(crate) const FIRST: &str = "\
receivers: {otlp: {protocols: {grpc: null}}}
exporters: {debug: null}
service: {pipelines: {traces: {receivers: [otlp], exporters: [debug]}}}
";

/// Runs a command; its exit code, what it printed, and what it complained of.
pub(crate) fn run(place: &Place, args: &[&str]) -> (i32, String, String) {
    let output = place.run(args);
    (output.status.code().unwrap(), text(&output.stdout), text(&output.stderr))
}

/// Runs a command that must succeed.
pub(crate) fn good(place: &Place, args: &[&str]) -> String {
    let (code, out, err) = run(place, args);
    assert_eq!(code, 0, "{args:?}: {out} {err}");
    out
}

/// Runs a command that must fail with this code, in one or two lines.
pub(crate) fn bad(place: &Place, args: &[&str], expected: i32) -> String {
    let (code, out, err) = run(place, args);
    assert_eq!(code, expected, "{args:?}: {out} {err}");
    assert!(err.starts_with("muster: ") && err.lines().count() <= 2, "{args:?}: {err}");
    err
}

pub(crate) fn json(place: &Place, args: &[&str]) -> Json {
    serde_json::from_str(&good(place, &[args, &["-o", "json"]].concat())).unwrap()
}

/// A server with the demo agent, once that is connected; its instance_uid.
pub(crate) fn with_agent(place: &Place) -> (Server, String) {
    let args = ["dev", "--opamp-listen", "127.0.0.1:0", "--listen", "127.0.0.1:0"];
    let server = place.start(place.command(&args));
    let uid = found(
        || server.log(),
        || {
            let (_, out, _) = run(place, &["agents", "list", "--state", "connected", "-o", "name"]);
            out.lines().next().map(str::to_owned)
        },
    );
    (server, uid)
}

pub(crate) fn write(place: &Place, name: &str, body: &str) {
    std::fs::write(place.path(name), body).unwrap();
}

#[test]
fn a_configuration_is_written_assigned_rolled_out_and_taken_back() {
    let place = Place::new();
    let (server, uid) = with_agent(&place);
    write(&place, "otel.yaml", FIRST);
    assert!(
        good(&place, &["configs", "apply", "-f", "otel.yaml", "--dry-run"]).contains("config/otel created")
    );
    bad(&place, &["configs", "show", "otel"], 3);
    assert_eq!(good(&place, &["configs", "apply", "-f", "otel.yaml"]), "config/otel created: revision 1\n");
    assert_eq!(good(&place, &["configs", "apply", "-f", "otel.yaml"]), "config/otel unchanged: revision 1\n");

    let target = ["otel", "-l", "service.name=demo-agent"];
    let plan = good(&place, &[&["assignments", "preview"], &target[..]].concat());
    assert!(plan.contains("1 agent matches") && plan.contains(&uid), "{plan}");
    let create = [&["assignments", "create"], &target[..]].concat();
    assert!(bad(&place, &create, 2).contains("no terminal to ask"));
    assert!(good(&place, &[&create[..], &["--dry-run"]].concat()).contains("Nothing was changed"));
    assert_eq!(json(&place, &["assignments", "list"])["total"], 0);
    let id = good(&place, &[&create[..], &["--yes", "--wait", "-o", "name"]].concat()).trim().to_owned();
    let one = json(&place, &["assignments", "show", &id]);
    assert_eq!((&one["state"], &one["settled_revision"]), (&"done".into(), &1.into()));
    assert_eq!(good(&place, &["assignments", "agents", &id, "-o", "name"]).trim(), uid);

    write(&place, "otel.yaml", &FIRST.replace("grpc: null", "http: null"));
    let changed = good(&place, &["configs", "apply", "-f", "otel.yaml", "-m", "http"]);
    assert!(changed.starts_with("config/otel changed: revision 2; 1 assignment goes on"), "{changed}");
    let diff = good(&place, &["configs", "diff", "otel"]);
    assert!(diff.contains("receiver otlp changed: protocols.grpc removed; protocols.http added"), "{diff}");
    let dry = good(&place, &["assignments", "set-revision", &id, "2", "--dry-run"]);
    assert!(dry.contains("from revision 1 to 2") && dry.contains("1 of them change"), "{dry}");
    good(&place, &["assignments", "set-revision", &id, "2", "--yes", "--wait"]);
    let back = good(&place, &["assignments", "rollback", &id, "1", "--yes", "--wait"]);
    assert!(back.contains(&format!("assignment/{id}")), "{back}");
    assert_eq!(json(&place, &["assignments", "show", &id])["settled_revision"], 1);
    assert_eq!(json(&place, &["configs", "history", "otel"])["items"][0]["message"], "http");

    bad(&place, &["configs", "rm", "otel", "--yes"], 1);
    good(&place, &["assignments", "rm", &id, "--yes"]);
    good(&place, &["configs", "rm", "otel", "--yes"]);
    server.stop();
}

#[test]
fn files_directories_and_standard_input_are_applied_item_by_item() {
    let place = Place::new();
    let (server, uid) = with_agent(&place);
    std::fs::create_dir_all(place.path("fleet/gateway")).unwrap();
    write(&place, "fleet/edge.yaml", FIRST);
    write(&place, "fleet/gateway/main.yaml", FIRST);
    write(&place, "fleet/broken.yaml", "a: 1\na: 2\n");
    assert!(bad(&place, &["configs", "apply", "-f", "fleet"], 5).contains("1 of 3"));
    write(&place, "fleet/broken.yaml", FIRST);
    assert_eq!(
        good(&place, &["configs", "apply", "-f", "fleet"]),
        "config/broken created: revision 1\nconfig/edge unchanged: revision 1\nconfig/gateway unchanged: revision 1\n"
    );
    let input = std::fs::File::open(place.path("fleet/edge.yaml")).unwrap();
    let piped = place.command(&["configs", "apply", "piped", "-f", "-"]).stdin(input).output().unwrap();
    assert_eq!(text(&piped.stdout), "config/piped created: revision 1\n");
    write(&place, "bad.yaml", "a: 1\na: 2\n");
    let wrong = bad(&place, &["configs", "apply", "-f", "bad.yaml"], 1);
    assert!(wrong.contains("bad.yaml:2:1: error: the key \"a\" occurs twice"), "{wrong}");
    let (code, out, _) = run(&place, &["configs", "check", "-f", "bad.yaml"]);
    assert_eq!((code, out.as_str()), (1, "bad.yaml:2:1: error: the key \"a\" occurs twice\n"));
    assert_eq!(json(&place, &["configs", "list"])["total"], 4);
    let imported = run(&place, &["configs", "import", "seen", "--from-agent", &uid]);
    assert!(imported.0 == 0 || imported.2.contains("secret") || imported.2.contains("mask"), "{imported:?}");
    server.stop();
}

#[test]
fn labels_pins_and_views_are_made_and_taken_back() {
    let place = Place::new();
    let (server, uid) = with_agent(&place);
    assert_eq!(
        good(&place, &["agents", "label", &uid, "team=a", "--yes"]),
        format!("agent/{uid} labelled\n")
    );
    assert!(good(&place, &["labels", "list"]).contains("team=a"));
    assert_eq!(good(&place, &["agents", "list", "-l", "team=a", "-o", "name"]).trim(), uid);
    let changed = good(&place, &["labels", "apply", "team-", "ring=0", "-l", "team=a", "--yes"]);
    assert_eq!(changed, "1 of 1 agents have other labels now\n");
    assert_eq!(json(&place, &["agents", "show", &uid])["labels"], serde_json::json!({ "ring": "0" }));
    assert!(bad(&place, &["labels", "apply", "team", "--all", "--yes"], 2).contains("KEY=VALUE"));

    write(&place, "pin.yaml", FIRST);
    good(&place, &["configs", "apply", "-f", "pin.yaml"]);
    assert!(
        good(&place, &["agents", "override", &uid, "pin", "--yes"]).contains("is pinned to pin revision 1")
    );
    assert_eq!(json(&place, &["agents", "show", &uid])["config"]["override"], true);
    assert!(good(&place, &["agents", "unset", &uid, "--yes"]).contains("follows its assignments"));

    good(&place, &["views", "create", "mine", "-l", "ring=0"]);
    assert!(good(&place, &["views", "list"]).contains("--selector \"ring=0\""));
    good(&place, &["views", "rm", "mine"]);
    assert!(bad(&place, &["views", "rm", "mine"], 3).contains("no view"));
    server.stop();
}
