//! Answers that refuse a message, and the one that only says "received".

use bytes::Bytes;
use opamp_proto::InstanceUid;
use opamp_proto::wire::{
    RetryInfo, ServerErrorResponse, ServerErrorResponseType, ServerToAgent, server_error_response,
};

/// Destructures without `..`: a new field of ServerToAgent has to be thought about here.
fn nothing_but_the_error(answer: ServerToAgent) -> (Bytes, ServerErrorResponse) {
    let ServerToAgent {
        instance_uid,
        error_response,
        remote_config: None,
        connection_settings: None,
        packages_available: None,
        flags: 0,
        capabilities: 0,
        agent_identification: None,
        command: None,
        custom_capabilities: None,
        custom_message: None,
    } = answer
    else {
        panic!("a field beside error_response is set: {answer:?}")
    };
    (instance_uid, error_response.unwrap())
}

#[test]
fn err_1_a_refusal_sets_nothing_but_the_error() {
    let uid = Bytes::from_static(&[1, 2, 3]);
    let answer = ServerToAgent::refuse(uid.clone(), ServerErrorResponseType::BadRequest, "too short");
    let (to, error) = nothing_but_the_error(answer);
    assert_eq!(to, uid);
    let expected = ServerErrorResponse { r#type: 1, error_message: "too short".to_owned(), details: None };
    assert_eq!(error, expected);
}

#[test]
fn err_5_throttle_3_only_unavailable_says_when_to_come_back() {
    let uid = Bytes::from_static(&[9; 16]);
    let (_, error) = nothing_but_the_error(ServerToAgent::unavailable(uid.clone(), "full", 5_000_000_000));
    assert_eq!(error.r#type, 2);
    let retry_info = RetryInfo { retry_after_nanoseconds: 5_000_000_000 };
    assert_eq!(error.details, Some(server_error_response::Details::RetryInfo(retry_info)));
    let (_, error) = nothing_but_the_error(ServerToAgent::unavailable(uid, "full", 0));
    assert_eq!(error.details, None);
}

#[test]
fn s2a_2_an_acknowledgement_sets_only_the_uid() {
    let uid = InstanceUid::try_from_slice(&[5; 16]).unwrap();
    let expected = ServerToAgent { instance_uid: uid.to_bytes(), ..ServerToAgent::default() };
    assert_eq!(ServerToAgent::acknowledge(uid), expected);
}
