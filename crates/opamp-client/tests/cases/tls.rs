//! TLS: verified by default, and every classic mistake has its own words.

use opamp_client::{SpkiPin, Tls};
use testkit::certificates::self_signed;
use testkit::{Authority, FakeServer};

use crate::support::*;

async fn reason_against(server: &FakeServer, url: String, tls: Tls) -> String {
    let (_client, mut events) = builder(url).tls(tls).start().await.unwrap();
    // An attempt of an earlier client may still wait in front of this one's.
    let refusing = async {
        loop {
            assert!(server.handshake().await.is_err(), "nothing may be sent to a server that is not trusted");
        }
    };
    tokio::select! {
        (reason, _) = disconnected(&mut events) => reason,
        () = refusing => unreachable!(),
    }
}

async fn connects(server: &FakeServer, scheme: &str, host: &str, tls: Tls) {
    let (_client, mut events) = builder(server.url_for(scheme, host)).tls(tls).start().await.unwrap();
    let mut peer = server.accept().await;
    if scheme == "wss" {
        peer.upgrade().await;
        acknowledge(&mut peer).await;
    } else {
        acknowledge_request(&mut peer).await;
    }
    connected(&mut events).await;
}

fn trusting(authority: &Authority) -> Tls {
    Tls::new().with_ca_pem(authority.pem().as_bytes()).unwrap()
}

#[tokio::test]
async fn c27_a_self_signed_certificate_is_not_accepted_on_either_transport() {
    let server = FakeServer::tls(self_signed(&["127.0.0.1"])).await;
    for scheme in ["wss", "https"] {
        let reason = reason_against(&server, server.url(scheme), Tls::new()).await;
        assert!(reason.contains("is not trusted"), "{reason}");
    }
}

#[tokio::test]
async fn c27_an_unknown_authority_is_named_with_what_to_do() {
    let authority = Authority::new("Muster test CA");
    let server = FakeServer::tls(authority.server_config(&["127.0.0.1"])).await;
    let reason = reason_against(&server, server.url("wss"), Tls::new()).await;
    assert!(reason.contains("was issued by \"CN=Muster test CA\", which is not trusted"), "{reason}");
    assert!(reason.contains("additional certificate authority"), "{reason}");
}

#[tokio::test]
async fn a_given_authority_is_trusted_on_both_transports() {
    let authority = Authority::new("test");
    let server = FakeServer::tls(authority.server_config(&["127.0.0.1"])).await;
    connects(&server, "wss", "127.0.0.1", trusting(&authority)).await;
    connects(&server, "https", "127.0.0.1", trusting(&authority).without_system_ca()).await;
}

#[tokio::test]
async fn a_certificate_for_another_name_is_called_that() {
    let authority = Authority::new("test");
    let server = FakeServer::tls(authority.server_config(&["other.example"])).await;
    let reason = reason_against(&server, server.url("https"), trusting(&authority)).await;
    assert!(reason.contains("is not for the name \"127.0.0.1\""), "{reason}");
}

#[tokio::test]
async fn a_pinned_authority_is_trusted_and_no_other() {
    let (authority, other) = (Authority::new("test"), Authority::new("test"));
    let server = FakeServer::tls(authority.server_config(&["localhost", "127.0.0.1"])).await;
    let pin: SpkiPin = SpkiPin::of_certificate(&authority.der()).unwrap().to_string().parse().unwrap();
    connects(&server, "wss", "127.0.0.1", Tls::new().with_pin(pin)).await;

    let wrong = SpkiPin::of_certificate(&other.der()).unwrap();
    let reason = reason_against(&server, server.url("wss"), Tls::new().with_pin(wrong)).await;
    assert!(reason.contains("has a pinned key"), "{reason}");

    // The right key does not make up for a wrong name.
    let server = FakeServer::tls(authority.server_config(&["other.example"])).await;
    let reason = reason_against(&server, server.url("wss"), Tls::new().with_pin(pin)).await;
    assert!(reason.contains("is not for the name"), "{reason}");
}

#[tokio::test]
async fn checks_can_be_switched_off_on_purpose() {
    let server = FakeServer::tls(self_signed(&["other.example"])).await;
    connects(&server, "wss", "127.0.0.1", Tls::new().danger_accept_any_certificate()).await;
}

#[tokio::test]
async fn c11_two_clients_do_not_share_what_they_trust() {
    let (one, two) = (Authority::new("one"), Authority::new("two"));
    let first = FakeServer::tls(one.server_config(&["127.0.0.1"])).await;
    let second = FakeServer::tls(two.server_config(&["127.0.0.1"])).await;
    connects(&first, "https", "127.0.0.1", trusting(&one)).await;
    let reason = reason_against(&second, second.url("https"), trusting(&one)).await;
    assert!(reason.contains("\"CN=two\""), "{reason}");
    connects(&second, "https", "127.0.0.1", trusting(&two)).await;
}

#[tokio::test]
async fn an_agent_can_show_a_certificate_of_its_own() {
    let authority = Authority::new("test");
    let config = authority.server_config_for_clients(&["127.0.0.1"]);
    let server = FakeServer::tls(config).await;
    let (chain, key) = authority.issue_pem(&["agent-1"]);
    let tls = trusting(&authority).with_client_certificate_pem(chain.as_bytes(), key.as_bytes()).unwrap();
    connects(&server, "wss", "127.0.0.1", tls).await;

    let (_client, mut events) = builder(server.url("wss")).tls(trusting(&authority)).start().await.unwrap();
    let (reason, _) = tokio::join!(disconnected(&mut events), server.handshake());
    assert!(reason.0.contains("client certificate"), "{}", reason.0);
}

#[tokio::test]
async fn tls_on_a_plain_port_is_called_that() {
    for (scheme, plain) in [("wss", "ws://"), ("https", "http://")] {
        let server = FakeServer::plain().await;
        let (_client, mut events) = builder(server.url(scheme)).start().await.unwrap();
        let script = async {
            let mut peer = server.accept().await;
            peer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n").await;
            peer
        };
        let (reason, _peer) = tokio::join!(disconnected(&mut events), script);
        assert!(reason.0.contains("does not speak TLS on this port"), "{}", reason.0);
        assert!(reason.0.contains(plain), "{}", reason.0);
    }
}

#[tokio::test]
async fn plain_text_on_a_tls_port_is_called_that() {
    let authority = Authority::new("test");
    for (scheme, tls) in [("ws", "use wss://"), ("http", "use https://")] {
        let server = FakeServer::tls(authority.server_config(&["127.0.0.1"])).await;
        let (_client, mut events) = builder(server.url(scheme)).start().await.unwrap();
        let (reason, _) = tokio::join!(disconnected(&mut events), server.handshake());
        assert!(reason.0.contains(tls), "{}", reason.0);
    }
}

#[tokio::test]
async fn unusable_pem_and_pins_are_refused_with_a_reason() {
    assert!(Tls::new().with_ca_pem(b"no pem").unwrap_err().to_string().contains("no CERTIFICATE block"));
    assert!(Tls::new().with_client_certificate_pem(b"", b"").is_err());
    assert!("sha256/abc".parse::<SpkiPin>().is_err());
}
