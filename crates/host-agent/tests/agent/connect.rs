//! What a host says once it connects, and what is on its disk by then.

use host_proto::frame::Frame;
use host_proto::message::{Ping, TokenRotate};
use host_proto::report::Outcome;
use host_proto::{Secret, ToAgent, ToServer};
use testkit::{opcode, soon, until};

use crate::world::{Agent, Conversation, World};

#[tokio::test]
async fn connect_1_connect_3_a_host_shows_its_token_and_says_who_it_is() {
    let world = World::new().await;
    let agent = Agent::start(world.joined());
    let mut peer = world.server.accept().await;
    let request = peer.upgrade().await;
    assert_eq!(request.line, "GET /api/agent/v1/connect HTTP/1.1");
    assert_eq!(request.header("authorization"), Some("Bearer mst_host_first"));
    assert_eq!(request.header("sec-websocket-protocol"), Some("hostagent.v1"));
    assert!(request.header("sec-websocket-extensions").unwrap().contains("permessage-deflate"));
    let frame = peer.frame().await;
    assert_eq!((frame.opcode, frame.masked), (opcode::TEXT, true));
    let hello = Frame::<ToServer>::decode(&String::from_utf8(frame.payload).unwrap()).unwrap();
    let ToServer::Hello(hello) = hello.body else { panic!("{hello:?}") };
    assert_eq!(hello.identity.machine_id, "machine-1");
    assert_eq!(hello.identity.boot_id.len(), 36);
    assert!(hello.identity.session_secret_prev.is_none() && hello.epoch.is_none() && hello.generation == 0);
    assert!(!hello.replicas_known, "no engine answers: that is not the same as no replicas");
    drop(peer);
    agent.stop().await;
}

#[tokio::test]
async fn state_3_the_secret_and_the_state_are_on_the_disk_and_shown_after_a_restart() {
    let world = World::new().await;
    let options = world.joined();
    let agent = Agent::start(options.clone());
    let mut server = Conversation::begin(&world).await;
    server.welcome("secret-1").await;
    until("the secret", || world.on_disk().session_secret == Some(Secret::new("secret-1"))).await;
    server.desired(7).await;
    let applied = server.hears("the result", |frame| match &frame.body {
        ToServer::StateApplied(applied) => Some((applied.clone(), options.cache().exists())),
        _ => None,
    });
    let (applied, kept) = applied.await;
    assert_eq!((applied.generation, applied.result), (7, Outcome::Failed), "no engine answers");
    assert!(kept, "it was worked on before it was on the disk");
    agent.stop().await;

    let agent = Agent::start(options);
    let again = Conversation::begin(&world).await;
    assert_eq!((again.hello.epoch.as_deref(), again.hello.generation), (Some("epoch-1"), 7));
    assert_eq!(again.hello.identity.session_secret_prev, Some(Secret::new("secret-1")));
    assert!(again.hello.from_cache);
    drop(again);
    agent.stop().await;
}

#[tokio::test]
async fn state_12_a_damaged_cache_is_set_aside_and_the_host_says_that_it_has_nothing() {
    let world = World::new().await;
    let options = world.joined();
    std::fs::create_dir_all(&options.data_dir).unwrap();
    std::fs::write(options.cache(), b"nonsense").unwrap();
    let agent = Agent::start(options.clone());
    let mut server = Conversation::begin(&world).await;
    assert_eq!((server.hello.epoch.as_deref(), server.hello.generation), (None, 0));
    assert!(options.data_dir.join("state.cache.bad").exists());
    server.welcome("secret-1").await;
    let tail = server.hears("the host's own lines", |frame| match &frame.body {
        ToServer::HostLogsTail(tail) => Some(tail.clone()),
        _ => None,
    });
    let lines = tail.await.lines;
    assert!(
        lines.iter().any(|line| line.text.contains("damaged") && line.text.contains("state.cache")),
        "{lines:?}"
    );
    drop(server);
    agent.stop().await;
}

