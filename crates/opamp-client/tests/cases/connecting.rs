//! Endpoints and builders: what is accepted, what is refused before anything is sent.

use opamp_client::{BuildError, Client, Endpoint, InvalidEndpoint};
use testkit::FakeServer;

use crate::support::*;

#[test]
fn model_7_the_path_of_an_endpoint_is_v1_opamp_unless_it_has_another() {
    for (given, expected) in [
        ("ws://example.com", "ws://example.com/v1/opamp"),
        ("https://example.com:4320/", "https://example.com:4320/v1/opamp"),
        ("wss://[::1]:4320/other", "wss://[::1]:4320/other"),
    ] {
        assert_eq!(Endpoint::parse(given).unwrap().to_string(), expected);
    }
    assert_eq!(Endpoint::parse("ws://[::1]:4320/").unwrap().host(), "::1");
}

#[test]
fn v18_the_scheme_alone_decides_about_tls() {
    for (scheme, tls) in [("ws", false), ("wss", true), ("http", false), ("https", true)] {
        assert_eq!(Endpoint::parse(&format!("{scheme}://example.com")).unwrap().is_tls(), tls);
    }
}

#[test]
fn an_endpoint_without_sense_is_refused_with_a_reason() {
    assert!(matches!(Endpoint::parse("example.com:4320"), Err(InvalidEndpoint::Scheme(_))));
    assert!(matches!(Endpoint::parse("/v1/opamp"), Err(InvalidEndpoint::NotAUrl(_))));
    assert_eq!(Endpoint::parse("tcp://example.com"), Err(InvalidEndpoint::Scheme("tcp".to_owned())));
    assert_eq!(Endpoint::parse("ws://user:secret@example.com"), Err(InvalidEndpoint::Credentials));
}

#[test]
fn a_query_is_sent_and_not_shown() {
    let endpoint = Endpoint::parse("ws://example.com/x?token=secret").unwrap();
    assert_eq!(
        (endpoint.target(), endpoint.to_string()),
        ("/x?token=secret", "ws://example.com/x".to_owned())
    );
}

#[tokio::test]
async fn a_header_that_http_does_not_allow_is_refused_without_showing_it() {
    let refused = Client::builder("ws://127.0.0.1:1").bearer_token("a\nsecret").start().await;
    let Err(error @ BuildError::Header(_)) = refused else { panic!("the header was accepted") };
    assert!(!error.to_string().contains("secret"));
}

#[tokio::test]
async fn a_name_that_does_not_resolve_is_called_that() {
    let (_client, mut events) = builder("ws://name.invalid:4320").start().await.unwrap();
    let (reason, _) = disconnected(&mut events).await;
    assert!(reason.starts_with("the name \"name.invalid\" cannot be resolved"), "{reason}");
}

#[tokio::test]
async fn a_path_without_an_opamp_server_is_called_that() {
    for scheme in ["ws", "http"] {
        let server = FakeServer::plain().await;
        let (_client, mut events) = builder(server.url(scheme)).start().await.unwrap();
        let mut peer = server.accept().await;
        peer.request().await;
        peer.respond(404, &[], b"").await;
        let (reason, _) = disconnected(&mut events).await;
        assert!(reason.contains("no OpAMP endpoint") && reason.contains("/v1/opamp"), "{reason}");
    }
}
