//! Small texts that mean something: truth values, durations, sizes, processors, paths.

use super::walk::shown;

/// A truth value, in the spellings of YAML 1.1 that Compose files have.
pub(super) fn boolean(text: &str) -> Option<bool> {
    match text.trim().to_ascii_lowercase().as_str() {
        "true" | "yes" | "on" | "y" => Some(true),
        "false" | "no" | "off" | "n" => Some(false),
        _ => None,
    }
}

/// `1h5m30s20ms`, in milliseconds rounded up; a number alone means seconds, as in `0`.
pub(super) fn duration_ms(text: &str) -> Result<u64, String> {
    let bad = || format!("{} is no duration; write 30s, 1m30s or 500ms", shown(text));
    let trimmed = text.trim();
    if !trimmed.is_empty() && trimmed.bytes().all(|byte| byte.is_ascii_digit()) {
        return match trimmed.parse::<u64>() {
            Ok(0) => Ok(0),
            Ok(_) => Err(format!("{} has no unit; write {trimmed}s", shown(text))),
            Err(_) => Err(bad()),
        };
    }
    let mut rest = trimmed;
    let mut nanos: u128 = 0;
    while !rest.is_empty() {
        let (number, after) = decimal(rest).ok_or_else(bad)?;
        let (unit, after) = duration_unit(after).ok_or_else(bad)?;
        nanos += number.times(unit).ok_or_else(bad)?;
        rest = after;
    }
    let longest_nanos = u128::from(MAX_DURATION_MS) * 1_000_000;
    if trimmed.is_empty() {
        Err(bad())
    } else if nanos > longest_nanos {
        Err(format!("{} is longer than a year", shown(text)))
    } else {
        u64::try_from(nanos.div_ceil(1_000_000)).map_err(|_| bad())
    }
}

/// A year.
const MAX_DURATION_MS: u64 = 366 * 24 * 3600 * 1000;

/// In nanoseconds. Longer names first, since `m` begins `ms`.
fn duration_unit(text: &str) -> Option<(u128, &str)> {
    const UNITS: [(&str, u128); 9] = [
        ("ns", 1),
        ("us", 1_000),
        ("µs", 1_000),
        ("ms", 1_000_000),
        ("s", 1_000_000_000),
        ("m", 60_000_000_000),
        ("h", 3_600_000_000_000),
        ("d", 86_400_000_000_000),
        ("w", 604_800_000_000_000),
    ];
    UNITS.iter().find_map(|(name, unit)| text.strip_prefix(name).map(|rest| (*unit, rest)))
}

/// `512m`, `1.5gb`, `64KiB`: units are of 1024, as in engines; a number alone means bytes.
pub(super) fn bytes(text: &str) -> Result<u64, String> {
    let bad = || format!("{} is no size; write 512m, 1.5g or a number of bytes", shown(text));
    let (number, unit) = decimal(text.trim()).ok_or_else(bad)?;
    let unit: u128 = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" | "kb" | "kib" => 1 << 10,
        "m" | "mb" | "mib" => 1 << 20,
        "g" | "gb" | "gib" => 1 << 30,
        "t" | "tb" | "tib" => 1 << 40,
        "p" | "pb" | "pib" => 1 << 50,
        _ => return Err(bad()),
    };
    let bytes = number.times(unit).and_then(|bytes| u64::try_from(bytes).ok()).ok_or_else(bad)?;
    if bytes > i64::MAX as u64 { Err(bad()) } else { Ok(bytes) }
}

/// `0.5` or `2`, in thousandths; what is less than one of them rounds up.
pub(super) fn cpu_millis(text: &str) -> Result<u64, String> {
    let bad = || format!("{} is no number of processors; write 0.5 or 2", shown(text));
    let (number, rest) = decimal(text.trim()).ok_or_else(bad)?;
    let billionths = number.times(1_000_000_000).ok_or_else(bad)?;
    let millis = billionths.div_ceil(1_000_000);
    match u64::try_from(millis) {
        Ok(millis) if rest.is_empty() && millis <= 1_024_000 => Ok(millis),
        Ok(_) | Err(_) => Err(bad()),
    }
}

/// A number that is not negative: digits, and digits after a point.
struct Decimal {
    whole: u64,
    /// Billionths.
    fraction: u64,
}

