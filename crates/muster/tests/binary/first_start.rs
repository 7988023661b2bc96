//! What a first start prints and a second one does not.

use crate::process::{Place, exists, text};

#[test]
fn a_first_start_prints_login_and_token_once_and_tells_how_to_connect_an_agent() {
    let place = Place::new();
    let server = place.server(&[]);
    let ready = server.ready.clone();
    let (password, token) = (ready.admin_password.unwrap(), ready.enrolment_token.unwrap());
    let ca_file = ready.ca_file.unwrap();
    assert!(ca_file.is_absolute() && exists(&ca_file));
    assert_eq!(ready.pid, server.child.id());
    assert!(ready.opamp.starts_with("https://127.0.0.1:") && ready.opamp.ends_with("/v1/opamp"));
    let (_, out) = server.stop();
    assert!(out.contains(&password) && out.contains(&format!("Authorization: Bearer {token}")), "{out}");
    assert!(
        out.contains(&format!("ca_file: {}", ca_file.display())) && out.contains("endpoint: wss://"),
        "{out}"
    );

    let server = place.server(&[]);
    assert!(server.ready.admin_password.is_none() && server.ready.enrolment_token.is_none());
    let mut login = place.command(&["login", &server.ready.console, "--password-stdin", "--fingerprint"]);
    let fingerprint = out.lines().find_map(|line| line.strip_prefix("CA        ")).unwrap();
    let file = place.path("password");
    std::fs::write(&file, password).unwrap();
    let login = login.arg(fingerprint.split(' ').next().unwrap()).stdin(std::fs::File::open(file).unwrap());
    let output = login.output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    let (_, out) = server.stop();
    assert!(out.contains("console   https://127.0.0.1:") && !out.contains("mst_"), "{out}");
    let hint = "Nobody has logged in yet. If the password of the first start is lost, make another:\n  \
                muster admin reset-login --data-dir data\n";
    assert!(out.contains(hint), "{out}");

    let (_, out) = place.server(&[]).stop();
    assert!(out.contains("console   https://127.0.0.1:") && !out.contains("login"), "{out}");
}

#[test]
fn reset_login_prints_a_new_password_also_while_the_server_runs() {
    let place = Place::new();
    let server = place.server(&["--insecure-http"]);
    let output = place.run(&["admin", "reset-login", "--data-dir", "data"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let out = text(&output.stdout);
    let password = out.lines().find_map(|line| line.strip_prefix("password  ")).unwrap();
    assert_ne!(Some(password), server.ready.admin_password.as_deref());
    let mut login = place.command(&["login", &server.ready.console, "--password-stdin"]);
    let file = place.path("password");
    std::fs::write(&file, password).unwrap();
    let output = login.stdin(std::fs::File::open(file).unwrap()).output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    let nowhere = place.run(&["admin", "reset-login", "--data-dir", "nowhere"]);
    assert_eq!(nowhere.status.code(), Some(1));
    assert!(text(&nowhere.stderr).contains("--data-dir: there is no database at nowhere/muster.db"));
    server.stop();
}
