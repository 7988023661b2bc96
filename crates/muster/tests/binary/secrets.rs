//! Secrets are never in the log, whatever the level.

use testkit::raw::Connection;

use crate::process::{Place, text};

#[test]
fn no_token_and_no_password_is_ever_in_the_log() {
    let place = Place::new();
    let server = place.server(&["--insecure-http", "--debug"]);
    let password = server.ready.admin_password.clone().unwrap();
    let token = server.ready.enrolment_token.clone().unwrap();
    let file = place.path("password");
    std::fs::write(&file, &password).unwrap();
    for _ in 0..2 {
        let mut login = place.command(&["login", &server.ready.console, "--password-stdin"]);
        assert!(login.stdin(std::fs::File::open(&file).unwrap()).output().unwrap().status.success());
        std::fs::write(place.path("wrong"), "wr0ng-passw0rd").unwrap();
        let mut wrong = place.command(&["login", &server.ready.console, "--password-stdin"]);
        let output = wrong.stdin(std::fs::File::open(place.path("wrong")).unwrap()).output().unwrap();
        assert_eq!(output.status.code(), Some(4), "{}", text(&output.stderr));
    }
    let made = place.run(&["tokens", "create", "edge", "-o", "name"]);
    let made = text(&made.stdout).trim().to_owned();
    let contexts = std::fs::read_to_string(place.path(".config/muster/contexts.json")).unwrap();
    let session = contexts.split("mss_").nth(1).unwrap()[..64].to_owned();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        for bearer in [&token, &made, &"mst_unknown-but-secret".to_owned()] {
            let mut connection = Connection::to(server.opamp()).await;
            connection.upgrade("/v1/opamp", &[("authorization", &format!("Bearer {bearer}"))]).await;
        }
    });
    let (log, _) = server.stop();
    assert!(log.contains("logged in"), "{log}");
    for secret in [password.as_str(), &token, &made, &session, "wr0ng-passw0rd", "unknown-but-secret"] {
        assert!(!log.contains(secret), "{secret} is in the log: {log}");
    }
}
