//! How lines are counted, sorted and cut into messages.

use super::*;

fn line(ts_us: u64, length: usize) -> LogLine {
    LogLine {
        ts_us,
        replica_id: "rep_1".parse().unwrap(),
        stream: host_proto::message::LogStream::Out,
        text: Some("x".repeat(length)),
        b64: None,
        partial: false,
    }
}

fn query(limit: u32, direction: Direction) -> LogsQuery {
    LogsQuery {
        query_id: "qry_1".parse().unwrap(),
        replica_ids: Vec::new(),
        since_us: None,
        until_us: None,
        direction,
        limit,
        contains: None,
        streams: Vec::new(),
    }
}

#[test]
fn req_3_the_lines_of_several_replicas_are_in_order_and_counted_from_the_end_that_was_asked_for() {
    let all = || vec![line(5, 1), line(1, 1), line(3, 1)];
    let limited = |limit, direction| {
        let mut lines = all();
        super::limit(&mut lines, &query(limit, direction));
        lines.iter().map(|line| line.ts_us).collect::<Vec<_>>()
    };
    assert_eq!(limited(2, Direction::Backward), [3, 5]);
    assert_eq!(limited(2, Direction::Forward), [1, 3]);
    assert_eq!(limited(9, Direction::Backward), [1, 3, 5]);
}

#[test]
fn req_3_an_answer_is_cut_into_messages_of_at_most_64_kib() {
    assert_eq!(batches(Vec::new()), vec![Vec::new()]);
    let batches = batches((0..100).map(|ts| line(ts, 2_000)).collect());
    assert!(batches.len() > 2);
    assert_eq!(batches.iter().map(Vec::len).sum::<usize>(), 100);
    let size = |batch: &Vec<LogLine>| serde_json::to_vec(batch).unwrap().len();
    assert!(batches.iter().all(|batch| size(batch) <= MAX_BATCH));
}
