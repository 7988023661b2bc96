//! What containers print (REQ-3): read once, or followed. Bytes that are no text travel as base64, long lines in pieces.
//! Nothing here ever holds a container back.

mod follow;
mod frame;

use std::collections::VecDeque;
use std::pin::Pin;
use std::time::Duration;

use bollard::container::LogOutput;
use bollard::errors::Error;
use bollard::query_parameters::LogsOptions;
use futures_util::{Stream, StreamExt};
use host_proto::id::ReplicaId;
use host_proto::limits::LOG_QUERY_LINES;
use host_proto::message::{Direction, LogLine, LogStream, LogsQuery};
use reconcile::Trouble;

use super::Engine;
use super::trouble::{of, retry};

pub use follow::{Followed, Follower};

/// A query must be done within this time: a filter may have to read a whole log.
const QUERY: Duration = Duration::from_secs(30);
/// Most bytes of text that a query of one container returns: several answers must fit one message (REQ-11).
const QUERY_BYTES: usize = 4 * 1024 * 1024;
/// For the last lines of one that failed.
const LAST: Duration = Duration::from_secs(5);

/// What an engine gives of a log.
type Frames = Pin<Box<dyn Stream<Item = Result<LogOutput, Error>> + Send>>;

/// Lines that were asked for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Read {
    /// In order of time.
    pub lines: Vec<LogLine>,
    /// Why there are fewer than were asked for.
    pub truncated: Option<String>,
}

/// Which lines are wanted, of a stream of all.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// Only lines with this text.
    pub contains: Option<String>,
    /// Only these streams; both when empty.
    pub streams: Vec<LogStream>,
}

impl Filter {
    fn wants_stream(&self, stream: LogStream) -> bool {
        self.streams.is_empty() || self.streams.contains(&stream)
    }

    fn wants(&self, line: &LogLine) -> bool {
        let stream = self.wants_stream(line.stream);
        let text = self
            .contains
            .as_ref()
            .is_none_or(|wanted| line.text.as_ref().is_some_and(|text| text.contains(wanted.as_str())));
        stream && text
    }
}

impl Engine {
    /// Reads lines of a container that were printed already.
    pub async fn read_logs(
        &self,
        id: &ReplicaId,
        container: &str,
        query: &LogsQuery,
    ) -> Result<Read, Trouble> {
        match tokio::time::timeout(QUERY, self.read_all(id, container, query)).await {
            Ok(read) => read,
            Err(_) => Err(retry(format!("logs: not read within {} s", QUERY.as_secs()))),
        }
    }

    async fn read_all(&self, id: &ReplicaId, container: &str, query: &LogsQuery) -> Result<Read, Trouble> {
        let limit = usize::try_from(query.limit.min(LOG_QUERY_LINES)).unwrap_or(usize::MAX);
        let filter = Filter { contains: query.contains.clone(), streams: query.streams.clone() };
        let from_front = query.direction == Direction::Forward;
        // The engine finds the last lines by itself when nothing else is to be looked for; it counts those of both streams,
        // whichever are asked for.
        let all_text = filter.contains.is_none() && filter.streams.is_empty();
        let simple = !from_front && all_text && query.until_us.is_none();
        let tail = if simple { limit.to_string() } else { "all".to_owned() };
        let mut frames = self.frames(container, &filter, false, query.since_us, &tail);
        let mut kept = Kept { lines: VecDeque::new(), bytes: 0, limit, from_front, truncated: None };
        while let Some(frame) = frames.next().await {
            for line in frame::lines(id, frame.map_err(|error| of("logs", error))?) {
                let early = query.since_us.is_some_and(|since| line.ts_us < since);
                let late = query.until_us.is_some_and(|until| line.ts_us > until);
                if !early && !late && filter.wants(&line) && !kept.take(line) {
                    return Ok(kept.into_read());
                }
            }
        }
        Ok(kept.into_read())
    }

    /// The last lines of a container, as text.
    pub(crate) async fn last_lines(&self, container: &str, count: usize) -> Option<Vec<String>> {
        let all = async {
            let mut frames = self.frames(container, &Filter::default(), false, None, &count.to_string());
            let mut lines = VecDeque::new();
            while let Some(Ok(frame)) = frames.next().await {
                lines.push_back(frame::text(frame));
                if lines.len() > count {
                    lines.pop_front();
                }
            }
            lines.into()
        };
        tokio::time::timeout(LAST, all).await.ok()
    }

    /// The log of a container from a second on, with times. `tail` counts lines of both streams.
    fn frames(
        &self,
        container: &str,
        filter: &Filter,
        follow: bool,
        since_us: Option<u64>,
        tail: &str,
    ) -> Frames {
        let since = since_us.and_then(|us| i32::try_from(us / 1_000_000).ok()).unwrap_or_default();
        let options = LogsOptions {
            follow,
            stdout: filter.wants_stream(LogStream::Out),
            stderr: filter.wants_stream(LogStream::Err),
            since,
            until: 0,
            timestamps: true,
            tail: tail.to_owned(),
        };
        Box::pin(self.docker.logs(container, Some(options)))
    }
}

/// The lines of an answer while it grows.
struct Kept {
    lines: VecDeque<LogLine>,
    bytes: usize,
    limit: usize,
    from_front: bool,
    truncated: Option<String>,
}

impl Kept {
    /// Takes a line in; false when no more are wanted.
    fn take(&mut self, line: LogLine) -> bool {
        self.bytes += size(&line);
        self.lines.push_back(line);
        if self.from_front {
            if self.bytes >= QUERY_BYTES {
                self.truncated = Some(format!("the first {QUERY_BYTES} bytes"));
            }
            return self.lines.len() < self.limit && self.bytes < QUERY_BYTES;
        }
        while self.lines.len() > self.limit || self.bytes > QUERY_BYTES {
            if self.lines.len() <= self.limit {
                self.truncated = Some(format!("the last {QUERY_BYTES} bytes"));
            }
            let Some(dropped) = self.lines.pop_front() else { break };
            self.bytes -= size(&dropped);
        }
        true
    }

    fn into_read(self) -> Read {
        Read { lines: self.lines.into(), truncated: self.truncated }
    }
}

fn size(line: &LogLine) -> usize {
    line.text.as_ref().or(line.b64.as_ref()).map_or(0, String::len)
}
