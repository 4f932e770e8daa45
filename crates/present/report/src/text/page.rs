//! Lines that fit their width.

use crate::names::fit;
use crate::style::Style;
use crate::units::count;

/// What a piece of text is, hence how it is painted.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Ink {
    Heading,
    Caveat,
    Name,
    Faint,
}

/// Text in its colour. To be called after padding, since escape sequences take no columns.
fn paint(style: Style, ink: Option<Ink>, text: &str) -> String {
    match ink {
        _ if text.is_empty() => String::new(),
        None => text.to_owned(),
        Some(Ink::Heading) => style.bold(text),
        Some(Ink::Caveat) => style.warn(text),
        Some(Ink::Name) => style.name(text),
        Some(Ink::Faint) => style.dim(text),
    }
}

/// A count with its noun: `1 thread`, `2 threads`.
pub(crate) fn counted(n: u64, one: &str, many: &str) -> String {
    format!("{} {}", count(n), if n == 1 { one } else { many })
}

/// The text so far.
#[derive(Debug)]
pub(crate) struct Page {
    pub(crate) style: Style,
    pub(crate) columns: usize,
    out: String,
}

impl Page {
    pub(crate) fn new(style: Style) -> Self {
        Self { style, columns: style.columns(), out: String::new() }
    }

    pub(crate) fn finish(self) -> String {
        self.out
    }

    /// A line of pieces, cut where it would be too long. A piece without ink is printed as it is.
    pub(crate) fn line(&mut self, pieces: &[(Option<Ink>, &str)]) {
        let mut left = self.columns;
        let mut line = String::new();
        for (ink, piece) in pieces {
            let piece = fit(piece, left);
            left -= piece.chars().count();
            line.push_str(&paint(self.style, *ink, &piece));
            if left == 0 {
                break;
            }
        }
        self.out.push_str(line.trim_end());
        self.out.push('\n');
    }

    /// A line that is to be copied, however long it is.
    pub(crate) fn verbatim(&mut self, indent: &str, text: &str) {
        self.out.push_str(format!("{indent}{text}").trim_end());
        self.out.push('\n');
    }

    pub(crate) fn empty(&mut self) {
        self.out.push('\n');
    }

    pub(crate) fn heading(&mut self, title: &str, aside: &str) {
        self.empty();
        self.line(&[
            (Some(Ink::Heading), title),
            (None, if aside.is_empty() { "" } else { "  " }),
            (Some(Ink::Faint), aside),
        ]);
    }

    /// A paragraph, broken between words. Its first line begins with `first`, the others with as many spaces.
    pub(crate) fn paragraph(&mut self, ink: Option<Ink>, first: &str, text: &str) {
        let indent = " ".repeat(first.chars().count());
        let room = self.columns.saturating_sub(indent.len()).max(20);
        let mut start = first;
        let mut line = String::new();
        for word in text.split_whitespace() {
            if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > room {
                self.line(&[(ink, start), (ink, &line)]);
                start = &indent;
                line.clear();
            }
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
        self.line(&[(ink, start), (ink, &line)]);
    }
}

/// Text at the right end of so many columns.
pub(crate) fn right(text: &str, columns: usize) -> String {
    let n = text.chars().count();
    format!("{}{text}", " ".repeat(columns.saturating_sub(n)))
}

/// Text at the left end of so many columns.
pub(crate) fn left(text: &str, columns: usize) -> String {
    let text = fit(text, columns);
    let n = text.chars().count();
    format!("{text}{}", " ".repeat(columns.saturating_sub(n)))
}
