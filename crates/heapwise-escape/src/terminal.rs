//! Makes text from a program harmless on a terminal.

use std::borrow::Cow;

/// Replaces control characters, which could move the cursor, change colours or type commands, by what they are called.
pub fn escape(text: &str) -> Cow<'_, str> {
    let harmful = |c: char| {
        c.is_control()
            || matches!(
                c,
                // Marks that turn the direction of text, and what ends lines or is not seen.
                '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}'
            )
    };
    if !text.contains(harmful) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if harmful(c) { out.extend(c.escape_default()) } else { out.push(c) }
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_spelled_out() {
        assert_eq!(escape("plain ünïcode"), "plain ünïcode");
        assert_eq!(escape("a\x1b[31mb\r\n\x07"), "a\\u{1b}[31mb\\r\\n\\u{7}");
        assert_eq!(escape("\u{202e}txt"), "\\u{202e}txt");
        assert_eq!(escape("a\u{200f}b\u{2028}c"), "a\\u{200f}b\\u{2028}c");
    }
}
