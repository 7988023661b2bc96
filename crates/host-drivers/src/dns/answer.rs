//! One question in, one answer out, or the word that others are to be asked. Pure but for the order of addresses, and
//! fed with whatever a container sends: it never fails, it answers what is wrong or nothing.

use std::net::IpAddr;

use hickory_proto::op::{Edns, Message, MessageType, OpCode, Query, ResponseCode};
use hickory_proto::rr::rdata::{A, AAAA, PTR, SOA};
use hickory_proto::rr::{DNSClass, Name, RData, Record, RecordType};

use super::zone::{Found, Wanted, Zone};

/// Longest question that is read from UDP, in bytes; resolvers send some hundred at most.
pub const MAX_UDP_QUERY: usize = 4096;
/// What we send and announce over UDP at most: no path of today breaks it into pieces (DNS flag day 2020).
const UDP_PAYLOAD: u16 = 1232;
/// What one without EDNS takes (RFC 1035, 4.2.1).
const PLAIN_PAYLOAD: u16 = 512;
/// Length of the shortest record that we give: an IPv4 address whose name points back to the question.
const SHORTEST_RECORD: usize = 16;
/// Length of a header (RFC 1035, 4.1.1).
const HEADER: usize = 12;

/// How a question came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transport {
    /// In a packet: a long answer is cut and says so.
    Udp,
    /// In a connection.
    Tcp,
}

/// What to do with a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// Send this.
    Answer(Vec<u8>, Verdict),
    /// Ask the host's servers, and send what they say.
    Ask,
    /// Say nothing: it was no question, and an answer could go round in circles.
    Ignore,
}

/// What an answer says, for the counters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Data, or none of the kind.
    Found,
    /// No such name.
    NoName,
    /// It was not understood or is not answered.
    Refused,
}

/// Answers the bytes of one question from an address.
pub fn answer(zone: &Zone, asker: IpAddr, packet: &[u8], transport: Transport) -> Reply {
    if packet.len() < HEADER || packet[2] & 0x80 != 0 {
        return Reply::Ignore;
    }
    let Ok(request) = Message::from_vec(packet) else {
        return error(&Message::query(), packet, ResponseCode::FormErr);
    };
    if request.metadata.message_type != MessageType::Query {
        return Reply::Ignore;
    }
    if request.metadata.op_code != OpCode::Query {
        return error(&request, packet, ResponseCode::NotImp);
    }
    let [question] = request.queries.as_slice() else {
        return error(&request, packet, ResponseCode::FormErr);
    };
    if request.edns.as_ref().is_some_and(|edns| edns.version() != 0) {
        return error(&request, packet, ResponseCode::BADVERS);
    }
    if question.query_class() != DNSClass::IN {
        return error(&request, packet, ResponseCode::Refused);
    }
    let wanted = match question.query_type() {
        RecordType::A => Wanted::V4,
        RecordType::AAAA => Wanted::V6,
        RecordType::ANY => Wanted::Any,
        RecordType::PTR => Wanted::Pointer,
        RecordType::AXFR | RecordType::IXFR => return error(&request, packet, ResponseCode::Refused),
        RecordType::NS | RecordType::SOA | RecordType::DS | RecordType::DNSKEY => Wanted::Zone,
        _ => Wanted::Other,
    };
    let name = question.name().to_ascii().to_ascii_lowercase();
    match zone.find(asker, name.trim_end_matches('.'), wanted) {
        None => error(&request, packet, ResponseCode::Refused),
        Some(Found::Elsewhere) => Reply::Ask,
        Some(found) => from_zone(zone, &request, question, found, transport),
    }
}

/// The answer "I could not find out", for a question whose bytes these are.
pub(super) fn failure(packet: &[u8]) -> Option<Vec<u8>> {
    if packet.len() < HEADER {
        return None;
    }
    let request = Message::from_vec(packet).unwrap_or_else(|_| Message::query());
    match error(&request, packet, ResponseCode::ServFail) {
        Reply::Answer(bytes, _) => Some(bytes),
        Reply::Ask | Reply::Ignore => None,
    }
}

