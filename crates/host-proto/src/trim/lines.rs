//! Lines: of a host's own, and of its replicas on their way to whoever asked for them. What a replica prints is its own
//! affair and goes on as it is, but for its length: those who show it know that.

use super::{Trim, cut, line, list, maybe, shorten};
use crate::limits::{HOST_LOG_LINES, HOST_LOG_TEXT, LOG_BATCH, LOG_LINE, LOG_QUERY_LINES, TEXT};
use crate::message::{HostLogLine, HostLogsTail, LogLine, LogLines, LogsEnded, LogsResult};

/// What a line takes beside its text, for a batch of empty ones.
const LINE_AROUND: usize = 100;

impl Trim for HostLogsTail {
    fn trim(&mut self) {
        let Self { seq, lines } = self;
        // The last ones are kept, as the agent does.
        let surplus = lines.len().saturating_sub(HOST_LOG_LINES);
        if surplus > 0 {
            *lines = lines.split_off(surplus);
            *seq = seq.saturating_add(surplus as u64);
        }
        list(lines, HOST_LOG_LINES);
    }
}

impl Trim for HostLogLine {
    fn trim(&mut self) {
        let Self { ts_us: _, level: _, source: _, replica_id: _, release_id: _, text } = self;
        line(text, HOST_LOG_TEXT);
    }
}

impl Trim for LogLine {
    fn trim(&mut self) {
        let Self { ts_us: _, replica_id: _, stream: _, text, b64, partial } = self;
        if let Some(text) = text {
            cut(text, LOG_LINE);
        }
        // Base64 in whole groups; the agent never says more.
        let most = LOG_LINE.div_ceil(3) * 4;
        if let Some(bytes) = b64.as_mut().filter(|bytes| bytes.len() > most) {
            let end = (0..=most).rev().find(|end| bytes.is_char_boundary(*end)).unwrap_or(0);
            bytes.truncate(end);
            bytes.shrink_to_fit();
            *partial = true;
        }
    }
}

impl Trim for LogLines {
    fn trim(&mut self) {
        let Self { subscription_id: _, seq: _, lines, dropped } = self;
        let lost = batch(lines);
        *dropped = dropped.saturating_add(lost);
    }
}

impl Trim for LogsResult {
    fn trim(&mut self) {
        let Self { query_id: _, seq: _, lines, eof: _, truncated_reason } = self;
        maybe(truncated_reason, TEXT);
        if batch(lines) > 0 {
            truncated_reason
                .get_or_insert_with(|| "more lines came at once than a message may have".to_owned());
        }
    }
}

impl Trim for LogsEnded {
    fn trim(&mut self) {
        let Self { subscription_id: _, reason: _, message } = self;
        maybe(message, TEXT);
    }
}

/// As many lines as a batch may have; how many were left out.
fn batch(lines: &mut Vec<LogLine>) -> u64 {
    let before = lines.len();
    list(lines, usize::try_from(LOG_QUERY_LINES).unwrap_or(usize::MAX));
    let mut size = 0;
    let fitting = lines.iter().take_while(|line| {
        let texts = line.text.iter().chain(&line.b64).map(String::len).sum::<usize>();
        size += texts + LINE_AROUND;
        size <= LOG_BATCH
    });
    let fitting = fitting.count();
    shorten(lines, fitting);
    (before - lines.len()) as u64
}
