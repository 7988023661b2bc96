//! The messages and enums of OpAMP, as generated from `proto/`. Names are the published schema's;
//! maps are ordered, so that equal messages have equal encodings (`C24`).

#[rustfmt::skip] // its text is what the generator gives, and tidy compares
#[allow(missing_docs, clippy::all, clippy::pedantic)]
mod generated;

pub use generated::*;
pub use prost::Message;

use crate::uid::InstanceUid;

impl ServerToAgent {
    /// An answer that only says "received" (S2A-2).
    pub fn acknowledge(uid: InstanceUid) -> Self {
        Self { instance_uid: uid.to_bytes(), ..Self::default() }
    }

    /// An answer that says why a message was not processed (ERR-1: nothing else is set). `uid` is what the
    /// sender wrote, even when it is no instance_uid: it is the only way to match the answer to its sender.
    pub fn refuse(uid: bytes::Bytes, kind: ServerErrorResponseType, message: impl Into<String>) -> Self {
        let error = ServerErrorResponse { r#type: kind.into(), error_message: message.into(), details: None };
        Self { instance_uid: uid, error_response: Some(error), ..Self::default() }
    }

    /// An answer that asks the agent to come back after `retry_after_nanoseconds` (THROTTLE-3); 0 names no time.
    pub fn unavailable(uid: bytes::Bytes, message: impl Into<String>, retry_after_nanoseconds: u64) -> Self {
        let details = (retry_after_nanoseconds > 0)
            .then_some(server_error_response::Details::RetryInfo(RetryInfo { retry_after_nanoseconds }));
        let kind = ServerErrorResponseType::Unavailable;
        let error = ServerErrorResponse { r#type: kind.into(), error_message: message.into(), details };
        Self { instance_uid: uid, error_response: Some(error), ..Self::default() }
    }
}
