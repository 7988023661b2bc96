//! Where a request was made, from the headers that a browser sets and no page can: a write that comes from another
//! site is refused even if it carries a cookie and the token that goes with it.

use axum::http::{HeaderMap, header};

/// Says how the page that sends a request is related to its target (Fetch Metadata).
const FETCH_SITE: &str = "sec-fetch-site";

/// Whether a browser says that a request was sent by a page of another origin. Programs say nothing: they are no danger,
/// since nobody else's cookie is in them. `public_url` is where people reach the console: a proxy may change Host.
pub(crate) fn is_foreign(headers: &HeaderMap, public_url: &str) -> bool {
    let text = |value: &axum::http::HeaderValue| value.to_str().unwrap_or("?").trim().to_ascii_lowercase();
    if let Some(site) = headers.get(FETCH_SITE) {
        return text(site) != "same-origin";
    }
    let Some(origin) = headers.get(header::ORIGIN).map(text) else { return false };
    let host = headers.get(header::HOST).map(text).unwrap_or_default();
    let authority = authority(&origin);
    authority.is_empty()
        || (authority != host && authority != self::authority(&public_url.to_ascii_lowercase()))
}

/// Host and port of a URL; empty where there are none, as in the origin `null`.
fn authority(url: &str) -> &str {
    url.split_once("://").map_or("", |(_, rest)| rest.split(['/', '?', '#']).next().unwrap_or(""))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn foreign(pairs: &[(&'static str, &'static str)]) -> bool {
        let headers = pairs.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()));
        is_foreign(&headers.collect(), "https://Muster.example.org/")
    }

    #[test]
    fn a_page_of_the_console_and_a_program_may_write() {
        assert!(!foreign(&[]));
        assert!(!foreign(&[("host", "10.0.0.1:5050"), ("origin", "http://10.0.0.1:5050")]));
        assert!(!foreign(&[("host", "inner:5050"), ("origin", "https://muster.example.org")]));
        assert!(!foreign(&[
            ("sec-fetch-site", "same-origin"),
            ("host", "inner"),
            ("origin", "https://outer")
        ]));
    }

    #[test]
    fn a_page_of_another_site_may_not() {
        for site in ["cross-site", "same-site", "none", ""] {
            assert!(foreign(&[("sec-fetch-site", site), ("host", "a"), ("origin", "http://a")]), "{site}");
        }
        for origin in ["http://evil.example", "null", "", "http://a:81", "http://a.evil", "http://evil/a"] {
            assert!(foreign(&[("host", "a"), ("origin", origin)]), "{origin}");
        }
        assert!(foreign(&[("origin", "http://a")]));
    }
}
