//! Which keys and header names carry secrets.

use std::ops::Range;

/// Parts of names that give a secret away, without separators and in lower case.
const PARTS: &[&str] = &[
    "password",
    "passwd",
    "passphrase",
    "secret",
    "token",
    "apikey",
    "authorization",
    "privatekey",
    "credential",
    "accesskey",
    "accountkey",
    "licensekey",
    "ingestkey",
    "ingestionkey",
    "writekey",
    "signingkey",
    "encryptionkey",
    "sharedkey",
    "sessionkey",
    "masterkey",
    "keypem",
    "cookie",
    "connectionstring",
    "bearer",
];

/// Whole names.
const WHOLE: &[&str] = &["pass", "pwd", "psk", "auth", "dsn", "xhoneycombteam", "ddapikey"];

/// Ends of names that say where a secret is, or something about it, and not what it is.
const HARMLESS_ENDS: &[&str] = &[
    "file", "path", "dir", "url", "uri", "endpoint", "ttl", "lifetime", "timeout", "interval", "enabled",
    "expiry", "length", "count", "limit",
];

/// Names of headers and of variables whose values are no secrets. Every other one may be: who made it up knows.
const HARMLESS_HEADERS: &[&str] = &[
    "accept",
    "acceptcharset",
    "acceptencoding",
    "acceptlanguage",
    "cachecontrol",
    "connection",
    "contentencoding",
    "contentlanguage",
    "contentlength",
    "contenttype",
    "date",
    "expect",
    "from",
    "host",
    "ifmatch",
    "origin",
    "pragma",
    "referer",
    "te",
    "traceparent",
    "tracestate",
    "trailer",
    "transferencoding",
    "upgrade",
    "useragent",
    "via",
    "xcorrelationid",
    "xforwardedfor",
    "xforwardedhost",
    "xforwardedproto",
    "xrequestid",
    "xscopeorgid",
    // Variables.
    "clustername",
    "deploymentenvironment",
    "environment",
    "gogc",
    "godebug",
    "gomaxprocs",
    "gomemlimit",
    "home",
    "hostip",
    "hostname",
    "javahome",
    "lang",
    "lcall",
    "loglevel",
    "namespace",
    "nodeip",
    "nodename",
    "k8sclustername",
    "k8snamespacename",
    "k8snodename",
    "k8spodname",
    "otelexporterotlpendpoint",
    "otelexporterotlpprotocol",
    "otelresourceattributes",
    "otelservicename",
    "path",
    "podip",
    "podname",
    "podnamespace",
    "servicename",
    "shell",
    "term",
    "tz",
    "user",
];

/// Keys below which headers or environment variables stand, beside those that end with "headers".
const HOLDERS: &[&str] = &[
    "header",
    "env",
    "envs",
    "envvars",
    "extraenv",
    "extraenvvars",
    "environment",
    "environmentvars",
    "environmentvariables",
    "envvariables",
];

/// What a key's name says of its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Secrecy {
    /// Nothing.
    None,
    /// A text under it is secret; a map or a list under it is read key by key. `auth`, `pass`: short names that
    /// mean a secret only when nothing is below them.
    Scalar,
    /// All that is under it is secret.
    All,
}

/// What a key's name says of its value.
pub fn secrecy(name: &str) -> Secrecy {
    if name.len() > 256 {
        return Secrecy::None;
    }
    let mut plain = plain(name);
    if WHOLE.contains(&plain.as_str()) {
        return Secrecy::Scalar;
    }
    if HARMLESS_ENDS.iter().any(|end| plain.ends_with(end)) {
        return Secrecy::None;
    }
    // "max_tokens" counts, "tokens" are secrets.
    if plain.starts_with("max") || plain.starts_with("min") {
        plain.clear();
    }
    if PARTS.iter().any(|part| plain.contains(part)) { Secrecy::All } else { Secrecy::None }
}

/// A name without separators and in lower case.
fn plain(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// Whether headers or environment variables stand below this key.
pub fn holds_headers(key: &str) -> bool {
    let plain = plain(&key[..key.floor_char_boundary(64)]);
    plain.ends_with("headers") || HOLDERS.contains(&plain.as_str())
}

/// Whether a header or a variable of this name is known to be no secret.
pub fn is_harmless_header(name: &str) -> bool {
    name.len() <= 64 && HARMLESS_HEADERS.contains(&plain(name).as_str())
}

/// Where the value of a header or variable stands that is written as one text: `NAME=value`, `"X-Name: value"`.
/// `None`: there is none, or it is no secret.
pub(super) fn value_of_pair(text: &str) -> Option<Range<usize>> {
    let separator = text.find([':', '='])?;
    let name = text[..separator].trim_matches([' ', '"', '\'']);
    let is_name =
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte));
    let value = &text[separator + 1..];
    let end = separator + 1 + value.trim_ascii_end().trim_end_matches(['"', '\'', '\r']).len();
    let start = text.len() - value.trim_ascii_start().len();
    (is_name && !is_harmless_header(name) && start < end).then_some(start..end)
}

/// Whether a text under this key is secret.
pub fn is_secret(name: &str) -> bool {
    secrecy(name) != Secrecy::None
}

/// Whether the value under this key names what the value beside it is: `- name: Authorization`.
pub(super) fn names_its_neighbour(key: &str) -> bool {
    ["name", "key", "header", "header_name", "headerName", "id"]
        .iter()
        .any(|word| key.eq_ignore_ascii_case(word))
}

/// Whether the value under this key is what its neighbour names: `value: x`.
pub(super) fn is_named_by_neighbour(key: &str) -> bool {
    ["value", "values", "val", "header_value", "headerValue", "default"]
        .iter()
        .any(|word| key.eq_ignore_ascii_case(word))
}

/// Values that cannot be secret, whatever their key.
pub(super) fn is_harmless_value(text: &str) -> bool {
    matches!(text, "" | "null" | "~" | "true" | "false" | "{}" | "[]" | super::MASK)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s18_names_that_carry_secrets_are_known_in_every_spelling() {
        for name in [
            "password",
            "DB_PASSWORD",
            "passwd",
            "api_key",
            "apikey",
            "api-key",
            "X-Api-Key",
            "Authorization",
            "proxy-authorization",
            "private_key",
            "client_secret",
            "clientSecret",
            "credentials",
            "access_token",
            "token",
            "aws.secret.access.key",
            "key_pem",
            "Cookie",
            "psk",
            "ServiceAccountToken",
            "tokens",
            "auth",
        ] {
            assert!(is_secret(name), "{name}");
        }
    }

    #[test]
    fn s18_names_that_only_point_to_secrets_are_left() {
        for name in [
            "name",
            "endpoint",
            "token_url",
            "password_file",
            "key_file",
            "bearer_token_file",
            "max_tokens",
            "monkey",
            "keyboard",
            "authenticator",
            "author",
            "compass",
            "token_ttl",
            "",
            "keys",
            "key",
        ] {
            assert!(!is_secret(name), "{name}");
        }
    }
}
