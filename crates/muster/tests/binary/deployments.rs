//! Deployments from the command line on a host that is simulated: followed to their end, with the exit code of how it went.

use std::io::{BufRead, BufReader, Read};
use std::process::Stdio;
use std::sync::{Arc, Mutex};

use testkit::sim_host::Seen;
use testkit::{Fate, Machine, Opening, SimHost};
use tokio::runtime::Runtime;

use crate::configs::{bad, good, json, run, write};
use crate::hosting::started;
use crate::process::{Place, Server, found};

/// A server with one host, which does as it is told for as long as this lives.
struct World {
    place: Place,
    server: Server,
    seen: Arc<Mutex<Seen>>,
    _runtime: Runtime,
}

impl World {
    fn new() -> Self {
        let place = Place::new();
        let server = started(&place, &[]);
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let mut adding = place.command(&["hosts", "add", "h1", "--wait"]);
        let mut adding = adding.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(adding.stdout.take().unwrap()).lines().map(Result::unwrap);
        let command = lines.find(|line| line.contains("mst_join_")).unwrap();
        let start = command.find("mst_join_").unwrap();
        let token: String =
            command[start..].chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect();
        // The machine joins only once the command has shown what it waits for: a quick one would be joined before that.
        let mut shown = BufReader::new(adding.stderr.take().unwrap());
        let mut said = String::new();
        while !said.contains("[ ] the machine joins") {
            assert_ne!(shown.read_line(&mut said).unwrap(), 0, "{said}");
        }
        let address = server.console();
        let seen = runtime.block_on(async {
            let machine = Machine::named("h1");
            let answer =
                machine.join(address, &token).await.unwrap_or_else(|answer| panic!("{}", answer.text()));
            let host =
                SimHost::connect(address, answer.host_token.expose(), &machine, Opening::default()).await;
            let seen = host.seen.clone();
            tokio::spawn(host.live());
            seen
        });
        assert!(lines.any(|line| line.contains("host/h1 is ready")));
        shown.read_to_string(&mut said).unwrap();
        assert!(adding.wait().unwrap().success(), "{said}");
        assert!(said.contains("[x] joined as h1") && said.contains("[x] engine 28.5.2 answers"), "{said}");
        Self { place, server, seen, _runtime: runtime }
    }

    fn compose(&self, image: &str, replicas: u32) {
        let text = format!(
            "name: shop\nservices:\n  web: {{image: \"{image}\", ports: [\"8080:80\"], deploy: {{replicas: {replicas}}}}}\n"
        );
        write(&self.place, "compose.yaml", &text);
    }
}

#[test]
fn a_deployment_is_followed_to_its_end_and_scaled_and_rolled_back() {
    let world = World::new();
    let place = &world.place;
    world.compose("web:1", 1);
    let asked = run(place, &["deploy"]);
    assert!(asked.0 == 2 && asked.1.contains("+ web: 1 replica of web:1 on h1"), "{asked:?}");
    let dry = good(place, &["deploy", "--dry-run"]);
    assert!(dry.contains("+ web: 1 replica") && dry.contains("Nothing was changed"), "{dry}");
    let (code, out, said) = run(place, &["deploy", "--yes", "-m", "first"]);
    assert_eq!((code, out.trim()), (0, "deployment/1 of shop is done"), "{said}");
    assert!(said.contains("web: done, release 1, 1 of 1 ready"), "{said}");
    assert!(good(place, &["deploy", "--yes"]).contains("nothing to do"));
    assert!(good(place, &["diff"]).contains("nothing to do"));

    assert!(good(place, &["services", "list"]).contains("8080/tcp"));
    let replicas = json(place, &["ps", "-p", "shop"])["items"].clone();
    assert_eq!(
        (&replicas[0]["state"], &replicas[0]["host"]),
        (&"running".into(), &"h1".into()),
        "{replicas}"
    );
    assert!(good(place, &["ps"]).contains("shop/web-1"));
    assert_eq!(good(place, &["logs", "shop/web", "--tail", "5"]), "web-1 | a line\n");
    assert_eq!(good(place, &["logs", "shop", "-o", "name"]), "a line\n");
    let none = bad(place, &["logs", "shop/web", "--replica", "7"], 3);
    assert!(none.contains("shop/web has no replica 7") && none.contains("There are: 1"), "{none}");

    let scaled = good(place, &["services", "scale", "shop/web=2", "--yes"]);
    assert!(scaled.contains("is done"), "{scaled}");
    assert_eq!(json(place, &["ps", "shop"])["items"].as_array().unwrap().len(), 2);
    assert!(good(place, &["services", "scale", "shop/web=2", "--yes"]).contains("2 replicas already"));

    world.compose("web:2", 2);
    assert!(good(place, &["diff"]).contains("image web:1 → web:2"));
    good(place, &["deploy", "--yes"]);
    let back = run(place, &["services", "rollback", "shop/web", "--dry-run"]);
    assert!(back.1.contains("Roll shop/web back from release 3 (web:2"), "{back:?}");
    good(place, &["services", "rollback", "shop/web", "--yes"]);
    assert_eq!(json(place, &["services", "show", "shop/web"])["image"], "web:1");
    assert!(good(place, &["services", "releases", "shop/web"]).contains("(current)"));
    bad(place, &["services", "rollback", "shop/web", "--to", "99", "--yes"], 3);
    bad(place, &["deployments", "abort", "1", "--yes"], 1);
    assert!(good(place, &["deployments", "show", "1", "--wait"]).contains("first"));
    world.server.stop();
}

