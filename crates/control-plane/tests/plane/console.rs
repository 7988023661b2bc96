//! The console's files and the headers that guard them.

use reqwest::StatusCode;

use crate::world::World;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_page_comes_with_a_strict_policy_and_a_path_that_is_no_file_is_the_console() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::start(dir.path()).await;
    let client = reqwest::Client::new();
    for path in ["/", "/agents/some-agent?x=1"] {
        let answer = client.get(world.url() + path).send().await.unwrap();
        assert_eq!(answer.status(), StatusCode::OK);
        let header = |name: &str| answer.headers()[name].to_str().unwrap().to_owned();
        assert_eq!(header("content-type"), "text/html; charset=utf-8");
        assert_eq!(header("x-content-type-options"), "nosniff");
        assert_eq!(header("x-frame-options"), "DENY");
        assert_eq!(header("referrer-policy"), "no-referrer");
        let policy = header("content-security-policy");
        assert!(policy.contains("default-src 'none'") && policy.contains("script-src 'self'"), "{policy}");
        assert!(!policy.contains("unsafe"), "{policy}");
        if let Some(tag) = answer.headers().get("etag") {
            let again = client.get(world.url() + path).header("if-none-match", tag).send().await.unwrap();
            assert_eq!(again.status(), StatusCode::NOT_MODIFIED);
        }
    }
    assert_eq!(
        client.get(world.url() + "/assets/gone.js").send().await.unwrap().status(),
        StatusCode::NOT_FOUND
    );
    assert_eq!(client.post(world.url() + "/").send().await.unwrap().status(), StatusCode::METHOD_NOT_ALLOWED);
    assert_eq!(
        client.get(world.url() + "/..%2f..%2fetc/passwd").send().await.unwrap().headers()["content-type"],
        "text/html; charset=utf-8"
    );
    world.stop().await;
}
