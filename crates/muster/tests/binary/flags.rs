//! Wrong flags: each is named, nothing is made, the exit code says "wrong usage".

use crate::process::{Place, exists, text};

#[test]
fn a_wrong_flag_is_named_and_nothing_is_made() {
    let place = Place::new();
    let cases: [(&[&str], &str); 9] = [
        (&["--listen", "nowhere"], "--listen: "),
        (&["--opamp-listen", "1.2.3.4"], "--opamp-listen: "),
        (&["--insecure-http"], "--insecure-http: is for trials on one machine"),
        (&["--tls-cert", "a.pem"], "--tls-cert: needs --tls-key"),
        (&["--tls-key", "a.pem"], "--tls-key: needs --tls-cert"),
        (&["--public-url", "muster"], "--public-url: "),
        (&["--trusted-proxy", "proxy.example"], "--trusted-proxy: "),
        (&["--max-message", "1GiB"], "--max-message: "),
        (&["--agent-expiry", "soon"], "--agent-expiry: "),
    ];
    for (flags, start) in cases {
        let output = place.run(&[&["server", "--data-dir", "data"], flags].concat());
        let err = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{flags:?}: {err}");
        assert!(err.starts_with(&format!("muster: {start}")), "{flags:?}: {err}");
        assert!(err.lines().count() <= 2, "{err}");
    }
    let unknown = place.run(&["server", "--colour"]);
    assert_eq!(unknown.status.code(), Some(2));
    let env = place.command(&["server"]).env("MUSTER_MAX_MESSAGE", "lots").output().unwrap();
    assert!(text(&env.stderr).starts_with("muster: --max-message: "));
    assert!(!exists(&place.path("data")) && !exists(&place.path("muster-data")));
}

#[test]
fn a_damaged_database_is_named_and_what_to_do_is_said() {
    let place = Place::new();
    place.server(&["--insecure-http"]).stop();
    let path = place.path("data/muster.db");
    let script = "import sqlite3, sys; db = sqlite3.connect(sys.argv[1]); \
                  db.execute('PRAGMA wal_checkpoint(TRUNCATE)'); db.close()";
    let python = std::process::Command::new("python3").args(["-c", script]).arg(&path).status().unwrap();
    assert!(python.success());
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[100..].fill(0xa5);
    std::fs::write(&path, bytes).unwrap();
    let listen = ["--listen", "127.0.0.1:0", "--opamp-listen", "127.0.0.1:0"];
    let output = place.run(&[&["server", "--data-dir", "data", "--insecure-http"], &listen[..]].concat());
    assert_eq!(output.status.code(), Some(1));
    let err = text(&output.stderr);
    assert!(err.contains("data/muster.db") && err.contains("put a back-up in its place"), "{err}");
}

#[test]
fn a_certificate_that_cannot_be_used_names_its_flag() {
    let place = Place::new();
    std::fs::write(place.path("cert.pem"), "junk").unwrap();
    let listen = ["--listen", "127.0.0.1:0", "--opamp-listen", "127.0.0.1:0"];
    let files = ["--tls-cert", "cert.pem", "--tls-key", "none.pem"];
    let output = place.run(&[&["server", "--data-dir", "data"], &listen[..], &files[..]].concat());
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).starts_with("muster: --tls-cert: cert.pem"), "{}", text(&output.stderr));
}

#[test]
fn a_port_that_is_taken_names_the_flag_and_a_second_server_on_the_same_data_is_refused() {
    let place = Place::new();
    let server = place.server(&["--insecure-http"]);
    let taken = server.opamp().to_string();
    let fixed = ["server", "--data-dir", "other", "--insecure-http", "--listen", "127.0.0.1:0"];
    let output = place.run(&[&fixed[..], &["--opamp-listen", &taken]].concat());
    assert_eq!(output.status.code(), Some(1));
    let err = text(&output.stderr);
    assert!(err.contains(&format!("--opamp-listen: cannot listen on {taken}: another program has")), "{err}");
    let fixed = ["server", "--data-dir", "data", "--insecure-http", "--listen", "127.0.0.1:0"];
    let output = place.run(&[&fixed[..], &["--opamp-listen", "127.0.0.1:0"]].concat());
    assert_eq!(output.status.code(), Some(1));
    let err = text(&output.stderr);
    assert!(err.contains("--data-dir: another muster server is running on data"), "{err}");
    // Mostly it is the same port as well.
    let output = place.run(&[&fixed[..], &["--opamp-listen", &taken]].concat());
    let err = text(&output.stderr);
    assert!(err.contains("another muster server is running on data, and has the port"), "{err}");
    server.stop();
}

#[test]
fn a_database_of_a_newer_version_is_refused_and_left_alone() {
    let place = Place::new();
    place.server(&["--insecure-http"]).stop();
    let path = place.path("data/muster.db");
    let script = "import sqlite3, sys; db = sqlite3.connect(sys.argv[1]); \
                  db.execute('UPDATE migration SET version = 9999 WHERE version = (SELECT max(version) FROM \
                  migration)'); db.commit(); db.close()";
    let python = std::process::Command::new("python3").args(["-c", script]).arg(&path).status().unwrap();
    assert!(python.success());
    let bytes = std::fs::read(&path).unwrap();
    let fixed = ["server", "--data-dir", "data", "--insecure-http", "--listen", "127.0.0.1:0"];
    let output = place.run(&[&fixed[..], &["--opamp-listen", "127.0.0.1:0"]].concat());
    assert_eq!(output.status.code(), Some(1));
    let err = text(&output.stderr);
    assert!(err.contains("schema 9999") && err.contains("newer"), "{err}");
    assert_eq!(std::fs::read(&path).unwrap(), bytes);
}

#[test]
fn a_missing_key_file_is_a_clear_error() {
    let place = Place::new();
    place.server(&[]).stop();
    std::fs::remove_file(place.path("data/master.key")).unwrap();
    let listen = ["--listen", "127.0.0.1:0", "--opamp-listen", "127.0.0.1:0"];
    let output = place.run(&[&["server", "--data-dir", "data"], &listen[..]].concat());
    assert_eq!(output.status.code(), Some(1));
    let err = text(&output.stderr);
    assert!(err.contains("master.key is missing") && err.contains("--key-file"), "{err}");
}
