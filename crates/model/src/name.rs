//! Texts that people give to things. One rule for all of them: what cannot be seen, or turns around what can, is no
//! part of a name, since two names that look alike would be two things.

/// Why a text is no label.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidLabel {
    /// Nothing, or only spaces.
    #[error("must not be empty")]
    Empty,
    /// Longer than this many characters.
    #[error("must have at most {0} characters")]
    TooLong(usize),
    /// It holds this character.
    #[error("must not hold the character U+{0:04X}, which cannot be seen or changes how others are shown")]
    Unseen(u32),
}

/// A label without the spaces around it: 1 to `most` characters, all of which can be seen.
pub fn label(text: &str, most: usize) -> Result<&str, InvalidLabel> {
    let text = text.trim_matches(' ');
    if text.is_empty() {
        return Err(InvalidLabel::Empty);
    }
    if text.chars().count() > most {
        return Err(InvalidLabel::TooLong(most));
    }
    seen(text)?;
    Ok(text)
}

/// Refuses a text of one line that holds what cannot be seen. It may be empty.
pub fn seen(text: &str) -> Result<(), InvalidLabel> {
    text.chars().find(|c| is_unseen(*c)).map_or(Ok(()), |c| Err(InvalidLabel::Unseen(u32::from(c))))
}

/// Whether a character has no shape of its own: controls, marks of direction, characters without width, spaces that
/// are no plain space, fillers, variation selectors and tags.
pub fn is_unseen(c: char) -> bool {
    c.is_control()
        || (c.is_whitespace() && c != ' ')
        || matches!(u32::from(c),
            0xAD | 0x34F | 0x61C | 0x115F..=0x1160 | 0x17B4..=0x17B5 | 0x180B..=0x180F
            | 0x200B..=0x200F | 0x2028..=0x202E | 0x2060..=0x206F | 0x2800 | 0x3164
            | 0xFE00..=0xFE0F | 0xFEFF | 0xFFA0 | 0xFFF0..=0xFFFB
            | 0x1BCA0..=0x1BCA3 | 0x1D173..=0x1D17A | 0xE0000..=0xE0FFF)
}

/// Whether a text can be the name of a user: `[a-z0-9][a-z0-9._@-]{0,62}`.
pub fn is_user_name(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    matches!(text.as_bytes(), [first, rest @ ..]
        if rest.len() <= 62 && plain(*first)
            && rest.iter().all(|byte| plain(*byte) || matches!(byte, b'.' | b'_' | b'@' | b'-')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_is_seen_as_it_is() {
        for text in ["ci", "CI of the web shop (prod)", "Zürich 東京 №5", "a"] {
            assert_eq!(label(&format!("  {text} "), 100), Ok(text));
        }
        assert_eq!(label("  ", 100), Err(InvalidLabel::Empty));
        assert_eq!(label(&"é".repeat(101), 100), Err(InvalidLabel::TooLong(100)));
        assert!(label(&"é".repeat(100), 100).is_ok());
    }

    #[test]
    fn what_cannot_be_seen_or_turns_text_around_is_refused() {
        for c in [
            '\0',
            '\n',
            '\t',
            '\u{7f}',
            '\u{85}',
            '\u{ad}',
            '\u{a0}',
            '\u{61c}',
            '\u{200b}',
            '\u{200d}',
            '\u{200e}',
            '\u{202e}',
            '\u{2029}',
            '\u{2060}',
            '\u{2066}',
            '\u{3000}',
            '\u{3164}',
            '\u{feff}',
            '\u{fe0f}',
            '\u{e0041}',
        ] {
            assert_eq!(label(&format!("a{c}b"), 100), Err(InvalidLabel::Unseen(u32::from(c))), "{:?}", c);
        }
        assert_eq!(seen(""), Ok(()));
    }

    #[test]
    fn a_user_name_is_lower_case_and_short() {
        for name in ["admin", "a", "ann.lee@example.org", "0_a-b", &"x".repeat(63)] {
            assert!(is_user_name(name), "{name}");
        }
        for name in ["", "Admin", ".a", "-a", "a b", "a/b", "é", "a\n", &"x".repeat(64)] {
            assert!(!is_user_name(name), "{name}");
        }
    }
}
