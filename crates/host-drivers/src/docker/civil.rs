//! The time that an engine writes in front of each line of a log, as microseconds since 1970.

/// Reads `2024-05-01T10:00:00.123456789Z`; engines write UTC here. `None` for anything else.
pub(crate) fn micros(text: &str) -> Option<u64> {
    let text = text.strip_suffix('Z')?;
    let (date, time) = text.split_once('T')?;
    let mut date = date.splitn(3, '-').map(str::parse::<i64>);
    let (year, month, day) = (date.next()?.ok()?, date.next()?.ok()?, date.next()?.ok()?);
    let (clock, fraction) = time.split_once('.').unwrap_or((time, ""));
    let mut clock = clock.splitn(3, ':').map(str::parse::<i64>);
    let (hour, minute, second) = (clock.next()?.ok()?, clock.next()?.ok()?, clock.next()?.ok()?);
    let sane = (1970..=9999).contains(&year)
        && (1..=12).contains(&month)
        && (1..=31).contains(&day)
        && (0..24).contains(&hour)
        && (0..60).contains(&minute)
        && (0..=60).contains(&second)
        && fraction.len() <= 9
        && fraction.bytes().all(|byte| byte.is_ascii_digit());
    if !sane {
        return None;
    }
    let seconds = days(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second;
    let micros = format!("{fraction:0<6}").get(..6)?.parse::<u64>().ok()?;
    Some(u64::try_from(seconds).ok()? * 1_000_000 + micros)
}

/// Days since 1970 of a date of the Gregorian calendar. Years are counted from March, so that the leap day is the last.
const fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let (era, in_era) = (year / 400, year % 400);
    era * 146_097 + in_era * 365 + in_era / 4 - in_era / 100 + of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_an_engine_are_read_to_the_microsecond() {
        assert_eq!(micros("1970-01-01T00:00:00Z"), Some(0));
        assert_eq!(micros("2000-02-29T12:00:00.5Z"), Some(951_825_600_500_000));
        assert_eq!(micros("2024-05-01T10:00:00.123456789Z"), Some(1_714_557_600_123_456));
        assert_eq!(micros("2100-03-01T00:00:00Z"), Some(4_107_542_400_000_000));
        for bad in ["", "Z", "2024-05-01", "2024-13-01T00:00:00Z", "2024-05-01T10:00:00.1x", "hello world"] {
            assert_eq!(micros(bad), None, "{bad}");
        }
    }
}
