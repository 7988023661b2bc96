//! The first start, the next ones, and what must stop a start.

use std::os::unix::fs::MetadataExt;

use api::{Client, ClientError, Trust};
use control_plane::{App, BuildError, RawConfig};

use crate::world::{World, checked, settings};

fn mode(path: std::path::PathBuf) -> u32 {
    std::fs::metadata(path).unwrap().mode() & 0o777
}

fn with_tls(dir: &std::path::Path) -> RawConfig {
    RawConfig { insecure_http: false, ..settings(dir) }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_first_start_makes_everything_and_only_its_owner_can_read_it() {
    let parent = tempfile::tempdir().unwrap();
    let dir = parent.path().join("a/b");
    let world = World::with(with_tls(&dir)).await;
    assert_eq!(
        (mode(dir.clone()), mode(dir.join("master.key")), mode(dir.join("ca.pem"))),
        (0o700, 0o600, 0o644)
    );
    assert!(world.first.admin_password.is_some() && world.first.enrolment_token.is_some());
    let database = std::fs::read(dir.join("muster.db")).unwrap();
    let wal = std::fs::read(dir.join("muster.db-wal")).unwrap_or_default();
    for secret in [world.token(), world.first.admin_password.clone().unwrap(), "PRIVATE KEY".to_owned()] {
        for file in [&database, &wal] {
            assert!(
                !file.windows(secret.len()).any(|window| window == secret.as_bytes()),
                "a secret in clear"
            );
        }
    }
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tls_is_on_and_the_pinned_authority_outlives_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::with(with_tls(dir.path())).await;
    let fingerprint = world.ca_fingerprint.clone().unwrap();
    let url = format!("https://localhost:{}", world.console.port());
    let mut pin = [0; 32];
    hex::decode_to_slice(&fingerprint, &mut pin).unwrap();
    let error = |trust| {
        let client = Client::new(&url, &trust, None).unwrap();
        async move { client.session().await.unwrap_err() }
    };
    assert_eq!(error(Trust::Pinned(pin)).await.status(), Some(401));
    assert!(matches!(error(Trust::Pinned([7; 32])).await, ClientError::Untrusted { .. }));
    let plain = reqwest::get(format!("http://127.0.0.1:{}/", world.console.port())).await.unwrap();
    assert_eq!(plain.status(), 400);
    assert!(plain.text().await.unwrap().contains("https://"));
    let keys = api::client::presented_keys("127.0.0.1", world.console.port()).await.unwrap();
    assert_eq!(keys.last(), Some(&pin));
    world.stop().await;
    let world = World::with(with_tls(dir.path())).await;
    assert_eq!(world.ca_fingerprint, Some(fingerprint));
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_second_server_on_the_same_directory_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::start(dir.path()).await;
    let error = App::build(checked(settings(dir.path()))).await.unwrap_err();
    assert!(matches!(error, BuildError::InUse(_)), "{error}");
    assert!(error.to_string().starts_with("--data-dir: another muster server is running on "), "{error}");
    world.stop().await;
    World::start(dir.path()).await.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_its_key_file_a_server_does_not_start_and_makes_no_new_key() {
    let dir = tempfile::tempdir().unwrap();
    World::with(with_tls(dir.path())).await.stop().await;
    let key = dir.path().join("master.key");
    let elsewhere = dir.path().join("elsewhere.key");
    std::fs::rename(&key, &elsewhere).unwrap();
    let error = App::build(checked(with_tls(dir.path()))).await.unwrap_err().to_string();
    assert!(error.contains("master.key is missing") && error.contains("--key-file"), "{error}");
    assert!(!key.exists());
    let raw = RawConfig { key_file: Some(elsewhere), ..with_tls(dir.path()) };
    World::with(raw).await.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reset_login_ends_the_sessions_of_a_running_server_and_the_old_password() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::start(dir.path()).await;
    let admin = world.admin().await;
    admin.overview().await.unwrap();
    let password = control_plane::admin::reset_login(dir.path(), None, "0").await.unwrap();
    assert_eq!(admin.overview().await.unwrap_err().status(), Some(401));
    world.log_in(&password).await.overview().await.unwrap();
    let old = api::session::Login {
        username: "admin".to_owned(),
        password: world.first.admin_password.clone().unwrap(),
        want_token: false,
    };
    assert_eq!(world.stranger().login(&old).await.unwrap_err().status(), Some(401));
    let nobody = control_plane::admin::reset_login(dir.path(), Some("nobody"), "0").await.unwrap_err();
    assert_eq!(nobody.to_string(), "there is no user nobody");
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_directory_that_others_use_is_not_taken_over() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    let set = |bits| std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(bits)).unwrap();
    std::fs::write(dir.path().join("of-another-program"), "x").unwrap();
    set(0o1777);
    let error = App::build(checked(settings(dir.path()))).await.unwrap_err().to_string();
    assert!(error.starts_with("--data-dir: ") && error.contains("chmod 700"), "{error}");
    assert_eq!(std::fs::metadata(dir.path()).unwrap().mode() & 0o7777, 0o1777);
    // An empty one is made ours, also when it is the root of a volume; so is one that was ours before.
    std::fs::remove_file(dir.path().join("of-another-program")).unwrap();
    std::fs::create_dir(dir.path().join("lost+found")).unwrap();
    World::start(dir.path()).await.stop().await;
    assert_eq!(mode(dir.path().to_owned()), 0o700);
    set(0o755);
    World::start(dir.path()).await.stop().await;
    assert_eq!(mode(dir.path().to_owned()), 0o700);
}
