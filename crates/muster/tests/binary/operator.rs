//! What an operator meets in passing: names of files, warnings, what a viewer is told, moments, exit codes.

use std::process::Output;

use serde_json::Value as Json;

use crate::configs::{FIRST, bad, good, json, run, write};
use crate::process::{Place, Server, text};

/// A command with text on its standard input.
fn fed(place: &Place, args: &[&str], input: &str) -> Output {
    let file = place.path("input");
    std::fs::write(&file, input).unwrap();
    place.command(args).stdin(std::fs::File::open(file).unwrap()).output().unwrap()
}

fn started(place: &Place) -> Server {
    let server = place.server(&["--insecure-http"]);
    let login = ["login", &server.ready.console, "--password-stdin", "--context", "admin"];
    let output = fed(place, &login, server.ready.admin_password.as_deref().unwrap());
    assert!(output.status.success(), "{}", text(&output.stderr));
    server
}

#[test]
fn one_file_is_unchanged_whatever_it_is_called_here() {
    let place = Place::new();
    let server = started(&place);
    std::fs::create_dir_all(place.path("deep/er")).unwrap();
    write(&place, "deep/er/collector.yaml", FIRST);
    write(&place, "other.yaml", FIRST);
    let apply = ["configs", "apply", "edge"];
    good(&place, &[&apply[..], &["-f", "deep/er/collector.yaml"]].concat());
    let unchanged = "config/edge unchanged: revision 1\n";
    assert_eq!(good(&place, &[&apply[..], &["-f", "other.yaml"]].concat()), unchanged);
    assert_eq!(text(&fed(&place, &[&apply[..], &["-f", "-"]].concat(), FIRST).stdout), unchanged);
    assert_eq!(json(&place, &["configs", "show", "edge"])["files"][0]["name"], "collector.yaml");
    assert_eq!(good(&place, &["configs", "diff", "edge", "-f", "other.yaml"]), "There is no difference.\n");

    let renamed = good(&place, &[&apply[..], &["-f", "other.yaml", "--file-name", "other.yaml"]].concat());
    assert!(renamed.starts_with("config/edge changed: revision 2"), "{renamed}");
    assert_eq!(json(&place, &["configs", "show", "edge"])["files"][0]["name"], "other.yaml");
    let two = ["-f", "other.yaml", "-f", "deep/er/collector.yaml", "--file-name", "x"];
    assert!(bad(&place, &[&apply[..], &two].concat(), 2).contains("--file-name: there are 2 files"));
    bad(&place, &[&apply[..], &["-f", "nothing.yaml"]].concat(), 3);
    server.stop();
}

#[test]
fn warnings_are_said_beside_the_result_and_stand_in_the_json() {
    let place = Place::new();
    let server = started(&place);
    write(
        &place,
        "odd.yaml",
        &FIRST.replace("exporters: {debug: null}", "exporters: {debug: null, nop: null}"),
    );
    let (code, out, err) = run(&place, &["configs", "apply", "-f", "odd.yaml"]);
    assert_eq!((code, out.as_str()), (0, "config/odd created: revision 1\n"));
    assert_eq!(err, "odd.yaml:2:26: warning: no pipeline uses the exporter nop\n");
    let (_, out, err) = run(&place, &["configs", "apply", "-f", "odd.yaml", "-o", "json"]);
    let outcome: Json = serde_json::from_str(&out).unwrap();
    assert_eq!((&outcome[0]["outcome"], err.as_str()), (&"unchanged".into(), ""));
    assert_eq!(outcome[0]["warnings"][0]["message"], "no pipeline uses the exporter nop");

    for (body, what) in [("hello\n", "this is a single value"), ("", "the file is empty")] {
        let checked = fed(&place, &["configs", "check", "-f", "-"], body);
        assert_eq!(checked.status.code(), Some(0));
        let out = text(&checked.stdout);
        assert!(out.contains("warning: ") && out.contains(what), "{body:?}: {out}");
    }
    server.stop();
}

#[test]
fn a_viewer_is_told_what_applying_would_do_though_secrets_are_masked() {
    let place = Place::new();
    let server = started(&place);
    let body = format!("{FIRST}extensions: {{a: {{password: hunter2hunter2}}}}\n");
    write(&place, "edge.yaml", &body);
    good(&place, &["configs", "apply", "-f", "edge.yaml"]);
    let token = json(&place, &["api-tokens", "create", "look"])["token"].as_str().unwrap().to_owned();
    let shown = good(&place, &["configs", "show", "edge", "--token", &token]);
    assert!(!shown.contains("hunter2"), "{shown}");
    let dry = ["configs", "apply", "-f", "edge.yaml", "--dry-run", "--token", &token];
    assert_eq!(good(&place, &dry), "config/edge unchanged: revision 1 (--dry-run)\n");
    let diff = ["configs", "diff", "edge", "-f", "edge.yaml", "--token", &token];
    assert_eq!(good(&place, &diff), "There is no difference.\n");
    bad(&place, &["configs", "apply", "new", "-f", "edge.yaml", "--token", &token], 4);
    write(&place, "edge.yaml", &body.replace("hunter2hunter2", "other-secret"));
    assert_eq!(good(&place, &dry), "config/edge changed: revision 2 (--dry-run)\n");
    server.stop();
}

#[test]
fn the_trail_is_asked_by_how_long_ago() {
    let place = Place::new();
    let server = started(&place);
    good(&place, &["tokens", "create", "rack"]);
    let total = |args: &[&str]| {
        json(&place, &[&["audit", "--actor", "admin", "--action", "token.create"], args].concat())["total"]
            .clone()
    };
    assert_eq!(total(&["--since", "1h"]), 1);
    assert_eq!(total(&["--until", "2h"]), 0);
    assert_eq!(total(&["--since", "7d", "--until", "2099-01-01T00:00:00Z"]), 1);
    assert!(bad(&place, &["audit", "--since", "yesterday"], 2).contains("30m, 2h, 7d"));
    server.stop();
}

#[test]
fn the_doctor_reports_a_data_directory_that_is_not_there() {
    let place = Place::new();
    let free = ["--listen", "127.0.0.1:0", "--opamp-listen", "127.0.0.1:0"];
    let (code, out, _) = run(&place, &[&["doctor"], &free[..]].concat());
    assert!(code == 0 && out.contains("warning   data directory: there is no data directory"), "{out}");
    let (code, out, _) = run(&place, &[&["doctor", "--data-dir", "nowhere"], &free[..]].concat());
    assert!(
        code == 1 && out.contains("FAILED    data directory: there is no data directory nowhere"),
        "{out}"
    );
}
