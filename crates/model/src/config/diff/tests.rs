//! Differences, whole lists at a time.

use proptest::prelude::*;

use super::*;

fn files(list: &[(&str, &str)]) -> ConfigFiles {
    ConfigFiles::try_new(list.iter().map(|(name, body)| ConfigFile::new(*name, None, *body))).unwrap()
}

fn lines(from: &str, to: &str) -> Vec<String> {
    let difference = diff(&files(&[("", from)]), &files(&[("", to)]));
    let lines = difference.files.into_iter().flat_map(|file| file.lines);
    lines
        .map(|Line { kind, text }| match kind {
            LineKind::Same { old, new } => format!(" {old} {new} {text}"),
            LineKind::Added { new } => format!("+ {new} {text}"),
            LineKind::Removed { old } => format!("- {old} {text}"),
        })
        .collect()
}

fn changes(from: &str, to: &str) -> Vec<String> {
    let difference = diff(&files(&[("", from)]), &files(&[("", to)]));
    let changes = difference.changes.into_iter();
    changes
        .map(|ComponentChange { area, name, change, detail }| {
            format!("{area} {name} {}: {detail}", change.as_str()).trim_end_matches(": ").to_owned()
        })
        .collect()
}

#[test]
fn every_line_of_both_sides_is_there_with_its_numbers() {
    assert_eq!(lines("a\nb\nc\n", "a\nx\nc\nd"), [" 1 1 a", "- 2 b", "+ 2 x", " 3 3 c", "+ 4 d"]);
    assert_eq!(lines("a\n", "a"), ["- 1 a", "+ 1 a"]);
    assert_eq!(lines("a\n", "a\n"), [""; 0]);
}

#[test]
fn s18_secrets_are_masked_in_lines_and_that_they_changed_is_seen() {
    assert_eq!(
        lines("a: 1\ntoken: abc\n", "a: 1\ntoken: def\n"),
        [" 1 1 a: 1", "- 2 token: <redacted>", "+ 2 token: <redacted>"]
    );
}

#[test]
fn what_is_too_long_to_compare_keeps_its_start_and_its_end() {
    let text =
        |word: &str| format!("a\n{}z\n", (0..10_001).map(|n| format!("{word}{n}\n")).collect::<String>());
    let all = lines(&text("x"), &text("y"));
    assert_eq!(all.len(), 1 + 2 * 10_001 + 1);
    assert_eq!((all[0].as_str(), all[1].as_str(), all[10_002].as_str()), (" 1 1 a", "- 2 x0", "+ 2 y0"));
    assert_eq!(all[20_003], " 10003 10003 z");
}

#[test]
fn files_come_go_and_change_by_name() {
    let from = files(&[("a", "1\n"), ("b", "1\n"), ("c", "1\n")]);
    let to = files(&[("b", "1\n"), ("c", "2\n"), ("d", "1\n")]);
    let names: Vec<_> =
        diff(&from, &to).files.into_iter().map(|file| (file.name, file.change.as_str())).collect();
    assert_eq!(names, [("a".to_owned(), "removed"), ("c".to_owned(), "changed"), ("d".to_owned(), "added")]);
}

const FROM: &str = "\
receivers: {otlp: {protocols: {grpc: {endpoint: 'localhost:4317'}}}, jaeger: {}}
processors: {batch: {timeout: 1s}}
exporters: {debug: {}, otlp: {endpoint: a, headers: {authorization: abc}}}
extensions: {health_check: {}}
service:
  extensions: [health_check]
  telemetry: {logs: {level: info}}
  pipelines:
    traces: {receivers: [otlp, jaeger], processors: [batch, x], exporters: [debug]}
    logs: {receivers: [otlp], exporters: [debug]}
";