impl Decimal {
    fn times(&self, unit: u128) -> Option<u128> {
        let whole = u128::from(self.whole).checked_mul(unit)?;
        let part = u128::from(self.fraction).checked_mul(unit)?.div_ceil(1_000_000_000);
        whole.checked_add(part)
    }
}

fn decimal(text: &str) -> Option<(Decimal, &str)> {
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let (whole, mut rest) = text.split_at(digits(text));
    let mut fraction = "";
    if let Some(after) = rest.strip_prefix('.') {
        (fraction, rest) = after.split_at(digits(after));
    }
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let nine: String = fraction.chars().chain(std::iter::repeat('0')).take(9).collect();
    let whole = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    Some((Decimal { whole, fraction: nine.parse().ok()? }, rest))
}

/// A path in a container or on a host: absolute, and without parts that lead elsewhere than it looks.
pub(super) fn absolute_path(text: &str) -> Result<String, String> {
    if !text.starts_with('/') {
        return Err(format!("{} is no absolute path", shown(text)));
    }
    if text.len() > 4096 || text.chars().any(char::is_control) {
        return Err(format!("{} has control characters or more than 4096 bytes", shown(text)));
    }
    let parts: Vec<&str> = text.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    if parts.contains(&"..") {
        return Err(format!("{} must not hold \"..\"", shown(text)));
    }
    Ok(format!("/{}", parts.join("/")))
}

/// Permission bits as YAML and people write them: `0440`, `0o440`, `"0440"`, `440` in octal.
pub(super) fn mode(text: &str) -> Result<u32, String> {
    let digits = text.trim().trim_start_matches("0o");
    match u32::from_str_radix(digits, 8) {
        Ok(mode) if mode <= 0o7777 && !digits.starts_with('+') => Ok(mode),
        Ok(_) | Err(_) => Err(format!("{} is no mode; write 0440", shown(text))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_sums_of_units() {
        for (text, ms) in [
            ("1m30s", 90_000),
            ("500ms", 500),
            ("1.5s", 1_500),
            ("1h5m30s20ms", 3_930_020),
            ("0", 0),
            ("0s", 0),
            ("1us", 1),
            ("2d", 172_800_000),
            ("1w", 604_800_000),
            (" 10s ", 10_000),
        ] {
            assert_eq!(duration_ms(text), Ok(ms), "{text}");
        }
        for text in ["", "s", "1", "10", "1x", "-1s", "1s2", "1 s", "1..5s", "99999999999999999999s", "400d"]
        {
            assert!(duration_ms(text).is_err(), "{text}");
        }
        assert_eq!(duration_ms("30").unwrap_err(), "\"30\" has no unit; write 30s");
    }

    #[test]
    fn sizes_count_in_1024() {
        for (text, size) in [
            ("512m", 512 << 20),
            ("1.5gb", 3 << 29),
            ("64KiB", 64 << 10),
            ("100", 100),
            ("1 GB", 1 << 30),
            ("0.5k", 512),
            ("10B", 10),
        ] {
            assert_eq!(bytes(text), Ok(size), "{text}");
        }
        for text in ["", "m", "1x", "-1", "1e3", "99999999p", "0x10"] {
            assert!(bytes(text).is_err(), "{text}");
        }
    }

    #[test]
    fn processors_count_in_thousandths() {
        for (text, millis) in [("0.5", 500), ("2", 2000), (".25", 250), ("0.0001", 1), ("1.", 1000)] {
            assert_eq!(cpu_millis(text), Ok(millis), "{text}");
        }
        for text in ["", "-1", "1x", "2000", "half"] {
            assert!(cpu_millis(text).is_err(), "{text}");
        }
    }

    #[test]
    fn modes_are_octal_however_they_are_written() {
        for text in ["0440", "440", "0o440"] {
            assert_eq!(mode(text), Ok(0o440), "{text}");
        }
        for text in ["", "9", "rw", "77777", "-1", "+440"] {
            assert!(mode(text).is_err(), "{text}");
        }
    }

    #[test]
    fn paths_are_absolute_and_lead_where_they_say() {
        assert_eq!(absolute_path("/a//b/./c/"), Ok("/a/b/c".to_owned()));
        assert_eq!(absolute_path("/"), Ok("/".to_owned()));
        for text in ["", "a", "./a", "/a/../b", "/a\n"] {
            assert!(absolute_path(text).is_err(), "{text:?}");
        }
    }
}
