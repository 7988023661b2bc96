//! The number that the kernel raises with every change to nftables rules, in this network namespace. Asking for it is
//! one small message over netlink: microseconds, where a listing takes a process.

use std::io::{self, Read, Write};
use std::time::Duration;

use socket2::{Domain, Protocol, Socket, Type};

/// `AF_NETLINK` and `NETLINK_NETFILTER` of Linux.
const AF_NETLINK: i32 = 16;
const NETLINK_NETFILTER: i32 = 12;
/// Subsystem nftables, with the messages "get generation" and "new generation".
const GET_GENERATION: u16 = (10 << 8) | 16;
const NEW_GENERATION: u16 = (10 << 8) | 15;
const REQUEST: u16 = 1;
/// Attribute with the number itself.
const GENERATION_ID: u16 = 1;
/// Length of a netlink header with netfilter's four bytes after it.
const WITH_FAMILY: usize = 20;

/// The number now.
pub(super) fn now() -> io::Result<u32> {
    let mut socket =
        Socket::new(Domain::from(AF_NETLINK), Type::RAW, Some(Protocol::from(NETLINK_NETFILTER)))?;
    socket.set_read_timeout(Some(Duration::from_secs(1)))?;
    socket.write_all(&request())?;
    let mut answer = [0; 512];
    let length = socket.read(&mut answer)?;
    number(&answer[..length]).ok_or_else(|| io::Error::other("the kernel gave no generation of its rules"))
}

fn request() -> [u8; WITH_FAMILY] {
    let mut message = [0; WITH_FAMILY];
    message[..4].copy_from_slice(&20_u32.to_ne_bytes());
    message[4..6].copy_from_slice(&GET_GENERATION.to_ne_bytes());
    message[6..8].copy_from_slice(&REQUEST.to_ne_bytes());
    message[8..12].copy_from_slice(&1_u32.to_ne_bytes());
    message
}

fn number(message: &[u8]) -> Option<u32> {
    let two = |at: usize| Some(u16::from_ne_bytes(message.get(at..at + 2)?.try_into().ok()?));
    if two(4)? != NEW_GENERATION {
        return None;
    }
    let mut at = WITH_FAMILY;
    loop {
        let length = usize::from(two(at)?);
        if two(at + 2)? == GENERATION_ID {
            return Some(u32::from_be_bytes(message.get(at + 4..at + 8)?.try_into().ok()?));
        }
        // Attributes begin at multiples of four; one shorter than its own head would never end.
        at += length.max(4).next_multiple_of(4);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_read_and_a_broken_one_is_none() {
        let mut answer = vec![0; WITH_FAMILY];
        answer[4..6].copy_from_slice(&NEW_GENERATION.to_ne_bytes());
        assert_eq!(number(&answer), None);
        answer.extend_from_slice(&[6_u16.to_ne_bytes(), 3_u16.to_ne_bytes()].concat());
        answer.extend_from_slice(b"x\0\0\0");
        answer.extend_from_slice(&[8_u16.to_ne_bytes(), 1_u16.to_ne_bytes()].concat());
        answer.extend_from_slice(&77_u32.to_be_bytes());
        assert_eq!(number(&answer), Some(77));
        assert_eq!(number(&answer[..answer.len() - 1]), None);
        assert_eq!(number(&answer[..16]), None);
        answer[4] = 2;
        assert_eq!(number(&answer), None);
    }
}
