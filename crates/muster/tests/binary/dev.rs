//! `muster dev`: a newcomer sees a live agent at once.

use serde_json::Value as Json;

use crate::configs::{FIRST, good, json, write};
use crate::process::{Place, Server, found};

fn start(place: &Place) -> Server {
    place.start(place.command(&["dev", "--opamp-listen", "127.0.0.1:0", "--listen", "127.0.0.1:0"]))
}

/// The demo agent once it is connected, as the command line shows it.
fn demo_agent(place: &Place) -> Json {
    let list = || place.run(&["agents", "list", "-o", "json", "--state", "connected"]);
    let told = || format!("{:?}", list());
    found(told, || {
        let page: Json = serde_json::from_slice(&list().stdout).ok()?;
        Some(page["items"][0].clone()).filter(|agent| agent["healthy"] == true)
    })
}

#[test]
fn dev_shows_a_live_agent_and_the_command_line_is_logged_in() {
    let place = Place::new();
    let server = start(&place);
    let agent = demo_agent(&place);
    assert_eq!((&agent["name"], &agent["transport"]), (&"demo-agent".into(), &"websocket".into()));
    let uid = agent["instance_uid"].as_str().unwrap().to_owned();
    let shown = place.run(&["agents", "show", "demo-agent", "-o", "json"]);
    let shown: Json = serde_json::from_slice(&shown.stdout).unwrap();
    assert_eq!(shown["instance_uid"], uid.as_str(), "the only one of that name");
    assert_eq!(shown["health"]["components"].as_object().unwrap().len(), 3);
    let file = &shown["effective_config"]["files"][0];
    assert!(
        file["redacted"] == true && !file["body"].as_str().unwrap().contains("not-a-real-token"),
        "{file}"
    );
    let password = server.ready.admin_password.clone().unwrap();
    let (_, out) = server.stop();
    assert!(out.contains(&password) && out.contains("muster agents list"), "{out}");
    assert!(out.contains("host      none: none was wanted"), "{out}");

    let server = start(&place);
    let again = demo_agent(&place);
    assert_eq!(again["instance_uid"], uid.as_str(), "the demo agent kept its identity");
    let (_, out) = server.stop();
    assert!(
        out.contains("admin reset-login --data-dir ./var/dev makes") && !out.contains(&password),
        "{out}"
    );
}

#[test]
fn dev_takes_another_port_when_its_own_is_taken_and_says_so() {
    let place = Place::new();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    let args = ["dev", "--no-demo-agent", "--opamp-listen", "127.0.0.1:0", "--listen", &address.to_string()];
    let server = place.start(place.command(&args));
    assert_ne!(server.ready.console, format!("http://{address}"));
    let (_, out) = server.stop();
    assert!(out.contains(&format!("--listen: port {} is taken", address.port())), "{out}");
}

#[test]
fn the_demo_agent_runs_what_it_was_given_again_after_a_restart() {
    let place = Place::new();
    let server = start(&place);
    demo_agent(&place);
    write(&place, "otel.yaml", FIRST);
    good(&place, &["configs", "apply", "-f", "otel.yaml"]);
    let create = ["assignments", "create", "otel", "-l", "service.name=demo-agent", "--yes", "--wait"];
    assert_eq!(json(&place, &create)["progress"]["applied"], 1);
    server.stop();

    let server = start(&place);
    let uid = demo_agent(&place)["instance_uid"].as_str().unwrap().to_owned();
    let shown = || json(&place, &["agents", "show", &uid]);
    let told = || shown().to_string();
    let agent = found(told, || {
        let agent = shown();
        let files = agent["effective_config"]["files"].to_string();
        (files.contains("debug") && agent["config"]["state"] == "in sync").then_some(agent)
    });
    assert_eq!(agent["drift"].as_array().map_or(0, Vec::len), 0, "{agent}");
    server.stop();
}