#[tokio::test]
async fn token_3_a_new_token_is_on_the_disk_before_it_is_confirmed() {
    let world = World::new().await;
    let agent = Agent::start(world.joined());
    let mut server = Conversation::begin(&world).await;
    server.welcome("secret-1").await;
    let rotate = TokenRotate { host_token: Secret::new("mst_host_second"), grace_ms: 600_000 };
    server.say_frame(Frame::asking("msg_1", ToAgent::TokenRotate(rotate))).await;
    let confirmed = server.hears("the confirmation", |frame| match &frame.body {
        ToServer::TokenRotated(rotated) => Some((frame.re.clone(), rotated.ok, world.on_disk())),
        _ => None,
    });
    let (re, ok, on_disk) = confirmed.await;
    assert_eq!((re.as_deref(), ok), (Some("msg_1"), true));
    assert_eq!(on_disk.host_token.expose(), "mst_host_second");
    assert_eq!(on_disk.previous_token, Some(Secret::new("mst_host_first")));
    drop(server);
    let mut peer = world.server.accept().await;
    assert_eq!(peer.upgrade().await.header("authorization"), Some("Bearer mst_host_second"));
    drop(peer);
    agent.stop().await;
}

#[tokio::test]
async fn connect_2_connect_8_a_false_server_learns_nothing_and_an_unknown_token_forgets_nothing() {
    let world = World::new().await;
    let options = world.joined();
    let impostor = testkit::Authority::new("Somebody else").server_config(&["localhost"]);
    let acceptor = tokio_rustls::TlsAcceptor::from(std::sync::Arc::new(impostor));
    let agent = Agent::start(options.clone());
    let stream = world.server.accept_tcp().await;
    assert!(soon("the end of the handshake", acceptor.accept(stream)).await.is_err(), "it trusts anybody");
    let mut peer = world.server.accept().await;
    let request = peer.request().await;
    assert_eq!(request.header("authorization"), Some("Bearer mst_host_first"));
    peer.respond(401, &[], br#"{"code":"unauthorized","detail":"this token was revoked"}"#).await;
    until("the agent says so", || {
        let status = host_agent::status(&options).unwrap().running;
        status.is_some_and(|running| {
            running.reason.is_some_and(|reason| reason.contains("this token was revoked"))
        })
    })
    .await;
    assert_eq!(world.on_disk().host_token.expose(), "mst_host_first");
    agent.stop().await;
}

#[tokio::test]
async fn a_ping_is_answered_by_the_task_that_reconciles() {
    let world = World::new().await;
    let agent = Agent::start(world.joined());
    let mut server = Conversation::begin(&world).await;
    server.welcome("secret-1").await;
    server.say(ToAgent::Ping(Ping { seq: 9, t_us: 7 })).await;
    let pong = server.hears("the answer", |frame| match &frame.body {
        ToServer::Pong(pong) => Some(*pong),
        _ => None,
    });
    let pong = pong.await;
    assert_eq!((pong.seq, pong.t_us), (9, 7));
    assert!(pong.reconcile_lag_ms.is_some());
    drop(server);
    agent.stop().await;
}

#[tokio::test]
async fn req_8_counters_go_out_and_a_stopped_agent_says_goodbye() {
    let world = World::new().await;
    let agent = Agent::start(world.joined());
    let mut server = Conversation::begin(&world).await;
    server.welcome("secret-1").await;
    let metrics = server.hears("counters", |frame| match &frame.body {
        ToServer::Metrics(metrics) => Some(metrics.clone()),
        _ => None,
    });
    let metrics = metrics.await;
    assert!(metrics.host.mem_total_bytes > 0 && !metrics.engine.up);
    let goodbye = server.hears("goodbye", |frame| matches!(frame.body, ToServer::Goodbye(_)).then_some(()));
    let ((), ()) = tokio::join!(goodbye, async { agent.stop().await });
}

#[tokio::test]
async fn two_agents_do_not_share_a_host() {
    let world = World::new().await;
    let options = world.joined();
    let first = Agent::start(options.clone());
    let _server = Conversation::begin(&world).await;
    let second = host_agent::run(options, std::future::pending()).await;
    assert!(matches!(second, Err(host_agent::RunError::Running { .. })), "{second:?}");
    first.stop().await;
}
