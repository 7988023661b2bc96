//! Random bytes from the operating system, and the secrets that are made of them.

use std::io;

/// `N` random bytes. Fails only where the system has no source of randomness.
pub(crate) fn bytes<const N: usize>() -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    Ok(bytes)
}

/// A number below `below`, near enough to evenly chosen for spreading things out in time; 0 when there is no randomness.
pub(crate) fn number(below: u64) -> u64 {
    bytes().map_or(0, |random| u64::from_le_bytes(random) % below.max(1))
}

/// No letters that are read wrongly: no i, l, o, 0, 1.
const LETTERS: &[u8; 32] = b"abcdefghjkmnpqrstuvwxyz23456789A";

/// A password for a person to type once: four groups of five, 100 bits.
pub(crate) fn password() -> io::Result<String> {
    let random = bytes::<20>()?;
    let letters: Vec<char> = random.iter().map(|byte| char::from(LETTERS[usize::from(byte % 32)])).collect();
    Ok(letters.chunks(5).map(|group| group.iter().collect::<String>()).collect::<Vec<_>>().join("-"))
}

/// A session's secret: `mss_` and 64 hexadecimal digits.
pub(crate) fn session_secret() -> io::Result<String> {
    Ok(format!("mss_{}", hex::encode(bytes::<32>()?)))
}
