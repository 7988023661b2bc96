//! One piece of a log as the engine gives it: a time, a space, and a line, or a part of a line when it has no line end.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bollard::container::LogOutput;
use host_proto::id::ReplicaId;
use host_proto::limits::LOG_LINE;
use host_proto::message::{LogLine, LogStream};

use crate::docker::civil;

/// The lines of a piece: one, or several when it is longer than a line may be (R81).
pub(super) fn lines(replica: &ReplicaId, frame: LogOutput) -> Vec<LogLine> {
    let stream = if matches!(frame, LogOutput::StdErr { .. }) { LogStream::Err } else { LogStream::Out };
    let bytes = frame.into_bytes();
    let (ts_us, body) = timed(&bytes);
    let (body, partial) = match body.strip_suffix(b"\n") {
        Some(line) => (line.strip_suffix(b"\r").unwrap_or(line), false),
        // Engines cut lines at just this length, and some forget the line end of the last piece.
        None => (body, body.len() >= LOG_LINE),
    };
    let line = |piece: &[u8], partial| {
        let (text, b64) = match std::str::from_utf8(piece) {
            Ok(text) => (Some(text.to_owned()), None),
            Err(_) => (None, Some(STANDARD.encode(piece))),
        };
        LogLine { ts_us, replica_id: replica.clone(), stream, text, b64, partial }
    };
    if body.is_empty() {
        return vec![line(body, partial)];
    }
    let mut pieces = body.chunks(LOG_LINE).peekable();
    let mut lines = Vec::with_capacity(1);
    while let Some(piece) = pieces.next() {
        lines.push(line(piece, partial || pieces.peek().is_some()));
    }
    lines
}

/// Whether a piece is the one before once more: engines tell the last line of a file again when they go on to the next
/// file. No program writes two lines at the same nanosecond; pieces of one line can share their time and their text.
pub(super) fn is_repeated(before: &LogOutput, piece: &LogOutput) -> bool {
    before == piece && piece.as_ref().ends_with(b"\n")
}

/// The text of a piece, whatever its bytes are.
pub(super) fn text(frame: LogOutput) -> String {
    let bytes = frame.into_bytes();
    String::from_utf8_lossy(timed(&bytes).1).trim_end().to_owned()
}

/// Takes the time from the front. A piece without one keeps all its bytes.
fn timed(bytes: &[u8]) -> (u64, &[u8]) {
    let space = bytes.iter().take(40).position(|byte| *byte == b' ');
    let time = space.and_then(|at| civil::micros(std::str::from_utf8(&bytes[..at]).ok()?));
    match (space, time) {
        (Some(at), Some(time)) => (time, &bytes[at + 1..]),
        _ => (0, bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8]) -> Vec<(u64, Option<String>, Option<String>, bool)> {
        let frame = LogOutput::StdOut { message: bytes.to_vec().into() };
        let replica = "rep_1".parse().unwrap();
        lines(&replica, frame)
            .into_iter()
            .map(|line| (line.ts_us, line.text, line.b64, line.partial))
            .collect()
    }

    fn text(text: &str, partial: bool) -> (u64, Option<String>, Option<String>, bool) {
        (1_000_000, Some(text.to_owned()), None, partial)
    }

    #[test]
    fn r81_lines_keep_their_time_and_bytes_that_are_no_text_become_base64() {
        assert_eq!(read(b"1970-01-01T00:00:01.000000000Z hello world\n"), [text("hello world", false)]);
        assert_eq!(read(b"1970-01-01T00:00:01.000000000Z \r\n"), [text("", false)]);
        assert_eq!(read(b"1970-01-01T00:00:01.000000000Z no end"), [text("no end", false)]);
        let binary = read(b"1970-01-01T00:00:01.000000000Z \xff\xfe\n");
        assert_eq!(binary, [(1_000_000, None, Some("//4=".to_owned()), false)]);
        assert_eq!(read(b"no time here\n"), [(0, Some("no time here".to_owned()), None, false)]);
    }

    #[test]
    fn r45_a_line_that_is_told_once_more_is_known_and_pieces_of_a_line_are_not_taken_for_that() {
        let out = |text: &'static str| LogOutput::StdOut { message: text.into() };
        let line = "1970-01-01T00:00:01.000000001Z same\n";
        assert!(is_repeated(&out(line), &out(line)));
        assert!(!is_repeated(&out(line), &out("1970-01-01T00:00:01.000000002Z same\n")));
        assert!(!is_repeated(&out(line), &LogOutput::StdErr { message: line.into() }));
        assert!(!is_repeated(&out(line.trim_end()), &out(line.trim_end())));
    }

    #[test]
    fn r81_a_long_line_comes_in_pieces() {
        let mut bytes = b"1970-01-01T00:00:01.000000000Z ".to_vec();
        bytes.extend(vec![b'x'; LOG_LINE + 10]);
        bytes.push(b'\n');
        assert_eq!(read(&bytes), [text(&"x".repeat(LOG_LINE), true), text(&"x".repeat(10), false)]);
        bytes.truncate(bytes.len() - 11);
        assert_eq!(read(&bytes), [text(&"x".repeat(LOG_LINE), true)]);
    }
}