fn response(request: &Message) -> Message {
    let mut response = Message::response(request.metadata.id, request.metadata.op_code);
    response.metadata.recursion_desired = request.metadata.recursion_desired;
    response.metadata.checking_disabled = request.metadata.checking_disabled;
    response.metadata.recursion_available = true;
    response.queries.clone_from(&request.queries);
    if request.edns.is_some() {
        let mut edns = Edns::new();
        edns.set_max_payload(UDP_PAYLOAD);
        response.edns = Some(edns);
    }
    response
}

/// An answer without data. The number of the question comes from its bytes, which may not have been readable.
fn error(request: &Message, packet: &[u8], code: ResponseCode) -> Reply {
    let mut response = response(request);
    response.metadata.id = u16::from_be_bytes([packet[0], packet[1]]);
    response.metadata.response_code = code;
    if response.queries.len() > 1 {
        response.queries.clear();
    }
    response.to_vec().map_or(Reply::Ignore, |bytes| Reply::Answer(bytes, Verdict::Refused))
}

fn from_zone(zone: &Zone, request: &Message, question: &Query, found: Found, transport: Transport) -> Reply {
    let mut response = response(request);
    response.metadata.authoritative = true;
    let name = question.name().clone();
    let ttl = zone.ttl_s();
    let mut verdict = Verdict::Found;
    match found {
        Found::Addresses(mut addresses) => {
            fastrand::shuffle(&mut addresses);
            let record = |ip| Record::from_rdata(name.clone(), ttl, address(ip));
            response.answers = addresses.into_iter().map(record).collect();
        }
        Found::Pointer(target) => match Name::from_ascii(format!("{target}.")) {
            Ok(target) => response.answers.push(Record::from_rdata(name, ttl, RData::PTR(PTR(target)))),
            Err(_) => response.authorities.push(authority(zone, &name)),
        },
        Found::NoData => {
            response.add_authority(authority(zone, question.name()));
        }
        Found::NoName | Found::Elsewhere => {
            verdict = Verdict::NoName;
            response.metadata.response_code = ResponseCode::NXDomain;
            response.add_authority(authority(zone, question.name()));
        }
    }
    let limit = match (transport, &request.edns) {
        (Transport::Tcp, _) => u16::MAX,
        (Transport::Udp, Some(edns)) => edns.max_payload().clamp(PLAIN_PAYLOAD, UDP_PAYLOAD),
        (Transport::Udp, None) => PLAIN_PAYLOAD,
    };
    fit(&response, limit).map_or(Reply::Ignore, |bytes| Reply::Answer(bytes, verdict))
}

fn address(ip: IpAddr) -> RData {
    match ip {
        IpAddr::V4(ip) => RData::A(A(ip)),
        IpAddr::V6(ip) => RData::AAAA(AAAA(ip)),
    }
}

/// Says how long "no" may be kept (RFC 2308): as long as "yes". Names outside of the zone, such as a bare `web`, are
/// covered by the root.
fn authority(zone: &Zone, name: &Name) -> Record {
    let root = Name::root;
    let apex = Name::from_ascii(format!("{}.", zone.domain())).unwrap_or_else(|_| root());
    let owner = if apex.zone_of(name) { apex.clone() } else { root() };
    let contact =
        Name::from_ascii("nobody").and_then(|nobody| nobody.append_domain(&apex)).unwrap_or_else(|_| root());
    let ttl = zone.ttl_s();
    Record::from_rdata(owner, ttl, RData::SOA(SOA::new(apex, contact, 1, 3600, 600, 86_400, ttl)))
}

/// The bytes. Too many are cut by whole addresses, so that a stub that ignores the mark still has some.
fn fit(response: &Message, limit: u16) -> Option<Vec<u8>> {
    let limit = usize::from(limit);
    let whole = response.to_vec().ok()?;
    if whole.len() <= limit {
        return Some(whole);
    }
    let mut cut = response.clone();
    let too_many = (whole.len() - limit).div_ceil(SHORTEST_RECORD);
    cut.answers.truncate(cut.answers.len().saturating_sub(too_many));
    cut.metadata.truncation = true;
    let bytes = cut.to_vec().ok()?;
    if bytes.len() <= limit { Some(bytes) } else { cut.truncate().to_vec().ok() }
}

#[cfg(test)]
mod tests;
