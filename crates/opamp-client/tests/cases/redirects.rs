//! Redirects: followed with a limit, without showing credentials to strangers (`C19`).

use testkit::FakeServer;

use crate::support::*;

#[tokio::test]
async fn c19_a_redirect_on_the_same_server_is_followed_with_credentials_on_both_transports() {
    for scheme in ["ws", "http"] {
        let server = FakeServer::plain().await;
        let (_client, mut events) = builder(server.url(scheme)).bearer_token("t1").start().await.unwrap();
        let mut peer = server.accept().await;
        peer.request().await;
        peer.respond(307, &[("location", "/elsewhere?x=1")], b"").await;
        drop(peer);
        let mut peer = server.accept().await;
        let request =
            if scheme == "ws" { peer.upgrade().await } else { acknowledge_request(&mut peer).await };
        assert!(request.line.contains(" /elsewhere?x=1 "), "{}", request.line);
        assert_eq!(request.header("authorization"), Some("Bearer t1"));
        if scheme == "ws" {
            assert!(is_full(&acknowledge(&mut peer).await));
        }
        connected(&mut events).await;
    }
}

#[tokio::test]
async fn c19_credentials_do_not_go_to_another_server() {
    for scheme in ["ws", "http"] {
        let (server, other) = (FakeServer::plain().await, FakeServer::plain().await);
        let secret = builder(server.url(scheme)).bearer_token("t1").header("x-api-key", "k1");
        let (_client, mut events) = secret.start().await.unwrap();
        let mut peer = server.accept().await;
        assert_eq!(peer.request().await.header("x-api-key"), Some("k1"));
        peer.respond(302, &[("location", &other.url("http"))], b"").await;
        let mut peer = other.accept().await;
        let request =
            if scheme == "ws" { peer.upgrade().await } else { acknowledge_request(&mut peer).await };
        assert_eq!((request.header("authorization"), request.header("x-api-key")), (None, None));
        if scheme == "ws" {
            acknowledge(&mut peer).await;
        }
        connected(&mut events).await;
    }
}

#[tokio::test]
async fn c19_a_redirect_loop_ends() {
    for scheme in ["ws", "http"] {
        let server = FakeServer::plain().await;
        let (_client, mut events) = builder(server.url(scheme)).max_redirects(3).start().await.unwrap();
        let script = async {
            for _ in 0..4 {
                let mut peer = server.accept().await;
                peer.request().await;
                peer.respond(302, &[("location", "/v1/opamp")], b"").await;
            }
        };
        let (reason, ()) = tokio::join!(disconnected(&mut events), script);
        assert!(reason.0.contains("redirects more than 3 times"), "{}", reason.0);
    }
}

#[tokio::test]
async fn c19_a_redirect_from_tls_to_plain_text_or_without_a_place_is_refused() {
    let authority = testkit::Authority::new("test");
    let server = FakeServer::tls(authority.server_config(&["127.0.0.1"])).await;
    let tls = opamp_client::Tls::new().with_ca_pem(authority.pem().as_bytes()).unwrap();
    let (_client, mut events) = builder(server.url("wss")).tls(tls).start().await.unwrap();
    for (location, expected) in [
        (Some("http://127.0.0.1:1/v1/opamp"), "from TLS to plain text"),
        (Some("ftp://127.0.0.1/"), "the scheme \"ftp\""),
        (None, "without saying where to"),
    ] {
        let mut peer = server.accept().await;
        peer.request().await;
        let headers: Vec<_> = location.map(|location| ("location", location)).into_iter().collect();
        peer.respond(301, &headers, b"").await;
        let (reason, _) = disconnected(&mut events).await;
        assert!(reason.contains(expected), "{reason}");
    }
}
