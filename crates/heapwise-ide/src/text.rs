//! Positions in texts, and texts from files in messages.

/// The line and the column of a byte, both counted from one; columns are characters.
pub(crate) fn position(text: &str, at: usize) -> (usize, usize) {
    let before = &text.as_bytes()[..at.min(text.len())];
    let line_start = before.iter().rposition(|b| *b == b'\n').map_or(0, |newline| newline + 1);
    let line = before.iter().filter(|b| **b == b'\n').count() + 1;
    // Bytes that continue a character are no columns.
    let column = before[line_start..].iter().filter(|b| (**b & 0xC0) != 0x80).count() + 1;
    (line, column)
}

/// The line of a byte, counted from one.
pub(crate) fn line(text: &str, at: usize) -> usize {
    position(text, at).0
}

/// Text from a file for a message: in one line, not endless, and without what could control a terminal.
pub(crate) fn plain(text: &str) -> String {
    const LONGEST: usize = 200;
    let mut plain: String = text
        .chars()
        .take(LONGEST)
        .map(|c| if c.is_control() || is_invisible(c) { '\u{fffd}' } else { c })
        .collect();
    if text.chars().nth(LONGEST).is_some() {
        plain.push('…');
    }
    plain
}

/// Characters that change the order of others, or take no place.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

/// The spaces and tabs at the beginning of the line that a byte is in, and whether nothing else is before the byte.
pub(crate) fn indentation(text: &str, at: usize) -> (&str, bool) {
    let start = text[..at].rfind('\n').map_or(0, |newline| newline + 1);
    let before = &text[start..at];
    let blank = before.trim_start_matches([' ', '\t']);
    (&before[..before.len() - blank.len()], blank.is_empty())
}

/// How a text ends its lines: as its first line does.
pub(crate) fn newline(text: &str) -> &'static str {
    match text.find('\n') {
        Some(at) if text[..at].ends_with('\r') => "\r\n",
        _ => "\n",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_characters() {
        assert_eq!(position("a\nbö€x", 7), (2, 4));
        assert_eq!(position("", 0), (1, 1));
        assert_eq!(position("a\r\n", 3), (2, 1));
    }

    #[test]
    fn a_text_cannot_control_a_terminal() {
        assert_eq!(plain("a\u{1b}[31m\nb\u{202e}"), "a\u{fffd}[31m\u{fffd}b\u{fffd}");
        assert_eq!(plain(&"x".repeat(300)).chars().count(), 201);
    }

    #[test]
    fn indentation_is_that_of_the_line() {
        assert_eq!(indentation("a\n\t  b c", 5), ("\t  ", true));
        assert_eq!(indentation("a\n\t  b c", 7), ("\t  ", false));
    }
}
