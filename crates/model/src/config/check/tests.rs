//! What is said of files, whole lists at a time.

use super::*;

fn check_all(files: &[(&str, &str)]) -> Vec<String> {
    let files = files.iter().map(|(name, body)| ConfigFile::new(*name, None, *body));
    let problems = check(&ConfigFiles::try_new(files).unwrap());
    problems
        .into_iter()
        .map(|Problem { file, line, column, severity, message }| {
            format!("{file}:{line}:{column} {severity}: {message}")
        })
        .collect()
}

const GOOD: &str = "\
receivers: {otlp: {protocols: {grpc: null}}}
processors: {batch: null}
connectors: {spanmetrics: null}
exporters: {debug: null}
extensions: {health_check: null}
service:
  extensions: [health_check]
  pipelines:
    traces: {receivers: [otlp], processors: [batch], exporters: [spanmetrics, debug]}
    metrics: {receivers: [spanmetrics], exporters: [debug]}
";

#[test]
fn a_good_configuration_has_no_problem() {
    assert_eq!(check_all(&[("", GOOD)]), [""; 0]);
    assert_eq!(check_all(&[("a.txt", "[{"), ("b.json", "{\"a\": 1}")]), [""; 0]);
}

#[test]
fn a_structured_file_without_sections_is_a_warning() {
    let empty = "the file is empty";
    for body in ["", "\n", "# only a comment\n", "---\n", "null\n"] {
        assert_eq!(check_all(&[("", body)]), [format!(":0:0 warning: {empty}")], "{body:?}");
    }
    let value = "this is a single value; a Collector reads a map with sections such as receivers";
    let list = "this is a list; a Collector reads a map with sections such as receivers";
    assert_eq!(check_all(&[("", "hello\n")]), [format!(":1:1 warning: {value}")]);
    assert_eq!(check_all(&[("", "- a\n")]), [format!(":1:1 warning: {list}")]);
    let several = check_all(&[("a.yaml", "hello"), ("b.json", "[1]"), ("c.txt", "hello"), ("d.txt", "")]);
    assert_eq!(several.len(), 2, "{several:?}");
    assert!(several[0].starts_with("a.yaml:") && several[1].starts_with("b.json:"), "{several:?}");
    assert_eq!(check_all(&[("", "{}")]), [""; 0], "a map, if an empty one");
}

#[test]
fn a_pipeline_that_cannot_work_is_an_error() {
    let text = "\
receivers: {otlp: null}
exporters: {debug: null}
service:
  pipelines:
    traces:
      receivers: [otlp, jaeger]
      processors: [batch]
      exporters: [debug]
    logs: {receivers: [otlp]}
    metrics: {receivers: [], exporters: [debug]}
";
    assert_eq!(
        check_all(&[("c.yaml", text)]),
        [
            "c.yaml:6:25 warning: the pipeline traces uses the receiver jaeger, which is not defined",
            "c.yaml:7:20 warning: the pipeline traces uses the processor batch, which is not defined",
            "c.yaml:9:5 error: the pipeline logs has no exporters",
            "c.yaml:10:5 error: the pipeline metrics has no receivers",
        ]
    );
}

#[test]
fn what_is_odd_is_a_warning() {
    let text = "\
receivers: {otlp: null, otlp/b: null}
connectors: {c1: null, c2: null}
exporters: {debug: null}
extensions: {zpages: null}
templates: {}
service:
  extensions: [opamp]
  pipelines:
    traces: {receivers: [otlp, otlp], exporters: [debug, c2]}
    spans: {receivers: [otlp], exporters: [debug]}
";
    assert_eq!(
        check_all(&[("c.yaml", text)]),
        [
            "c.yaml:1:25 warning: no pipeline uses the receiver otlp/b",
            "c.yaml:2:14 warning: no pipeline uses the connector c1",
            "c.yaml:2:24 warning: no pipeline receives from the connector c2",
            "c.yaml:4:14 warning: service.extensions does not name the extension zpages",
            "c.yaml:5:1 warning: templates is no section of a Collector",
            "c.yaml:7:16 warning: the extension opamp is not defined",
            "c.yaml:9:32 warning: the pipeline traces names otlp twice",
            "c.yaml:10:5 warning: the pipeline spans has no known signal: traces, metrics, logs or profiles",
        ]
    );
}

#[test]
fn files_are_read_together_as_agents_merge_them() {
    let parts = "exporters: {debug: null}\nservice: {pipelines: {traces: {exporters: [debug]}}}\n";
    let rest = "receivers: {otlp: null}\nservice: {pipelines: {traces: {receivers: [otlp]}}}\n";
    assert_eq!(check_all(&[("a.yaml", parts), ("b.yaml", rest)]), [""; 0]);
    assert_eq!(
        check_all(&[("a.yaml", parts), ("b.yaml", &rest.replace("[otlp]", "[x]"))]),
        [
            "b.yaml:1:13 warning: no pipeline uses the receiver otlp",
            "b.yaml:2:44 warning: the pipeline traces uses the receiver x, which is not defined",
        ]
    );
}

#[test]
fn what_only_the_agent_can_resolve_is_not_judged() {
    let text = "\
receivers: ${file:receivers.yaml}
exporters: {debug: null}
service: {pipelines: {traces: {receivers: [otlp], exporters: [\"${env:EXPORTER}\", debug]}, logs: \"${env:LOGS}\"}}
";
    assert_eq!(check_all(&[("", text)]), [""; 0]);
}

#[test]
fn syntax_is_checked_in_every_file_and_nothing_else_is_said_then() {
    let broken = "a: 1\na: 2\n";
    assert_eq!(
        check_all(&[("a.yaml", broken), ("b.json", "{\"a\": }"), ("c.yaml", "a: 1\n---\nb: 2\n")]),
        [
            "a.yaml:2:1 error: the key \"a\" occurs twice",
            "b.json:1:7 error: expected value",
            "c.yaml:2:1 warning: a second document begins here; agents read the first one only",
        ]
    );
    let half = "service: {pipelines: {traces: {receivers: [otlp]}}}";
    assert_eq!(check_all(&[("a.yaml", broken), ("b.yaml", half)]).len(), 1);
}

#[test]
fn problems_are_told_up_to_a_limit() {
    let keys: String = (0..1000).map(|number| format!("k{number}: 1\n")).collect();
    assert_eq!(check_all(&[("", &(keys + "service: {pipelines: {}}"))]).len(), MAX_PROBLEMS);
}

#[test]
fn files_that_break_a_rule_make_a_problem_that_names_the_file() {
    let error = ConfigFiles::try_new([ConfigFile::new("../a", None, "")]).unwrap_err();
    let Problem { file, line, severity, message, .. } = Problem::from(&error);
    assert_eq!((file.as_str(), line, severity), ("../a", 0, Severity::Error));
    assert_eq!(message, "\"../a\" is no name of a file: it has a part that is \"..\"");
}
