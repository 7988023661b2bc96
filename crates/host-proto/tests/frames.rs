//! Messages as they travel: what is written is read again, what is unknown is told apart from what is broken, and a
//! later version's fields and words do no harm.

use host_proto::desired::{Mode, Section};
use host_proto::frame::{DecodeError, Frame};
use host_proto::message::{Ping, TokenRotate};
use host_proto::{DesiredState, Secret, ToAgent, ToServer};

#[test]
fn req_11_a_message_longer_than_the_limit_is_not_read() {
    let long = format!("{{\"type\":\"ping\",\"data\":\"{}\"}}", "x".repeat(16 * 1024 * 1024));
    assert_eq!(Frame::<ToServer>::decode(&long), Err(DecodeError::TooLarge));
}

#[test]
fn what_is_written_is_read_again() {
    let frame = Frame::asking("msg_1", ToAgent::Ping(Ping { seq: 7, t_us: 9 }));
    let text = frame.encode().unwrap();
    assert_eq!(text, r#"{"type":"ping","id":"msg_1","data":{"seq":7,"t_us":9}}"#);
    assert_eq!(Frame::<ToAgent>::decode(&text), Ok(frame));
}

#[test]
fn state_1_a_later_versions_fields_are_ignored_and_its_words_are_unknown() {
    let text = r#"{"type":"desired_state","later":1,"data":{"epoch":"e","generation":4,"mode":"hibernating",
        "weather":{"sun":true},"networks":[]}}"#;
    let Ok(Frame { body: ToAgent::DesiredState(state), .. }) = Frame::<ToAgent>::decode(text) else {
        panic!()
    };
    assert_eq!((state.generation, state.mode), (4, Mode::Unknown));
}

#[test]
fn an_unknown_type_can_be_answered_and_a_broken_one_says_where() {
    let unknown = Frame::<ToServer>::decode(r#"{"type":"teleport","id":"m1","data":{"to":"moon"}}"#);
    assert_eq!(unknown, Err(DecodeError::UnknownType { kind: "teleport".into(), id: Some("m1".into()) }));
    let Err(DecodeError::BadData { kind, id, .. }) =
        Frame::<ToServer>::decode(r#"{"type":"token_rotated","id":"m2","data":{"ok":"hunter2"}}"#)
    else {
        panic!()
    };
    assert_eq!((kind.as_str(), id.as_deref()), ("token_rotated", Some("m2")));
    for text in ["", "[]", "{", "{\"data\":{}}", "null", "\"ping\""] {
        assert!(matches!(Frame::<ToServer>::decode(text), Err(DecodeError::Malformed { .. })), "{text}");
    }
}

#[test]
fn a_secret_travels_and_does_not_print() {
    let rotate =
        ToAgent::TokenRotate(TokenRotate { host_token: Secret::new("mst_host_x"), grace_ms: 600_000 });
    assert!(Frame::plain(rotate.clone()).encode().unwrap().contains("mst_host_x"));
    assert!(!format!("{rotate:?}").contains("mst_host_x"));
    let wrong = Frame::<ToAgent>::decode(r#"{"type":"token_rotate","data":{"host_token":["hunter2"]}}"#);
    assert!(!wrong.unwrap_err().to_string().contains("hunter2"));
}

#[test]
fn a_sections_hash_changes_with_the_section_alone() {
    let mut state = DesiredState::empty("e", 1);
    let before = state.compute_hashes().unwrap();
    state.dns.ttl_s = 3;
    state.generation = 2;
    let after = state.compute_hashes().unwrap();
    let changed: Vec<Section> = Section::ALL.into_iter().filter(|name| before[name] != after[name]).collect();
    assert_eq!(changed, [Section::Dns]);
}