#[test]
fn a_deployment_that_cannot_work_goes_back_and_says_why() {
    let world = World::new();
    let place = &world.place;
    world.compose("web:1", 1);
    good(place, &["deploy", "--yes"]);
    world.seen.lock().unwrap().fates.insert("docker.io/library/bad:1".to_owned(), Fate::NoImage);
    world.compose("bad:1", 1);
    let (code, out, said) = run(place, &["deploy", "--yes", "-o", "json"]);
    let ended: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!((code, &ended["state"]), (1, &"rolled back".into()), "{out} {said}");
    assert!(said.contains("was rolled back: web: no such image"), "{said}");
    assert_eq!(json(place, &["services", "show", "shop/web"])["image"], "web:1");
    world.server.stop();
}

#[test]
fn a_deployment_says_who_serves_and_what_keeps_the_new_release_from_starting() {
    let world = World::new();
    let place = &world.place;
    world.compose("web:1", 1);
    good(place, &["deploy", "--yes"]);
    world.seen.lock().unwrap().fates.insert("docker.io/library/far:1".to_owned(), Fate::NoRegistry);
    world.compose("far:1", 1);
    good(place, &["deploy", "--yes", "--no-wait"]);
    let show = || good(place, &["deployments", "show", "2"]);
    let told = found(show, || Some(show()).filter(|text| text.contains("does not answer")));
    let line = told.lines().find(|line| line.contains("web: ")).unwrap();
    assert!(
        line.contains("web: waiting, release 1 to 2, old release 1 serves, 0 of 1 new ready, waits for ")
    );
    assert!(line.ends_with(": the registry does not answer"), "{line}");
    good(place, &["deployments", "abort", "2", "--yes"]);
    let back = run(place, &["deployments", "show", "2", "--wait"]);
    assert!(back.0 == 1 && back.1.contains("web: as before, release 1"), "{back:?}");
    world.server.stop();
}

#[test]
fn going_back_leaves_out_releases_that_never_served() {
    let world = World::new();
    let place = &world.place;
    world.compose("web:1", 1);
    good(place, &["deploy", "--yes"]);
    let said = bad(place, &["services", "rollback", "shop/web", "--yes"], 3);
    assert!(said.contains("no earlier release that served") && said.contains("--to"), "{said}");
    world.seen.lock().unwrap().fates.insert("docker.io/library/bad:1".to_owned(), Fate::Unhealthy);
    world.compose("bad:1", 1);
    assert_eq!(run(place, &["deploy", "--yes"]).0, 1);
    let said = bad(place, &["services", "rollback", "shop/web", "--yes"], 3);
    assert!(said.contains("no earlier release that served"), "{said}");
    world.compose("web:2", 1);
    good(place, &["deploy", "--yes"]);
    let plan = run(place, &["services", "rollback", "shop/web", "--dry-run"]).1;
    assert!(plan.contains("from release 3 (web:2") && plan.contains("to release 1 (web:1"), "{plan}");
    assert!(plan.contains("release 2 never served"), "{plan}");
    let releases = json(place, &["services", "releases", "shop/web"])["items"].clone();
    let changes = |place: usize| releases[place]["changes"].clone();
    let served = serde_json::json!(["image web:1 → web:2"]);
    assert_eq!((changes(0), changes(2)), (served, serde_json::json!([])), "what ran before: {releases}");
    let (code, _, said) = run(place, &["services", "rollback", "shop/web", "--yes"]);
    assert!(code == 0 && said.contains("web: done, release 3 to 1"), "{code} {said}");
    assert_eq!(json(place, &["services", "show", "shop/web"])["image"], "web:1");
    let listed = good(place, &["services", "releases", "shop/web"]);
    assert!(listed.contains("2 (never served)") && listed.contains("1 (current)"), "{listed}");
    world.server.stop();
}

