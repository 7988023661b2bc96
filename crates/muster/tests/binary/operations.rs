//! Back-up, restore and doctor as commands: what they print, their exit codes.

use serde_json::Value as Json;

use crate::process::{Place, text};

#[test]
fn a_back_up_is_made_beside_a_running_server_and_restored_into_a_new_directory() {
    let place = Place::new();
    let server = place.server(&["--insecure-http"]);
    let made = place.run(&["backup", "--data-dir", "data", "--to", "b.tar.gz"]);
    assert!(made.status.success(), "{}", text(&made.stderr));
    assert!(text(&made.stdout).contains("is NOT in it"), "{}", text(&made.stdout));
    assert_eq!(place.run(&["backup", "--data-dir", "data", "--to", "b.tar.gz"]).status.code(), Some(2));
    assert_eq!(place.run(&["backup", "--data-dir", "nowhere", "--to", "c"]).status.code(), Some(3));
    assert_eq!(place.run(&["restore", "b.tar.gz", "--data-dir", "data"]).status.code(), Some(2));
    assert_eq!(place.run(&["restore", "nofile", "--data-dir", "other"]).status.code(), Some(3));
    server.stop();
    let restored = place.run(&["restore", "b.tar.gz", "--data-dir", "new", "--key-file", "data/master.key"]);
    assert!(restored.status.success(), "{}", text(&restored.stderr));
    std::fs::rename(place.path("data"), place.path("lost")).unwrap();
    std::fs::rename(place.path("new"), place.path("data")).unwrap();
    let server = place.server(&["--insecure-http", "--key-file", "lost/master.key"]);
    assert!(server.ready.admin_password.is_none());
    assert!(server.log().contains("the data was restored at"), "{}", server.log());
    server.stop();
}

/// Runs the doctor; whether all is well, and the states of its checks.
fn doctor(place: &Place, args: &[&str]) -> (Option<i32>, Json) {
    let output = place.run(&[&["doctor", "-o", "json"][..], args].concat());
    let report: Json =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", text(&output.stderr)));
    (output.status.code(), report)
}

fn state<'a>(report: &'a Json, check: &str) -> &'a str {
    let checks = report["checks"].as_array().unwrap();
    let found = checks.iter().find(|one| one["check"] == check);
    found.unwrap_or_else(|| panic!("{check} is not in {report}"))["state"].as_str().unwrap()
}

const FREE: [&str; 4] = ["--listen", "127.0.0.1:0", "--opamp-listen", "127.0.0.1:0"];

#[test]
fn the_doctor_works_with_nothing_there_and_beside_a_running_server() {
    let place = Place::new();
    let (code, report) = doctor(&place, &FREE);
    assert_eq!((code, &report["ok"]), (Some(0), &Json::Bool(true)), "{report}");
    assert_eq!((state(&report, "database"), state(&report, "server")), ("skipped", "skipped"));

    let server = place.server(&["--insecure-http"]);
    let (opamp, url) = (server.opamp().to_string(), server.ready.console.clone());
    let console = url.replace("http://", "");
    let args = ["--data-dir", "data", "--listen", &console, "--opamp-listen", &opamp, "--url", &url];
    let (code, report) = doctor(&place, &args);
    assert_eq!(code, Some(0), "{report}");
    for check in ["data directory", "database", "key file", "port of agents", "server", "clock"] {
        assert_eq!(state(&report, check), "ok", "{report}");
    }
    let nothing_runs = ["--listen", &console, "--opamp-listen", &opamp];
    let (code, report) = doctor(&place, &nothing_runs);
    // Without its data nobody can tell whether it is the server that has the ports.
    assert_eq!((code, state(&report, "port of agents")), (Some(0), "warning"), "{report}");
    std::fs::create_dir(place.path("other")).unwrap();
    let (code, report) = doctor(&place, &[&["--data-dir", "other"][..], &nothing_runs[..]].concat());
    assert_eq!((code, state(&report, "port of agents")), (Some(1), "failed"), "{report}");
    server.stop();
    let (code, report) = doctor(&place, &[&args[..2], &FREE[..], &args[6..]].concat());
    assert_eq!((code, state(&report, "server")), (Some(1), "failed"), "{report}");
    let table = place.run(&[&["doctor", "--data-dir", "data"], &FREE[..]].concat());
    assert!(text(&table.stdout).contains("ok        database: "), "{}", text(&table.stdout));
}

#[test]
fn the_doctor_finds_what_is_broken_and_says_what_to_do() {
    let place = Place::new();
    place.server(&[]).stop();
    let data = [&["--data-dir", "data"][..], &FREE[..]].concat();
    std::fs::rename(place.path("data/master.key"), place.path("key")).unwrap();
    let (code, report) = doctor(&place, &data);
    assert_eq!((code, state(&report, "key file")), (Some(1), "failed"), "{report}");
    assert_eq!(state(&report, "authority"), "ok");
    assert_eq!(doctor(&place, &[&data[..], &["--key-file", "key"][..]].concat()).0, Some(0));
    let mut mode = std::fs::metadata(place.path("data")).unwrap().permissions();
    std::os::unix::fs::PermissionsExt::set_mode(&mut mode, 0o755);
    std::fs::set_permissions(place.path("data"), mode).unwrap();
    let (_, report) = doctor(&place, &data);
    assert_eq!(state(&report, "data directory"), "warning", "{report}");
    for file in ["muster.db-wal", "muster.db-shm"] {
        let _ = std::fs::remove_file(place.path("data").join(file));
    }
    std::fs::write(place.path("data/muster.db"), "junk ".repeat(2000)).unwrap();
    let (code, report) = doctor(&place, &data);
    assert_eq!((code, state(&report, "database")), (Some(1), "failed"), "{report}");
    let names = ["--tls-cert", "cert.pem", "--public-url", "https://muster.example.org"];
    let (certificate, _) = testkit::certificates::Authority::new("test").issue_pem(&["localhost"]);
    std::fs::write(place.path("cert.pem"), certificate).unwrap();
    let (_, report) = doctor(&place, &[&FREE[..], &names[..]].concat());
    assert_eq!((state(&report, "certificate"), state(&report, "names")), ("ok", "failed"), "{report}");
}
