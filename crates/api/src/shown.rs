//! A URL as an error, a log or a terminal may show it.

/// The URL with `***` in place of a user and a password: what stands before an @ can be a secret.
pub fn without_user(url: &str) -> String {
    let begin = url.find("//").map_or(0, |at| at + 2);
    let end = url[begin..].find(['/', '?', '#']).map_or(url.len(), |at| begin + at);
    // A password with one of those three in it is cut off before its @.
    let end = if url[begin..end].contains('@') { end } else { url.len() };
    match url[begin..end].rfind('@') {
        Some(at) => format!("{}***{}", &url[..begin], &url[begin + at..]),
        None => url.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_in_a_url_is_never_shown() {
        for url in ["https://me:pass@host", "https://me:pa/ss@host", "https://me:p@ss@host", "me:pass@host"] {
            let shown = without_user(url);
            assert!(shown.ends_with("***@host") && !shown.contains("ss"), "{shown}");
        }
        assert_eq!(without_user("https://host:5050/a@b"), "https://***@b");
        assert_eq!(without_user("https://host:5050/a"), "https://host:5050/a");
        assert_eq!(without_user("https://me:pw@host/a@b"), "https://***@host/a@b");
    }
}
