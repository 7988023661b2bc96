//! How a machine becomes a host.

use host_agent::{Identity, JoinFailure};
use host_proto::join::{JoinError, JoinRequest, TrustAnchor};
use testkit::{Authority, FakeServer};

use crate::world::World;

async fn join(world: &World, trust: TrustAnchor) -> Result<host_agent::Joined, JoinFailure> {
    host_agent::join(&world.join(trust)).await
}

#[tokio::test]
async fn join_2_join_4_join_5_a_machine_says_who_it_is_and_keeps_what_it_is_given() {
    let world = World::new().await;
    let (joined, request) = tokio::join!(join(&world, world.ca()), async {
        let mut peer = world.server.accept().await;
        let request = peer.request().await;
        let answer = serde_json::to_vec(&world.answer()).unwrap();
        peer.respond(201, &[("content-type", "application/json")], &answer).await;
        request
    });
    let joined = joined.unwrap();
    assert_eq!(request.line, "POST /api/agent/v1/join HTTP/1.1");
    assert!(
        !request.headers.iter().any(|(_, value)| value.contains("mst_join")),
        "the token is in the body only"
    );
    let asked: JoinRequest = serde_json::from_slice(&request.body).unwrap();
    assert_eq!((asked.join_token.expose(), asked.machine_id.as_str()), ("mst_join_secret", "machine-1"));
    assert!(!asked.facts.hostname.is_empty());
    let (identity, on_disk) = Identity::read_joined(&world.options().identity).unwrap();
    assert_eq!(on_disk, joined);
    assert_eq!(on_disk.host_token.expose(), "mst_host_first");
    assert_eq!((identity.wg_public_key(), identity.instance_id), (asked.wg_public_key, asked.instance_id));
    let text = std::fs::read_to_string(world.options().identity).unwrap();
    assert!(!text.contains("mst_join_secret"), "the join token is not kept");
    let again = join(&world, world.ca()).await;
    assert!(matches!(again, Err(JoinFailure::Already { .. })), "{again:?}");
}

#[tokio::test]
async fn join_8_a_join_whose_answer_was_lost_is_repeated_by_the_same_machine() {
    let world = World::new().await;
    let mut asked: Vec<JoinRequest> = Vec::new();
    for _ in 0..2 {
        let (failed, request) = tokio::join!(join(&world, world.ca()), async {
            let mut peer = world.server.accept().await;
            // The connection ends instead of an answer.
            peer.request().await
        });
        assert!(matches!(failed, Err(JoinFailure::Unreachable(_))), "{failed:?}");
        asked.push(serde_json::from_slice(&request.body).unwrap());
    }
    // What the machine says of its disks may be another the second time.
    let who = |one: &JoinRequest| {
        let JoinRequest { join_token, machine_id, instance_id, wg_public_key, .. } = one.clone();
        (join_token, machine_id, instance_id, wg_public_key)
    };
    assert_eq!(who(&asked[0]), who(&asked[1]));
}

#[tokio::test]
async fn join_7_a_refusal_says_what_to_do() {
    let world = World::new().await;
    let (failed, ()) = tokio::join!(join(&world, world.ca()), async {
        let mut peer = world.server.accept().await;
        peer.request().await;
        let problem =
            r#"{"title":"Duplicate host","status":409,"code":"duplicate_host","detail":"it is berlin's"}"#;
        peer.respond(409, &[("content-type", "application/problem+json")], problem.as_bytes()).await;
    });
    let Err(JoinFailure::Refused { code, .. }) = &failed else { panic!("{failed:?}") };
    assert_eq!(*code, JoinError::DuplicateHost);
    let text = failed.unwrap_err().to_string();
    assert_eq!(
        text,
        "duplicate_host: it is berlin's; a machine that was made anew takes the place of its host with `muster hosts add \
         --replace NAME`, a copied one needs a machine-id of its own"
    );
}

#[tokio::test]
async fn join_10_a_server_without_the_pinned_key_is_told_nothing() {
    let world = World::new().await;
    let other = TrustAnchor::Ca { pem: Authority::new("Somebody else").pem() };
    let pin = TrustAnchor::Spki { sha256: "0".repeat(64) };
    for trust in [other, pin] {
        let (failed, handshake) = tokio::join!(join(&world, trust), world.server.handshake());
        assert!(handshake.is_err(), "the handshake succeeded");
        let text = failed.unwrap_err().to_string();
        assert!(text.contains("the server's certificate was refused"), "{text}");
    }
}

#[tokio::test]
async fn join_10_a_server_whose_authority_has_the_pinned_key_is_trusted() {
    let world = World::new().await;
    let der = world.authority.der();
    let key = rustls::server::ParsedCertificate::try_from(&der).unwrap();
    let digest = <sha2::Sha256 as sha2::Digest>::digest(key.subject_public_key_info());
    let pin = TrustAnchor::Spki { sha256: format!("sha256:{}", hex::encode(digest)) };
    let (joined, ()) = tokio::join!(join(&world, pin), async {
        let mut peer = world.server.accept().await;
        peer.request().await;
        let answer = serde_json::to_vec(&world.answer()).unwrap();
        peer.respond(200, &[], &answer).await;
    });
    assert_eq!(joined.unwrap().name, "berlin");
}

#[tokio::test]
async fn h43_a_machine_whose_clock_is_a_day_off_is_told_to_look_at_it() {
    for (valid, word) in [((1, 91), "not valid yet"), ((-91, -1), "has expired")] {
        let mut world = World::new().await;
        world.server = FakeServer::tls(world.authority.server_config_valid(&["localhost"], valid)).await;
        let (failed, handshake) = tokio::join!(join(&world, world.ca()), world.server.handshake());
        assert!(handshake.is_err(), "the handshake succeeded");
        let text = failed.unwrap_err().to_string();
        assert!(text.contains(word) && text.contains("the clock of this machine is wrong"), "{text}");
    }
}

#[tokio::test]
async fn join_10_a_server_is_never_spoken_to_without_tls() {
    let world = World::new().await;
    let mut options = world.join(world.ca());
    options.server = options.server.replace("https", "http");
    let text = host_agent::join(&options).await.unwrap_err().to_string();
    assert!(text.contains("https only"), "{text}");
}
