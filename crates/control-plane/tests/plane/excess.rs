//! Hosts that say too much, too quickly, or what cannot be: the server keeps and shows what a host may say, and goes on.

use std::time::{Duration, Instant};

use host_proto::limits::{HOST_LOG_LINES, MAX_MESSAGE, MESSAGES_AT_ONCE, MESSAGES_PER_SECOND, NAME};
use host_proto::message::{
    ErrorCode, HostLogLevel, HostLogLine, HostLogSource, HostLogsTail, HostMetrics, Metrics, Ping,
};
use host_proto::{ToAgent, ToServer};
use reqwest::StatusCode;
use serde_json::{Value, json};
use testkit::{Machine, Opening, SimHost, found, soon, within};

use crate::hosts::Api;
use crate::world::World;

async fn shown(api: &Api<'_>) -> Value {
    let (status, body) = api.call("GET", "/hosts/h1", None).await;
    assert_eq!(status, StatusCode::OK, "{body}");
    body
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_host_is_has_a_length_and_more_memory_than_it_has_is_not_free() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::start(dir.path()).await;
    let api = Api::of(&world).await;
    let machine = Machine::named("h1");
    let answer = api.join(&machine).await;
    let mut facts = machine.facts();
    facts.os_release = "\u{1b}]0;owned\u{7}".repeat(100_000);
    let opening = Opening { facts: Some(facts), ..Opening::default() };
    let mut host = SimHost::connect(world.console, answer.host_token.expose(), &machine, opening).await;
    let host_metrics =
        HostMetrics { mem_total_bytes: 64 << 30, mem_available_bytes: 64 << 30, ..HostMetrics::default() };
    host.say(ToServer::Metrics(Box::new(Metrics { host: host_metrics, ..Metrics::default() }))).await;
    let seen = found("memory that is free", async || {
        let host = shown(&api).await;
        host["memory_available_bytes"].is_u64().then_some(host)
    })
    .await;
    assert_eq!(seen["memory_available_bytes"], seen["memory_bytes"]);
    let system = seen["os"].as_str().unwrap();
    assert_eq!(system.chars().count(), NAME);
    assert!(!system.chars().any(char::is_control), "{system:?}");
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn req_9_lines_of_a_host_that_come_too_fast_are_left_out_and_that_is_said() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::start(dir.path()).await;
    let api = Api::of(&world).await;
    let mut host = api.sim_host("h1").await;
    let mut number = 0;
    let mut tail = |count: usize| {
        let line = |number| HostLogLine {
            ts_us: number,
            level: HostLogLevel::Error,
            source: HostLogSource::Agent,
            replica_id: None,
            release_id: None,
            text: "again".to_owned(),
        };
        number += count as u64;
        let lines = (number - count as u64..number).map(line).collect();
        ToServer::HostLogsTail(HostLogsTail { seq: 1, lines })
    };
    for _ in 0..5 {
        host.say(tail(HOST_LOG_LINES)).await;
    }
    let lines = found("a line in the place of others", async || {
        host.say(tail(1)).await;
        let (_, body) = api.call("GET", "/hosts/h1/log?limit=500", None).await;
        body.to_string().contains("were dropped").then_some(body)
    })
    .await;
    let lines = lines["items"].as_array().unwrap();
    assert_eq!(lines.len(), HOST_LOG_LINES);
    let words = lines.iter().filter_map(|it| it["text"].as_str()).find(|it| it.contains("dropped")).unwrap();
    assert!(words.ends_with(" lines were dropped: they came too fast"), "{words}");
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_host_that_talks_without_end_is_read_more_slowly_and_loses_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::start(dir.path()).await;
    let api = Api::of(&world).await;
    let machine = Machine::named("h1");
    let answer = api.join(&machine).await;
    let mut host =
        SimHost::connect(world.console, answer.host_token.expose(), &machine, Opening::default()).await;
    let begun = Instant::now();
    let surplus = 3 * MESSAGES_PER_SECOND;
    let last = u64::from(MESSAGES_AT_ONCE + surplus);
    for seq in 1..=last {
        host.say(ToServer::Ping(Ping { seq, t_us: 0 })).await;
    }
    let mut answered = 0;
    let all = async {
        while answered < last {
            if let ToAgent::Pong(pong) = host.next().await.unwrap().body {
                answered += 1;
                assert_eq!(pong.seq, answered);
            }
        }
    };
    within(Duration::from_secs(60), "every answer", all).await;
    assert!(begun.elapsed() >= Duration::from_millis(2_900), "{:?}", begun.elapsed());
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_host_that_is_removed_between_its_upgrade_and_its_hello_hears_that_it_is() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::start(dir.path()).await;
    let api = Api::of(&world).await;
    let machine = Machine::named("h1");
    let answer = api.join(&machine).await;
    let connection = SimHost::dial(world.console, answer.host_token.expose()).await.ok().unwrap();
    let (status, body) = api.call("DELETE", "/hosts/h1", None).await;
    assert_eq!(status, StatusCode::NO_CONTENT, "{body}");
    let mut host = SimHost::greet(connection, &machine, Opening::default()).await;
    let word = soon("a word", host.next()).await.unwrap();
    assert!(matches!(word.body, ToAgent::HostRemoved(_)), "{word:?}");
    assert_eq!(soon("the end", host.next()).await.unwrap_err(), 4003);
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn req_11_a_host_whose_message_is_too_long_hears_that_in_words_and_by_the_close_code() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::start(dir.path()).await;
    let api = Api::of(&world).await;
    let machine = Machine::named("h1");
    let answer = api.join(&machine).await;
    let mut host =
        SimHost::connect(world.console, answer.host_token.expose(), &machine, Opening::default()).await;
    host.say_text(&" ".repeat(MAX_MESSAGE + 1)).await;
    let error = within(Duration::from_secs(20), "an error", async {
        loop {
            if let ToAgent::Error(error) = host.next().await.unwrap().body {
                return error;
            }
        }
    });
    let error = error.await;
    assert_eq!((error.code, error.fatal), (ErrorCode::MessageTooLarge, true));
    assert_eq!(soon("the end", host.next()).await.unwrap_err(), 1009);

    // Of one that says that it is much longer nothing is read, and the close code alone says so.
    let mut connection = SimHost::dial(world.console, answer.host_token.expose()).await.ok().unwrap();
    let head = [0x81, 0xff, 0, 0, 0, 0, 0x40, 0, 0, 0, 1, 2, 3, 4];
    connection.write(&head).await;
    let close = loop {
        let frame = soon("a close frame", connection.wait()).await.expect("a frame");
        if frame.opcode == 8 {
            break frame.close_code();
        }
    };
    assert_eq!(close, Some(1009));
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_credential_for_what_is_no_registry_or_without_a_password_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::start(dir.path()).await;
    let api = Api::of(&world).await;
    let set = async |registry: &str, password: &str| {
        let body = json!({ "registry": registry, "username": "robot", "password": password });
        api.call("PUT", "/registries", Some(body)).await
    };
    for good in ["r.example", "r.example:5000", "localhost", "[2001:db8::1]:5000", "192.0.2.1:5000"] {
        assert_eq!(set(good, "secret").await.0, StatusCode::NO_CONTENT, "{good}");
    }
    let long = "r".repeat(256);
    let bad = [
        "",
        "not a host",
        "r.example:",
        "r.example:99999",
        "user@r.example",
        "-r.example",
        "r..example",
        &long,
    ];
    for bad in bad {
        let (status, problem) = set(bad, "secret").await;
        assert_eq!(
            (status, &problem["field"]),
            (StatusCode::UNPROCESSABLE_ENTITY, &"registry".into()),
            "{problem}"
        );
    }
    let (status, problem) = set("r.example", "").await;
    assert_eq!(
        (status, &problem["field"]),
        (StatusCode::UNPROCESSABLE_ENTITY, &"password".into()),
        "{problem}"
    );
    world.stop().await;
}
