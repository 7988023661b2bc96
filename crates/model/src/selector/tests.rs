//! Selectors: what text means, what errors point at, and that text and tree are the same thing.

use proptest::prelude::*;

use super::*;
use crate::attribute::{Attribute, AttributeValue};

fn agent() -> Attributes {
    Attributes {
        identifying: vec![Attribute::new("service.name", "otelcol".into())],
        non_identifying: vec![
            Attribute::new("process.pid", AttributeValue::Int(42)),
            Attribute::new("ready", AttributeValue::Bool(true)),
            Attribute::new("zone", "a".into()),
            Attribute::new("zone", "b".into()),
            Attribute::new("note", "it's, (odd) \"text\"".into()),
            Attribute::new("empty", "".into()),
        ],
    }
}

fn check(text: &str, expected: bool) {
    let selector = Selector::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    assert_eq!(selector.matches(&agent()), expected, "{text}");
}

#[test]
fn s5_a_selector_matches_values_of_every_type_by_their_text() {
    check("service.name=otelcol", true);
    check("service.name==otelcol,process.pid=42", true);
    check("process.pid=4", false);
    check("ready=true", true);
    check("ready in (false, true)", true);
    check("note='it\\'s, (odd) \"text\"'", true);
    check("empty=", true);
    check("empty=,ready", true);
}

#[test]
fn a_missing_key_differs_from_every_value() {
    check("nowhere!=x", true);
    check("nowhere notin (x,y)", true);
    check("nowhere", false);
    check("!nowhere", true);
    check("nowhere=", false);
}

#[test]
fn a_key_with_two_values_is_equal_to_both() {
    check("zone=a", true);
    check("zone=b,zone=a", true);
    check("zone!=a", false);
    check("zone notin (c)", true);
    check(" zone  notin(c , b) ", false);
}

#[test]
fn a_label_is_one_more_value_of_its_key() {
    let labels =
        [("zone", "c"), ("team", "ops")].map(|(key, value)| (key.to_owned(), value.to_owned())).into();
    let check = |text: &str, expected: bool| {
        let selector = Selector::parse(text).unwrap();
        assert_eq!(selector.matches_labelled(&agent(), &labels), expected, "{text}");
    };
    check("zone=a,zone=c,team=ops,service.name=otelcol", true);
    check("zone!=c", false);
    check("zone in (c, d),team notin (dev)", true);
    check("team", true);
    check("!team", false);
    check("zone notin (d)", true);
    check("ready=true,!nowhere", true);
}

#[test]
fn no_requirement_is_everything() {
    check("", true);
    check("  ", true);
    assert!(Selector::parse(" ").unwrap().is_everything());
}

#[test]
fn an_error_points_to_the_column() {
    let error = |text: &str| Selector::parse(text).unwrap_err().to_string();
    assert_eq!(error("a=b c=d"), "column 5: expected a comma, found 'c'");
    assert_eq!(error("a=b,"), "column 5: expected a key, found the end");
    assert_eq!(error("é!b"), "column 3: expected \"!=\"");
    assert_eq!(error("a in b"), "column 6: expected a list in parentheses");
    assert_eq!(error("a in (b"), "column 8: the list is not closed");
    assert_eq!(error("a in ()"), "column 7: expected a value, found ')'");
    assert_eq!(error("a like b"), "column 3: expected =, ==, !=, in, notin or a comma, found \"like\"");
    assert_eq!(error("a=\"b"), "column 3: the quote is not closed");
    assert_eq!(error("\"\"=b"), "column 1: a key must not be empty");
    assert_eq!(error("a='\\x'"), "column 5: after a backslash comes a quote or a backslash");
    assert!(error(&"a".repeat(5000)).contains("at most 4096 bytes"));
    assert!(error(&"a,".repeat(40)).contains("found the end"));
    assert!(error(&vec!["a"; 40].join(",")).contains("more than 32 requirements"));
}

/// Words with every character that could upset the syntax.
fn word() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z][a-z0-9._/-]{0,8}",
        "[ -~]{0,8}",
        ".{0,6}",
        Just("in".to_owned()),
        Just("notin".to_owned())
    ]
}

fn test() -> impl Strategy<Value = Test> {
    prop_oneof![
        word().prop_map(Test::Is),
        word().prop_map(Test::IsNot),
        prop::collection::vec(word(), 1..4).prop_map(Test::In),
        prop::collection::vec(word(), 1..4).prop_map(Test::NotIn),
        Just(Test::Exists),
        Just(Test::Missing),
    ]
}

fn selector() -> impl Strategy<Value = Selector> {
    let key = word().prop_filter("a key is not empty", |key| !key.is_empty());
    let requirement = (key, test()).prop_map(|(key, test)| Requirement::try_new(key, test).unwrap());
    prop::collection::vec(requirement, 0..5).prop_map(|all| Selector::try_new(all).unwrap())
}

proptest! {
    #[test]
    fn the_text_of_a_selector_reads_back_to_the_same_selector(selector in selector()) {
        let text = selector.to_string();
        prop_assert_eq!(Selector::parse(&text), Ok(selector), "{}", text);
    }

    #[test]
    fn any_text_is_a_selector_or_an_error_within_the_text(text in "[a-c=!,() \"'\\\\é]{0,24}") {
        match Selector::parse(&text) {
            Ok(selector) => prop_assert_eq!(Selector::parse(&selector.to_string()), Ok(selector)),
            Err(error) => prop_assert!((1..=text.chars().count() + 1).contains(&error.column), "{}", error),
        }
    }
}
