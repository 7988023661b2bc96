//! The wall clock, and how its moments are written in the API: RFC 3339, UTC, milliseconds.

use model::UnixMillis;
use time::OffsetDateTime;
use time::macros::format_description;

/// Now.
pub(crate) fn now() -> UnixMillis {
    millis(OffsetDateTime::now_utc())
}

/// A moment of another type, to the millisecond.
pub(crate) fn millis(at: OffsetDateTime) -> UnixMillis {
    UnixMillis(i64::try_from(at.unix_timestamp_nanos() / 1_000_000).unwrap_or(i64::MAX))
}

/// A moment of the system's clock.
pub(crate) fn of_system(at: std::time::SystemTime) -> UnixMillis {
    millis(OffsetDateTime::from(at))
}

/// `2026-11-30T03:04:05.678Z`. What lies outside the years that can be written ends at their edge.
pub(crate) fn rfc3339(at: UnixMillis) -> String {
    let format = format_description!("[year]-[month]-[day]T[hour]:[minute]:[second].[subsecond digits:3]Z");
    let at = at.0.clamp(-62_135_596_800_000, 253_402_300_799_999);
    OffsetDateTime::from_unix_timestamp_nanos(i128::from(at) * 1_000_000)
        .ok()
        .and_then(|at| at.format(format).ok())
        .unwrap_or_default()
}

/// A moment in microseconds since 1970: `2026-11-30T03:04:05.678901Z`.
pub(crate) fn rfc3339_micros(at_us: u64) -> String {
    let whole = rfc3339(UnixMillis(i64::try_from(at_us / 1000).unwrap_or(i64::MAX)));
    format!("{}{:03}Z", whole.trim_end_matches('Z'), at_us % 1000)
}

/// Reads what [`rfc3339`] writes, and any other form that RFC 3339 allows.
pub(crate) fn parse(text: &str) -> Option<UnixMillis> {
    OffsetDateTime::parse(text, &time::format_description::well_known::Rfc3339).ok().map(millis)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_reads_as_utc_with_milliseconds_and_never_fails() {
        assert_eq!(rfc3339(UnixMillis(1_764_471_845_078)), "2025-11-30T03:04:05.078Z");
        assert_eq!(parse("2025-11-30T03:04:05.078Z"), Some(UnixMillis(1_764_471_845_078)));
        assert_eq!(parse("2025-11-30T04:04:05.078+01:00"), Some(UnixMillis(1_764_471_845_078)));
        assert_eq!(parse("yesterday"), None);
        assert_eq!(rfc3339(UnixMillis(i64::MAX)), "9999-12-31T23:59:59.999Z");
        assert_eq!(rfc3339(UnixMillis(i64::MIN)), "0001-01-01T00:00:00.000Z");
    }
}
