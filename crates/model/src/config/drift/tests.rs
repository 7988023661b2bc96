//! Drift, whole lists at a time.

use bytes::Bytes;
use proptest::prelude::*;

use super::*;

fn offered(list: &[(&str, &str)]) -> ConfigFiles {
    ConfigFiles::try_new(list.iter().map(|(name, body)| ConfigFile::new(*name, None, *body))).unwrap()
}

fn effective(list: &[(&str, &str)]) -> AgentConfigMap {
    let file = |body: &str| AgentConfigFile {
        body: Bytes::copy_from_slice(body.as_bytes()),
        ..AgentConfigFile::default()
    };
    let config_map = list.iter().map(|(name, body)| ((*name).to_owned(), file(body))).collect();
    AgentConfigMap { config_map }
}

fn files(given: &[(&str, &str)], runs: &[(&str, &str)]) -> Option<Vec<String>> {
    let drifts = drift(&offered(given), &effective(runs))?.into_iter();
    let told = drifts.map(|Drift { path, offered, effective }| {
        format!("{path}: {offered} | {}", effective.as_deref().unwrap_or("-"))
    });
    Some(told.collect())
}

fn check(given: &str, runs: &str, expected: &[&str]) {
    assert_eq!(files(&[("a.yaml", given)], &[("", runs)]).unwrap(), expected, "{given} | {runs}");
}

#[test]
fn what_the_agent_adds_is_no_drift() {
    check("a: {b: 1}\n", "a: {b: 1, c: 2}\nd: 3\n", &[]);
    let given = "service: {extensions: [health_check]}\n";
    check(given, "service: {extensions: [opamp, health_check], telemetry: {}}\n", &[]);
    check(given, "service: {extensions: [opamp]}\n", &["service.extensions: [health_check] | [opamp]"]);
    check("a: [{b: 1}]\n", "a: [{b: 1, c: 2}]\n", &[]);
}

#[test]
fn another_value_and_a_missing_one_are_drift() {
    check("a: {b: 1, c: x}\n", "a: {b: 2}\n", &["a.b: 1 | 2", "a.c: x | -"]);
    check("a: [1, 2]\n", "a: [2, 1]\n", &["a: [1, 2] | [2, 1]"]);
    check("a: [1]\n", "a: [1, 2]\n", &["a: [1] | [1, 2]"]);
    check("a: {b: 1}\n", "a: x\n", &["a: {b: 1} | x"]);
    check("receivers: {otlp: }\n", "receivers: {}\n", &["receivers.otlp:  | -"]);
}

#[test]
fn values_are_compared_by_what_they_mean() {
    check("a: 1s\nb: 0x10\nc: 'x'\nd:\ne: 1.0\n", "a: \"1s\"\nb: 16\nc: x\nd: {}\ne: 1\n", &[]);
    check("a: \"16\"\n", "a: 16\n", &["a: \"16\" | 16"]);
}

#[test]
fn what_the_agent_masks_or_resolves_itself_is_not_compared() {
    for mask in [
        "<redacted>",
        "'[REDACTED]'",
        "'****'",
        "REDACTED",
        "'(hidden)'",
        "http://u:xxxxx@h",
        "http://u:***@h",
    ] {
        check("a: secret\n", &format!("a: {mask}\n"), &[]);
    }
    check("a: x\n", "a: hidden\n", &["a: x | hidden"]);
    check("a: x\n", "a: '**'\n", &["a: x | \"**\""]);
    check("a: ${env:HOST}:4317\nb: '$$x'\n", "a: h:4317\nb: $x\n", &[]);
    check("a: ${env:HOST}\n", "b: 1\n", &["a: \"${env:HOST}\" | -"]);
}

#[test]
fn s18_drift_shows_no_secret() {
    check("a: {api_key: abc}\n", "a: {api_key: def}\n", &["a.api_key: <redacted> | <redacted>"]);
    check(
        "a: {headers: [{name: Cookie, value: abc}]}\n",
        "a: {}\n",
        &["a.headers: [{name: Cookie, value: <redacted>}] | -"],
    );
}

#[test]
fn files_are_merged_unless_the_agent_reports_them_by_name() {
    let given = [("a.yaml", "x: 1\ny: 1\n"), ("b.yaml", "x: 2\n")];
    assert_eq!(files(&given, &[("effective", "{x: 2, y: 1}")]), None, "no format is known");
    assert_eq!(files(&given, &[("", "{x: 2, y: 1}")]).unwrap(), [""; 0]);
    assert_eq!(files(&given, &[("", "{x: 1, y: 1}")]).unwrap(), ["x: 2 | 1"]);
    assert_eq!(files(&given, &[("a.yaml", "{x: 5, y: 1}"), ("b.yaml", "x: 2")]).unwrap(), ["x: 1 | 5"]);
}

#[test]
fn other_files_are_compared_byte_for_byte() {
    let given = [("a.yaml", "x: 1\n"), ("b.pem", "abc")];
    assert_eq!(files(&given, &[("a.yaml", "x: 1"), ("b.pem", "abc")]).unwrap(), [""; 0]);
    assert_eq!(
        files(&given, &[("a.yaml", "x: 1"), ("b.pem", "abcd")]).unwrap(),
        ["b.pem: 3 bytes | 4 bytes"]
    );
    assert_eq!(files(&given, &[("a.yaml", "x: 1")]).unwrap(), ["b.pem: 3 bytes | -"]);
    assert_eq!(files(&given, &[("", "x: 1")]).unwrap(), [""; 0]);
}

#[test]
fn nothing_is_said_of_what_cannot_be_read() {
    assert_eq!(files(&[("a.yaml", "x: 1")], &[]), None);
    assert_eq!(files(&[("a.yaml", "x: 1")], &[("", "x: [")]), None);
    let bomb: String = (1..30).map(|n| format!("a{n}: &a{n} [*a{0},*a{0},*a{0},*a{0}]\n", n - 1)).collect();
    assert_eq!(files(&[("a.yaml", "x: 1")], &[("", &format!("a0: &a0 [x]\n{bomb}"))]), None);
}

#[test]
fn lists_of_drift_stay_short() {
    let many = |value: u32| (0..20_000).map(|n| format!("k{n}: {value}\n")).collect::<String>();
    assert_eq!(files(&[("", &many(1))], &[("", &many(2))]).unwrap().len(), MAX_DRIFTS);
    let list = |value: u32| {
        format!(
            "service: {{extensions: [{}]}}",
            (0..20_000).map(|n| format!("e{},", n * 2 + value)).collect::<String>()
        )
    };
    assert_eq!(files(&[("", &list(0))], &[("", &list(1))]).unwrap().len(), 1);
}

/// Pieces of YAML in any order.
fn pieces() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "a",
        "b: ",
        "c:\n  ",
        "- ",
        "\n",
        "[",
        "]",
        "{",
        "}",
        ", ",
        "\"",
        "&x ",
        "*x",
        "|\n",
        "<<: ",
        "$$",
        "${a}",
        "~",
        "****",
        "1",
        "0x1",
        "service: ",
        "extensions: ",
        "'",
        "é",
    ]);
    prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn who_runs_what_it_was_given_has_no_drift(text in pieces()) {
        let drifts = files(&[("", &text)], &[("", &text)]);
        prop_assert!(drifts.as_ref().is_none_or(Vec::is_empty), "{drifts:?}");
    }

    #[test]
    fn any_two_texts_have_an_answer(given in pieces(), runs in pieces()) {
        let drifts = files(&[("", &given)], &[("", &runs)]);
        prop_assert!(drifts.is_none_or(|drifts| drifts.len() <= MAX_DRIFTS));
    }
}
