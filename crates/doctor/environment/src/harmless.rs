//! Text from outside, made fit to be shown.
//!
//! Names, variables, paths and the output of other programs may contain anything, also commands to a terminal. This is the one
//! list of characters that are escaped. The crate is the lowest that everything which shows such text depends on.

use std::borrow::Cow;

/// Whether a character could move the cursor, change colours, type commands, or make a line read as another one.
pub fn is_harmful(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            // Marks that turn the direction of text, and what ends lines or is not seen.
            '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
                | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}'
        )
}

/// Replaces harmful characters by what they are called, as Rust writes them.
pub fn escape(text: &str) -> Cow<'_, str> {
    replace_harmful(text, is_harmful, |c, out| out.extend(c.escape_default()))
}

/// The text in one line of at most so many characters, followed by `…` if it was cut.
pub fn escape_beginning(text: &str, characters: usize) -> Cow<'_, str> {
    match text.char_indices().nth(characters) {
        Some((end, _)) => Cow::Owned(escape(&text[..end]).into_owned() + "…"),
        None => escape(text),
    }
}

/// Replaces characters of a text that has any, and otherwise leaves the text where it is. Characters of ASCII that can be seen are no
/// question.
pub fn replace_harmful(
    text: &str,
    is_meant: impl Fn(char) -> bool,
    mut by: impl FnMut(char, &mut String),
) -> Cow<'_, str> {
    // PERF: a report may have a hundred megabytes, nearly all of which are plain.
    let is_plain = |byte: &u8| matches!(byte, b' '..=b'~');
    let (mut out, mut copied, mut at) = (None, 0, 0);
    while let Some(next) = text.as_bytes()[at..].iter().position(|byte| !is_plain(byte)) {
        at += next;
        let Some(c) = text[at..].chars().next() else { break };
        let behind = at + c.len_utf8();
        if is_meant(c) {
            let out = out.get_or_insert_with(|| String::with_capacity(text.len() + 8));
            out.push_str(&text[copied..at]);
            by(c, out);
            copied = behind;
        }
        at = behind;
    }
    match out {
        None => Cow::Borrowed(text),
        Some(mut out) => {
            out.push_str(&text[copied..]);
            Cow::Owned(out)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_spelled_out() {
        assert_eq!(escape("plain ünïcode"), "plain ünïcode");
        assert_eq!(escape("a\x1b[31mb\r\n\x07\u{85}"), "a\\u{1b}[31mb\\r\\n\\u{7}\\u{85}");
        assert_eq!(escape("\u{202e}txt"), "\\u{202e}txt");
        assert_eq!(escape("a\u{200f}b\u{2028}c"), "a\\u{200f}b\\u{2028}c");
        assert_eq!(escape("\u{e0041}\u{2060}\u{9b}"), "\\u{e0041}\\u{2060}\\u{9b}");
        assert_eq!(escape("\u{61c}\u{180e}\u{feff}\u{fff9}"), "\\u{61c}\\u{180e}\\u{feff}\\u{fff9}");
        assert_eq!(escape(&escape("\x1b")), "\\u{1b}", "twice does nothing more");
        assert_eq!(escape("\x1b\x7f~ é\x00"), "\\u{1b}\\u{7f}~ é\\u{0}", "at both ends");
        assert!(matches!(escape("é ~"), Cow::Borrowed("é ~")));
    }

    #[test]
    fn what_is_too_long_is_cut_between_characters() {
        assert_eq!(escape_beginning("é\x1b", 2), "é\\u{1b}");
        assert_eq!(escape_beginning("é\x1bx", 2), "é\\u{1b}…");
        assert_eq!(escape_beginning(&"\n".repeat(1 << 20), 200).len(), 2 * 200 + "…".len());
    }
}
