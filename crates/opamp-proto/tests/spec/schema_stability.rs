//! The schema that we compile is the published one, symbol for symbol, and later versions of it do not disturb us.

use std::collections::BTreeSet;

use opamp_proto::wire::{self, Message, any_value::Value};

use crate::generators::varint;

const SCHEMA: &str = include_str!("schema.txt");
const FILES: [&str; 2] =
    [include_str!("../../proto/opamp.proto"), include_str!("../../proto/anyvalue.proto")];

fn published() -> BTreeSet<String> {
    SCHEMA.lines().filter(|line| !line.starts_with('#')).map(str::to_owned).collect()
}

/// The symbols of a .proto file in the words of schema.txt.
fn symbols(file: &str) -> Vec<String> {
    let mut symbols = Vec::new();
    let mut open: Vec<(&str, &str)> = Vec::new();
    for line in file.lines().map(|line| line.split("//").next().unwrap_or(line).trim()) {
        let words: Vec<&str> = line.trim_end_matches([';', '{', ' ']).split_whitespace().collect();
        match words.as_slice() {
            [kind @ ("message" | "enum" | "oneof"), name] => open.push((kind, name)),
            ["message", name, "{}"] => symbols.push(format!("message {name}")),
            ["}"] => drop(open.pop()),
            [name, "=", number] if matches!(open.last(), Some(("enum", _))) => {
                let number = number
                    .strip_prefix("0x")
                    .map_or_else(|| number.parse(), |hex| u64::from_str_radix(hex, 16));
                symbols.push(format!("enum {}.{name} = {}", open[0].1, number.unwrap()));
            }
            [kind @ .., name, "=", number] if !open.is_empty() => {
                let oneof = open.get(1).map(|(_, name)| format!(" oneof {name}")).unwrap_or_default();
                symbols.push(format!("message {}.{name} = {number} {}{oneof}", open[0].1, kind.join(" ")));
            }
            _ => {}
        }
    }
    symbols
}

#[test]
fn schema_1_schema_3_schema_7_no_type_number_or_label_differs_from_the_published_schema() {
    let ours: BTreeSet<String> = FILES.iter().flat_map(|file| symbols(file)).collect();
    let published = published();
    let missing: Vec<_> = published.difference(&ours).collect();
    let added: Vec<_> = ours.difference(&published).collect();
    assert!(missing.is_empty() && added.is_empty(), "missing or changed: {missing:#?}, new: {added:#?}");
}

#[test]
fn schema_2_schema_4_schema_5_schema_8_no_name_is_gone_or_moved() {
    // Names are kept apart from numbers and types, so that this fails alone when only a name or a place changed.
    let name = |symbol: &String| symbol.split(" = ").next().unwrap_or(symbol).to_owned();
    let ours: BTreeSet<String> =
        FILES.iter().flat_map(|file| symbols(file)).map(|symbol| name(&symbol)).collect();
    let published: BTreeSet<String> = published().iter().map(name).collect();
    assert_eq!(published.difference(&ours).collect::<Vec<_>>(), Vec::<&String>::new());
}

#[test]
fn schema_6_package_and_files_keep_their_names() {
    for file in FILES {
        assert!(file.contains("\npackage opamp.proto;\n"));
    }
    assert!(FILES[0].contains("\nimport \"anyvalue.proto\";\n"));
}

#[test]
fn schema_10_new_fields_of_known_messages_are_tolerated() {
    let later = [varint(12 << 3 | 2), varint(2), vec![1, 2], varint(7 << 3), varint(3)].concat();
    assert_eq!(wire::ServerToAgent::decode(&later[..]).unwrap().capabilities, 3);
    let later = [varint(9 << 3 | 2), varint(0), varint(1 << 3 | 2), varint(1), vec![b'x']].concat();
    assert_eq!(wire::AgentConfigFile::decode(&later[..]).unwrap().body[..], *b"x");
}

#[test]
fn schema_12_an_unknown_choice_of_an_enum_is_kept_as_its_number() {
    let bytes = [varint(2 << 3), varint(4711), varint(3 << 3 | 2), varint(1), vec![b'e']].concat();
    let status = wire::RemoteConfigStatus::decode(&bytes[..]).unwrap();
    assert_eq!((status.status, status.error_message.as_str()), (4711, "e"));
    assert!(wire::RemoteConfigStatuses::try_from(status.status).is_err());
}

#[test]
fn schema_13_an_unknown_choice_of_a_oneof_is_as_if_unset() {
    let bytes = [varint(15 << 3 | 2), varint(1), vec![1]].concat();
    assert_eq!(wire::AnyValue::decode(&bytes[..]).unwrap(), wire::AnyValue { value: None });
    let known = [bytes, varint(3 << 3), varint(5)].concat();
    assert_eq!(wire::AnyValue::decode(&known[..]).unwrap().value, Some(Value::IntValue(5)));
    let details = [varint(9 << 3 | 2), varint(0), varint(1 << 3), varint(2)].concat();
    let error = wire::ServerErrorResponse::decode(&details[..]).unwrap();
    assert_eq!((error.r#type, error.details), (2, None));
}
