//! Reads as much of a ServerToAgent as a load generator must: whose answer it is, and whether it is a refusal.
//! Unlike a real client it looks at the outermost fields only.

/// What is wrong with an answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum Wrong {
    /// The protobuf does not add up.
    #[error("the answer is not a ServerToAgent")]
    Malformed,
    /// A server that mixes up its agents.
    #[error("the answer carries another agent's uid, or none")]
    Uid,
    /// `error_response` is set: the message was not processed.
    #[error("the server refused the message: {0}")]
    Refused(String),
    /// The server lost what it was told: a message was dropped or overtaken.
    #[error("the server asks for the full state again")]
    AskedAgain,
    /// A HTTP status other than 200.
    #[error("the server answered with HTTP status {0}")]
    Status(u16),
}

const VARINT: u64 = 0;
const FIXED64: u64 = 1;
const BYTES: u64 = 2;
const FIXED32: u64 = 5;

/// Checks the answer to a message of `uid`.
pub(super) fn check(mut rest: &[u8], uid: &[u8; 16]) -> Result<(), Wrong> {
    let mut found = false;
    while !rest.is_empty() {
        let tag = varint(&mut rest)?;
        match (tag >> 3, tag & 7) {
            (1, BYTES) => found = take(&mut rest)? == uid,
            (2, BYTES) => return Err(Wrong::Refused(reason(take(&mut rest)?))),
            (6, VARINT) if varint(&mut rest)? & 1 == 1 => return Err(Wrong::AskedAgain),
            (6, VARINT) => {}
            (_, kind) => skip(&mut rest, kind)?,
        }
    }
    if found { Ok(()) } else { Err(Wrong::Uid) }
}

/// The hash of the remote configuration that a message offers.
pub(super) fn offered(mut rest: &[u8]) -> Result<Option<&[u8]>, Wrong> {
    while !rest.is_empty() {
        let tag = varint(&mut rest)?;
        match (tag >> 3, tag & 7) {
            (3, BYTES) => {
                let mut offer = take(&mut rest)?;
                while !offer.is_empty() {
                    let tag = varint(&mut offer)?;
                    match (tag >> 3, tag & 7) {
                        (2, BYTES) => return take(&mut offer).map(Some),
                        (_, kind) => skip(&mut offer, kind)?,
                    }
                }
                return Err(Wrong::Malformed);
            }
            (_, kind) => skip(&mut rest, kind)?,
        }
    }
    Ok(None)
}

fn skip(rest: &mut &[u8], kind: u64) -> Result<(), Wrong> {
    let length = match kind {
        VARINT => return varint(rest).map(drop),
        BYTES => return take(rest).map(drop),
        FIXED64 => 8,
        FIXED32 => 4,
        _ => return Err(Wrong::Malformed),
    };
    *rest = rest.get(length..).ok_or(Wrong::Malformed)?;
    Ok(())
}

/// `error_message` of a ServerErrorResponse, or nothing.
fn reason(mut rest: &[u8]) -> String {
    while let Ok(tag) = varint(&mut rest) {
        match (tag >> 3, tag & 7) {
            (2, BYTES) => {
                return take(&mut rest).map(|text| String::from_utf8_lossy(text).into()).unwrap_or_default();
            }
            (_, kind) if skip(&mut rest, kind).is_ok() => {}
            _ => break,
        }
    }
    "no reason given".into()
}

fn varint(rest: &mut &[u8]) -> Result<u64, Wrong> {
    let mut value = 0;
    for index in 0..10 {
        let (&byte, tail) = rest.split_first().ok_or(Wrong::Malformed)?;
        *rest = tail;
        value |= u64::from(byte & 0x7f) << (7 * index);
        if byte & 0x80 == 0 {
            return Ok(value);
        }
    }
    Err(Wrong::Malformed)
}

fn take<'a>(rest: &mut &'a [u8]) -> Result<&'a [u8], Wrong> {
    let length = usize::try_from(varint(rest)?).map_err(|_| Wrong::Malformed)?;
    let (head, tail) = rest.split_at_checked(length).ok_or(Wrong::Malformed)?;
    *rest = tail;
    Ok(head)
}

#[cfg(test)]
mod tests {
    use super::*;
    use opamp_proto::wire::{Message, ServerErrorResponseType, ServerToAgent};

    const UID: [u8; 16] = [7; 16];

    fn checked(message: &ServerToAgent) -> Result<(), Wrong> {
        check(&message.encode_to_vec(), &UID)
    }

    #[test]
    fn a_plain_answer_passes_and_others_do_not() {
        let good = ServerToAgent { instance_uid: UID.to_vec().into(), capabilities: 7, ..Default::default() };
        assert_eq!(checked(&good), Ok(()));
        let other = ServerToAgent { instance_uid: vec![8; 16].into(), ..Default::default() };
        assert_eq!(checked(&other), Err(Wrong::Uid));
        assert_eq!(checked(&ServerToAgent::default()), Err(Wrong::Uid));
        let again = ServerToAgent { flags: 1, ..good.clone() };
        assert_eq!(checked(&again), Err(Wrong::AskedAgain));
        let refusal =
            ServerToAgent::refuse(UID.to_vec().into(), ServerErrorResponseType::BadRequest, "too odd");
        assert_eq!(checked(&refusal), Err(Wrong::Refused("too odd".into())));
    }

    #[test]
    fn an_offer_has_its_hash() {
        use opamp_proto::wire::{AgentConfigMap, AgentRemoteConfig};
        let config = AgentRemoteConfig {
            config: Some(AgentConfigMap::default()),
            config_hash: b"hash".to_vec().into(),
        };
        let offer = ServerToAgent {
            instance_uid: UID.to_vec().into(),
            remote_config: Some(config),
            ..Default::default()
        };
        assert_eq!(offered(&offer.encode_to_vec()), Ok(Some(&b"hash"[..])));
        assert_eq!(offered(&ServerToAgent::default().encode_to_vec()), Ok(None));
    }

    #[test]
    fn a_cut_answer_is_malformed() {
        let bytes = ServerToAgent { instance_uid: UID.to_vec().into(), ..Default::default() }.encode_to_vec();
        assert_eq!(check(&bytes[..bytes.len() - 1], &UID), Err(Wrong::Malformed));
        assert_eq!(check(&[0xff; 12], &UID), Err(Wrong::Malformed));
    }
}
