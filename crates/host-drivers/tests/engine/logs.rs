//! What containers print, read and followed.

use std::time::Duration;

use host_drivers::docker::logs::{Filter, Followed, Follower};
use host_proto::message::{Direction, LogLine, LogStream, LogsQuery};
use serde_json::json;
use testkit::until_async;

use crate::world::World;

pub(crate) fn query(limit: u32) -> LogsQuery {
    LogsQuery {
        query_id: "qry_1".parse().unwrap(),
        replica_ids: Vec::new(),
        since_us: None,
        until_us: None,
        direction: Direction::Backward,
        limit,
        contains: None,
        streams: Vec::new(),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn req_3_lines_are_read_by_number_time_stream_and_text() {
    let mut world = World::new(31).await;
    let script = "for i in $(seq 1 30); do echo out $i; done; echo oops >&2; printf '\\377\\376\\n'; \
                  head -c 40000 /dev/zero | tr '\\0' x; echo; echo last; exec sleep 1000";
    world.add_replica(1, script, json!({}));
    world.settle().await;
    let container = world.wait_for(1, |one| one.is_active()).await;
    let engine = world.hands.engine.clone();
    let read = async |query: LogsQuery| -> Vec<LogLine> {
        engine.read_logs(&container.replica_id, &container.id, &query).await.unwrap().lines
    };
    // Two streams are two pipes: nobody says which comes first.
    let errors_only = || LogsQuery { streams: vec![LogStream::Err], ..query(10) };
    let printed = async || {
        let lines = read(LogsQuery { streams: vec![LogStream::Out], ..query(1) }).await;
        let last = lines.first().is_some_and(|line| line.text.as_deref() == Some("last"));
        last && !read(errors_only()).await.is_empty()
    };
    until_async("all is printed", printed).await;
    let last = read(LogsQuery { streams: vec![LogStream::Out], ..query(1) }).await;
    assert_eq!(last[0].text.as_deref(), Some("last"));
    assert!(last[0].ts_us > 1_600_000_000_000_000);
    let errors = read(errors_only()).await;
    assert_eq!(errors.iter().map(|line| line.text.clone().unwrap()).collect::<Vec<_>>(), ["oops"]);
    let found = read(LogsQuery { contains: Some("out 2".to_owned()), ..query(3) }).await;
    assert_eq!(
        found.iter().map(|line| line.text.clone().unwrap()).collect::<Vec<_>>(),
        ["out 27", "out 28", "out 29"]
    );
    let first =
        read(LogsQuery { direction: Direction::Forward, streams: vec![LogStream::Out], ..query(2) }).await;
    assert_eq!(first.iter().map(|line| line.text.clone().unwrap()).collect::<Vec<_>>(), ["out 1", "out 2"]);
    let until = read(LogsQuery { until_us: Some(first[1].ts_us), ..query(50) }).await;
    assert!(until.len() >= 2 && until.iter().all(|line| line.ts_us <= first[1].ts_us));
    let all = read(query(100)).await;
    assert!(all.iter().any(|line| line.b64.as_deref() == Some("//4=")));
    let long: Vec<_> =
        all.iter().filter(|line| line.text.as_ref().is_some_and(|text| text.starts_with("xx"))).collect();
    assert_eq!(long.iter().map(|line| line.text.as_ref().unwrap().len()).sum::<usize>(), 40_000);
    assert_eq!(long.iter().map(|line| line.partial).collect::<Vec<_>>(), [true, true, false]);
    world.tear_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn req_3_a_followed_log_goes_on_over_restarts_without_doubles_and_ends_with_its_container() {
    let mut world = World::new(32).await;
    world.add_replica(1, "echo begin; sleep 1; echo end", json!({}));
    world.settle().await;
    let container = world.wait_for(1, |_| true).await;
    let mut follower = Follower::new(
        world.hands.engine.clone(),
        container.replica_id.clone(),
        container.id.clone(),
        (100, None),
        Filter::default(),
    );
    let mut lines = Vec::new();
    while lines.len() < 6 {
        match tokio::time::timeout(Duration::from_secs(30), follower.next()).await.expect("a line") {
            Followed::Line(line) => lines.push((line.ts_us, line.text.unwrap())),
            Followed::Gone => panic!("ended early: {lines:?}"),
        }
    }
    let texts: Vec<&str> = lines.iter().map(|line| line.1.as_str()).collect();
    assert_eq!(texts, ["begin", "end", "begin", "end", "begin", "end"]);
    let mut times: Vec<u64> = lines.iter().map(|line| line.0).collect();
    times.dedup();
    assert_eq!(times.len(), 6);
    world.tear_down().await;
    let ended = async { while follower.next().await != Followed::Gone {} };
    tokio::time::timeout(Duration::from_secs(30), ended).await.expect("an end");
}
