//! JSON strings, written by hand.
//!
//! A serializer writes every string in one style. Real submissions come from many tools, some of which escape
//! all that is not ASCII; the versions must cope with both styles, so the generator has to write both.

use std::fmt::Write as _;

/// Which characters are escaped beyond those that JSON demands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    /// Only quotes, backslashes and control characters are escaped.
    Utf8,
    /// All that is not ASCII is escaped too, characters above U+FFFF as surrogate pairs.
    AsciiOnly,
}

/// Appends `text` to `out` as a JSON string, quotes included.
pub(super) fn push_string(out: &mut String, text: &str, style: Style) {
    out.push('"');
    // Runs of characters that stay as they are make up nearly all of the data, so each is copied as a whole.
    let mut copied = 0;
    for (at, character) in text.char_indices() {
        if !needs_escape(character, style) {
            continue;
        }
        out.push_str(&text[copied..at]);
        copied = at + character.len_utf8();
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            _ => {
                for unit in character.encode_utf16(&mut [0; 2]) {
                    write!(out, "\\u{unit:04x}").expect("writing to a string cannot fail");
                }
            }
        }
    }
    out.push_str(&text[copied..]);
    out.push('"');
}

fn needs_escape(character: char, style: Style) -> bool {
    match character {
        '"' | '\\' | '\0'..='\x1f' => true,
        _ => style == Style::AsciiOnly && !character.is_ascii(),
    }
}

#[cfg(test)]
mod tests {
    use super::{Style, push_string};

    const SAMPLE: &str = "a \"b\" \\ \u{1}\n\té 🌙";

    fn encoded(style: Style) -> String {
        let mut out = String::new();
        push_string(&mut out, SAMPLE, style);
        out
    }

    #[test]
    fn both_styles_decode_to_the_original() {
        for style in [Style::Utf8, Style::AsciiOnly] {
            assert_eq!(serde_json::from_str::<String>(&encoded(style)).unwrap(), SAMPLE);
        }
    }

    #[test]
    fn ascii_only_writes_surrogate_pairs() {
        assert!(encoded(Style::AsciiOnly).ends_with("\\u00e9 \\ud83c\\udf19\""));
        assert!(encoded(Style::Utf8).ends_with("é 🌙\""));
    }
}
