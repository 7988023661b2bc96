//! Content codings of plain HTTP: what a request came in (HTTP-19, HTTP-20), what an answer may go out in
//! (HTTP-23).

use std::io::{Read, Write};

use bytes::Bytes;
use flate2::Compression;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;
use http::{HeaderMap, header};

use crate::budget::Held;

/// Answers up to this many bytes are stored and not deflated: there is nothing to win, and setting up a
/// compressor costs more than the whole exchange.
const STORED_UP_TO: usize = 256;

/// Why a body could not be unpacked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum InflateError {
    Damaged,
    TooBig,
    Busy,
}

/// Unpacks gzip, at most to `limit` bytes, counting what it holds (S34).
pub(crate) fn inflate(packed: &[u8], limit: usize, held: &mut Held) -> Result<Bytes, InflateError> {
    let mut decoder = MultiGzDecoder::new(packed);
    let mut out = Vec::with_capacity(packed.len().saturating_mul(4).min(limit).min(64 * 1024));
    let mut chunk = [0u8; 8 * 1024];
    loop {
        let read = decoder.read(&mut chunk).map_err(|_| InflateError::Damaged)?;
        if read == 0 {
            return Ok(out.into());
        }
        if out.len() + read > limit {
            return Err(InflateError::TooBig);
        }
        if !held.grow_to(packed.len() + out.len() + read) {
            return Err(InflateError::Busy);
        }
        out.extend_from_slice(&chunk[..read]);
    }
}

/// Packs an answer.
pub(crate) fn deflate(body: &[u8]) -> Bytes {
    let level = if body.len() <= STORED_UP_TO { None } else { Some(Compression::fast()) };
    match level {
        None => stored(body),
        Some(level) => {
            let mut encoder = GzEncoder::new(Vec::with_capacity(body.len() / 2), level);
            // Writing into memory cannot fail.
            let _ = encoder.write_all(body);
            encoder.finish().unwrap_or_default().into()
        }
    }
}

/// A gzip member with one stored block (RFC 1952, RFC 1951 3.2.4).
fn stored(body: &[u8]) -> Bytes {
    let mut checksum = flate2::Crc::new();
    checksum.update(body);
    let length = body.len() as u16;
    let mut out = Vec::with_capacity(body.len() + 23);
    out.extend_from_slice(&[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255, 1]);
    out.extend_from_slice(&length.to_le_bytes());
    out.extend_from_slice(&(!length).to_le_bytes());
    out.extend_from_slice(body);
    out.extend_from_slice(&checksum.sum().to_le_bytes());
    out.extend_from_slice(&checksum.amount().to_le_bytes());
    out.into()
}

/// Whether the client takes gzip: named, or covered by `*`, with a weight above zero and no less than that of
/// the plain form.
pub(crate) fn accepts_gzip(headers: &HeaderMap) -> bool {
    let (mut gzip, mut any, mut identity) = (None, None, None);
    for value in headers.get_all(header::ACCEPT_ENCODING) {
        let Ok(value) = value.to_str() else { continue };
        for item in value.split(',') {
            let (name, weight) = weighted(item);
            match name {
                n if n.eq_ignore_ascii_case("gzip") || n.eq_ignore_ascii_case("x-gzip") => {
                    gzip = Some(weight)
                }
                "*" => any = Some(weight),
                n if n.eq_ignore_ascii_case("identity") => identity = Some(weight),
                _ => {}
            }
        }
    }
    let gzip = gzip.or(any).unwrap_or(0);
    gzip > 0 && gzip >= identity.unwrap_or(0)
}

/// A coding and its weight in thousandths; a weight that cannot be read counts as 0.
fn weighted(item: &str) -> (&str, u32) {
    let mut parts = item.split(';').map(str::trim);
    let name = parts.next().unwrap_or_default();
    let weight = parts
        .find_map(|part| part.strip_prefix("q=").or_else(|| part.strip_prefix("Q=")))
        .map_or(1000, |q| q.parse::<f32>().map_or(0, |q| (q.clamp(0.0, 1.0) * 1000.0) as u32));
    (name, weight)
}