#[test]
fn replicas_that_share_a_volume_are_warned_of() {
    let world = World::new();
    let place = &world.place;
    let compose = |count: u32| {
        let service = format!("{{image: 'db:1', volumes: ['data:/data'], deploy: {{replicas: {count}}}}}");
        write(
            place,
            "compose.yaml",
            &format!("name: shop\nservices:\n  db: {service}\nvolumes: {{data: {{}}}}\n"),
        );
    };
    compose(1);
    let (code, _, said) = run(place, &["deploy", "--yes"]);
    assert!(code == 0 && !said.contains("share"), "{code} {said}");
    let words = "its 3 replicas share the volume data, which is on h1: all of them run there";
    let (code, _, said) = run(place, &["services", "scale", "shop/db=3", "--dry-run"]);
    assert!(code == 0 && said.contains(&format!("warning: shop/db: {words}")), "{code} {said}");
    compose(3);
    let (code, _, said) = run(place, &["diff"]);
    assert!(code == 0 && said.contains(&format!("warning: db: {words}")), "{code} {said}");
    world.server.stop();
}

#[test]
fn an_end_that_does_not_come_in_time_has_its_own_exit_code_and_is_aborted() {
    let world = World::new();
    let place = &world.place;
    world.seen.lock().unwrap().fates.insert("docker.io/library/slow:1".to_owned(), Fate::Slow);
    world.compose("slow:1", 1);
    let (code, _, said) = run(place, &["deploy", "--yes", "--timeout", "1s"]);
    assert!(code == 6 && said.contains("muster deployments show 1 --wait"), "{code} {said}");
    let begun = good(place, &["deployments", "list"]);
    assert!(begun.contains("running"), "{begun}");
    assert!(good(place, &["deployments", "abort", "1", "--dry-run"]).contains("go back"));
    good(place, &["deployments", "abort", "1", "--yes"]);
    let (code, _, said) = run(place, &["deployments", "show", "1", "--wait"]);
    assert!(code == 1 && said.contains("aborted by admin"), "{code} {said}");
    world.server.stop();
}

#[test]
fn lines_are_followed_and_repeated_ones_are_printed_once() {
    let world = World::new();
    let place = &world.place;
    world.compose("web:1", 1);
    good(place, &["deploy", "--yes"]);
    let mut following =
        place.command(&["logs", "shop/web", "--follow"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(following.stdout.take().unwrap()).lines().map(Result::unwrap);
    assert_eq!(lines.next().as_deref(), Some("web-1 | a line"));
    // The stream is opened again for the new replica, and the host says everything once more.
    good(place, &["services", "scale", "shop/web=2", "--yes"]);
    assert_eq!(lines.next().as_deref(), Some("web-2 | a line"));
    following.kill().unwrap();
    following.wait().unwrap();
    assert_eq!(lines.next(), None);
    world.server.stop();
}

#[test]
fn a_host_is_changed_and_leaves_once_nothing_is_meant_to_run_there() {
    let world = World::new();
    let place = &world.place;
    good(
        place,
        &["hosts", "set", "h1", "-l", "zone=a", "-l", "disk=ssd", "--allow-path", "/srv/data", "--cordon"],
    );
    good(place, &["hosts", "set", "h1", "-l", "disk-"]);
    let shown = good(place, &["hosts", "show", "h1"]);
    assert!(
        shown.contains("zone=a") && !shown.contains("disk=ssd") && shown.contains("/srv/data"),
        "{shown}"
    );
    assert!(good(place, &["hosts", "list"]).contains("online, cordoned"));
    world.compose("web:1", 1);
    let (code, _, said) = run(place, &["deploy", "--yes"]);
    assert!(code == 1 && said.contains("cannot be deployed"), "{code} {said}");
    good(place, &["hosts", "set", "h1", "--uncordon"]);
    good(place, &["deploy", "--yes"]);
    assert!(bad(place, &["hosts", "rm", "h1", "--yes"], 1).contains("1 replica is meant to run on h1"));
    assert!(run(place, &["projects", "rm", "shop"]).1.contains("1 service stop (web)"));
    assert_eq!(good(place, &["projects", "rm", "shop", "--yes"]), "project/shop is removed\n");
    bad(place, &["projects", "show", "shop"], 3);
    assert_eq!(good(place, &["hosts", "rm", "h1", "--yes"]), "host/h1 is removed\n");
    assert!(good(place, &["hosts", "list"]).contains("There is no host"));
    world.server.stop();
}