#[test]
fn a_collectors_change_is_told_by_components_and_pipelines() {
    let to = "\
receivers: {otlp: {protocols: {grpc: {endpoint: '0.0.0.0:4317'}, http: {}}}}
processors: {batch: {timeout: '1s'}}
exporters: {otlp: {headers: {authorization: def}, endpoint: a}, debug: }
extensions: {health_check: {}, zpages: {}}
service:
  extensions: [health_check, zpages]
  telemetry: {logs: {level: debug}}
  pipelines:
    traces: {receivers: [otlp], processors: [x, batch], exporters: [debug, otlp]}
    metrics: {receivers: [otlp], exporters: [debug]}
x: 1
";
    assert_eq!(
        changes(FROM, to),
        [
            "receiver otlp changed: protocols.grpc.endpoint: localhost:4317 → 0.0.0.0:4317; protocols.http added",
            "receiver jaeger removed",
            "exporter otlp changed: headers.authorization: <redacted> → <redacted>",
            "extension zpages added",
            "pipeline traces changed: receivers -jaeger; processors in another order; exporters +otlp",
            "pipeline logs removed",
            "pipeline metrics added",
            "service extensions changed: [health_check] → [health_check, zpages]",
            "service telemetry changed: logs.level: info → debug",
            "other x added",
        ]
    );
}

#[test]
fn what_is_no_collectors_configuration_has_no_meaning_here() {
    assert_eq!(changes("a: 1\n", "a: 2\n"), [""; 0]);
    assert_eq!(changes(FROM, "a: [\n"), [""; 0]);
    assert_eq!(changes(FROM, FROM), [""; 0]);
}

#[test]
fn a_change_of_layout_changes_lines_and_no_component() {
    let to = FROM.replace(", ", ",  ");
    assert_eq!(changes(FROM, &to), [""; 0]);
    assert!(!lines(FROM, &to).is_empty());
}

#[test]
fn hostile_texts_come_to_an_end_and_lists_stay_short() {
    let text = |lines: u32, start: u32, step: u32| -> String {
        (0..lines).map(|n| format!("{}\n", (n * step + start) % 7919)).collect()
    };
    for (from, to) in [
        (text(9_900, 0, 1), text(9_900, 0, 3)),
        (text(9_900, 0, 1), text(9_900, 5000, 1)),
        (text(60_000, 0, 1), text(60_000, 0, 3)),
        ("a\nb\n".repeat(4_900), "b\na\nc\n".repeat(3_300)),
        ("a\n".repeat(300_000), "b\n".repeat(300_000)),
        ("\n".repeat(200_000), "\n".repeat(200_001)),
    ] {
        assert!(!lines(&from, &to).is_empty());
    }
    let keys =
        |start: u32| -> String { (0..5000).map(|n| format!("  k{}: {{a: 1}}\n", n + start)).collect() };
    let config = |start: u32| format!("receivers:\n{}service: {{pipelines: {{}}}}\n", keys(start));
    assert_eq!(changes(&config(0), &config(5000)).len(), MAX_CHANGES);
    let fields = |value: u32| -> String { (0..5000).map(|n| format!("a{n}: {value},")).collect() };
    let config =
        |value: u32| format!("receivers: {{a: {{{}}}}}\nservice: {{pipelines: {{}}}}\n", fields(value));
    let told = changes(&config(0), &config(1));
    assert!(told[0].ends_with("; and more") && told[0].len() < 200, "{told:?}");
}

proptest! {
    #[test]
    fn the_lines_of_a_difference_are_those_of_both_sides(from in "([abc]?\n){0,12}", to in "([abc]?\n){0,12}") {
        let difference = diff(&files(&[("a", &from)]), &files(&[("a", &to)]));
        prop_assert_eq!(difference.files.is_empty(), from == to);
        let lines = difference.files.into_iter().flat_map(|file| file.lines);
        let (mut old_side, mut new_side) = (Vec::new(), Vec::new());
        for Line { kind, text } in lines {
            let (old, new) = match kind {
                LineKind::Same { old, new } => (Some(old), Some(new)),
                LineKind::Added { new } => (None, Some(new)),
                LineKind::Removed { old } => (Some(old), None),
            };
            old_side.extend(old.map(|number| (number, text.clone())));
            new_side.extend(new.map(|number| (number, text)));
        }
        let numbered = |text: &str| (1..).zip(text.lines().map(str::to_owned)).collect::<Vec<_>>();
        if from != to {
            prop_assert_eq!((old_side, new_side), (numbered(&from), numbered(&to)));
        }
    }
}
