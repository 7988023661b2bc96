//! Attributes: nothing is lost between the wire and the model, and what a value's text is.

use proptest::prelude::*;

use super::*;

#[test]
fn s5_the_text_of_a_value_says_its_type_where_that_matters() {
    let text = |value: AttributeValue| value.to_string();
    assert_eq!(text("a\"b".into()), "a\"b");
    assert_eq!(text(AttributeValue::Int(-7)), "-7");
    assert_eq!(text(AttributeValue::Bool(false)), "false");
    assert_eq!(text(AttributeValue::Double(1.0)), "1.0");
    assert_eq!(text(AttributeValue::Double(f64::NAN)), "NaN");
    assert_eq!(text(AttributeValue::Empty), "");
    let list =
        vec!["a\"\n".into(), AttributeValue::Int(1), AttributeValue::Empty, AttributeValue::Array(vec![])];
    assert_eq!(text(AttributeValue::Array(list)), "[\"a\\\"\\u000a\",1,null,[]]");
    let map = vec![
        Attribute::new("k", AttributeValue::Bytes(Bytes::from_static(b"hi"))),
        Attribute::new("k", "v".into()),
    ];
    assert_eq!(text(AttributeValue::Map(map)), "{\"k\":\"aGk=\",\"k\":\"v\"}");
}

#[test]
fn s5_bytes_are_written_in_base64() {
    for (bytes, text) in
        [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("\u{ff}", "w78=")]
    {
        assert_eq!(AttributeValue::Bytes(Bytes::from_static(bytes.as_bytes())).to_string(), text);
    }
}

#[test]
fn s5_of_several_values_the_first_identifying_one_is_given_and_all_are_kept() {
    let description = wire::AgentDescription {
        identifying_attributes: vec![
            Attribute::new("a", "1".into()).into(),
            Attribute::new("a", "2".into()).into(),
        ],
        non_identifying_attributes: vec![
            Attribute::new("a", "3".into()).into(),
            Attribute::new("b", "".into()).into(),
        ],
    };
    let attributes = Attributes::from(description);
    assert_eq!(attributes.get("a"), Some(&"1".into()));
    assert_eq!(attributes.iter().count(), 4);
    assert_eq!(attributes.text("b"), None);
}

fn value() -> impl Strategy<Value = AttributeValue> {
    let leaf = prop_oneof![
        Just(AttributeValue::Empty),
        ".{0,8}".prop_map(AttributeValue::String),
        any::<bool>().prop_map(AttributeValue::Bool),
        any::<i64>().prop_map(AttributeValue::Int),
        (-1e12..1e12f64).prop_map(AttributeValue::Double),
        prop::collection::vec(any::<u8>(), 0..9).prop_map(|bytes| AttributeValue::Bytes(bytes.into())),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(AttributeValue::Array),
            prop::collection::vec(
                (".{0,4}", inner).prop_map(|(key, value)| Attribute::new(key, value)),
                0..4
            )
            .prop_map(AttributeValue::Map),
        ]
    })
}

proptest! {
    #[test]
    fn s5_a_value_survives_the_way_to_the_wire_and_back(value in value()) {
        let wire = wire::AnyValue::from(value.clone());
        prop_assert_eq!(AttributeValue::from(wire), value);
    }

    #[test]
    fn s5_text_is_agrees_with_the_text(value in value(), other in ".{0,3}") {
        prop_assert!(value.text_is(&value.to_string()));
        prop_assert_eq!(value.text_is(&other), value.to_string() == other);
    }
}
