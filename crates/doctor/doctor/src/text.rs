//! Positions in texts, and texts from files in messages.
//!
//! Each of thousands of findings in a file needs lines and indentations. The time for that must not depend on the place in the
//! file: the ends of lines are found once ([`Lines`]), and what is repeated in a change is short ([`Lines::indentation`]).

use heapwise_environment::harmless;

/// Where the lines of a text end.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lines(Vec<usize>);

impl Lines {
    pub(crate) fn of(text: &str) -> Self {
        Self(text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at).collect())
    }

    /// The line of a byte, counted from one.
    pub(crate) fn line(&self, at: usize) -> usize {
        self.0.partition_point(|end| *end < at) + 1
    }

    /// Where the line of a byte begins.
    fn start(&self, at: usize) -> usize {
        self.0[..self.line(at) - 1].last().map_or(0, |end| end + 1)
    }

    /// The line and the column of a byte, both counted from one; columns are characters.
    pub(crate) fn position(&self, text: &str, at: usize) -> (usize, usize) {
        let at = at.min(text.len());
        let before = &text.as_bytes()[self.start(at)..at];
        // Bytes that continue a character are no columns.
        (self.line(at), before.iter().filter(|b| (**b & 0xC0) != 0x80).count() + 1)
    }

    /// Whether there is more than one.
    pub(crate) fn has_several(&self) -> bool {
        !self.0.is_empty()
    }

    /// The spaces and tabs at the beginning of the line that a byte is in, and whether nothing else is before the byte. Of what is
    /// longer than any indentation, the beginning.
    pub(crate) fn indentation<'t>(&self, text: &'t str, at: usize) -> (&'t str, bool) {
        let before = &text[self.start(at)..at];
        let blank =
            before.bytes().take(LONGEST_INDENTATION).take_while(|b| matches!(b, b' ' | b'\t')).count();
        (&before[..blank], blank == before.len())
    }

    /// How a text ends its lines: as its first line does.
    pub(crate) fn newline(&self, text: &str) -> &'static str {
        match self.0.first() {
            Some(end) if text[..*end].ends_with('\r') => "\r\n",
            _ => "\n",
        }
    }
}

/// More than editors show in a line.
const LONGEST_INDENTATION: usize = 200;

/// Text from a file for a message: in one line, not endless, and without what could control a terminal.
pub(crate) fn plain(text: &str) -> String {
    const LONGEST: usize = 200;
    harmless::escape_beginning(text, LONGEST).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_characters() {
        let position = |text: &str, at| Lines::of(text).position(text, at);
        assert_eq!(position("a\nbö€x", 7), (2, 4));
        assert_eq!(position("", 0), (1, 1));
        assert_eq!(position("a\r\n", 3), (2, 1));
        assert_eq!(position("a\n\nb", 1), (1, 2), "the end of a line is in it");
    }

    #[test]
    fn a_text_cannot_control_a_terminal() {
        assert_eq!(plain("a\u{1b}[31m\nb\u{202e}"), "a\\u{1b}[31m\\nb\\u{202e}");
        assert_eq!(plain(&"x".repeat(300)).chars().count(), 201);
    }

    #[test]
    fn indentation_is_that_of_the_line() {
        let text = "a\n\t  b c";
        let lines = Lines::of(text);
        assert_eq!(lines.indentation(text, 5), ("\t  ", true));
        assert_eq!(lines.indentation(text, 7), ("\t  ", false));
        let text = " ".repeat(100_000) + "x";
        assert_eq!(Lines::of(&text).indentation(&text, 100_000), (&text[..LONGEST_INDENTATION], false));
    }
}
