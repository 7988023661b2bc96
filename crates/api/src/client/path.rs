//! Paths and queries of requests: whatever a user typed stays within its part.

/// A path with those parameters that are there.
pub(crate) fn with_query(path: &str, parameters: &[(&str, Option<String>)]) -> String {
    let given = parameters
        .iter()
        .filter_map(|(name, value)| value.as_ref().map(|value| format!("{name}={}", path_part(value))));
    match given.collect::<Vec<_>>().join("&") {
        query if query.is_empty() => path.to_owned(),
        query => format!("{path}?{query}"),
    }
}

/// What a user typed as a path segment or a query value: whatever could end it is percent-encoded.
pub(crate) fn path_part(text: &str) -> String {
    let mut part = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~') {
            part.push(char::from(byte));
        } else {
            part.push_str(&format!("%{byte:02X}"));
        }
    }
    part
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_has_only_what_is_given() {
        assert_eq!(with_query("/a", &[("x", None)]), "/a");
        let parameters = [("x", Some("1&2".to_owned())), ("y", None), ("z", Some(String::new()))];
        assert_eq!(with_query("/a", &parameters), "/a?x=1%262&z=");
    }

    #[test]
    fn a_path_part_cannot_leave_its_segment() {
        assert_eq!(path_part("../a?b#c/d"), "..%2Fa%3Fb%23c%2Fd");
    }
}
