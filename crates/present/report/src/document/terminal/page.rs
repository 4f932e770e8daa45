//! Lines that fit their width, in colours if these are welcome.

use crate::document::{Role, Words};
use crate::escape::terminal::escape;
use crate::names::{fit, width_of};
use crate::style::Style;

/// A piece of a line. It is escaped already.
pub(super) type Run = (Role, String);

/// Words as pieces of a line. Prose gets the role `plain`.
pub(super) fn runs(words: &Words, plain: Role) -> Vec<Run> {
    let role = |role| if role == Role::Prose { plain } else { role };
    words.pieces().map(|(piece, text)| (role(piece), escape(text).into_owned())).collect()
}

/// How many columns they take.
pub(super) fn width(runs: &[Run]) -> usize {
    runs.iter().map(|(_, text)| width_of(text)).sum()
}

/// The text so far.
#[derive(Debug)]
pub(super) struct Page {
    pub(super) columns: usize,
    style: Style,
    out: String,
}

impl Page {
    pub(super) fn new(style: Style) -> Self {
        Self { style, columns: style.columns(), out: String::new() }
    }

    pub(super) fn finish(self) -> String {
        self.out
    }

    /// A line, cut where it would be too long.
    pub(super) fn line(&mut self, runs: impl IntoIterator<Item = Run>) {
        let mut line: Vec<Run> = Vec::new();
        let mut room = self.columns;
        for (role, text) in runs {
            let text = fit(&text, room);
            room -= width_of(&text);
            match line.last_mut() {
                Some((last, before)) if *last == role => before.push_str(&text),
                _ => line.push((role, text)),
            }
            if room == 0 {
                break;
            }
        }
        // Before it is painted: spaces before an escape sequence are not recognised as the end.
        while let Some((_, last)) = line.last_mut() {
            last.truncate(last.trim_end().len());
            if !last.is_empty() {
                break;
            }
            line.pop();
        }
        let painted = line.iter().map(|(role, text)| self.style.paint(*role, text));
        self.out.extend(painted);
        self.out.push('\n');
    }

    /// A line that is to be copied: it is never cut.
    pub(super) fn verbatim(&mut self, indent: &str, text: &str) {
        self.out.push_str(format!("{indent}{text}").trim_end());
        self.out.push('\n');
    }

    /// An empty line, unless the page is empty so far.
    pub(super) fn empty(&mut self) {
        if !self.out.is_empty() {
            self.out.push('\n');
        }
    }

    pub(super) fn heading(&mut self, role: Role, title: &str, aside: &str) {
        self.empty();
        let gap = if aside.is_empty() { "" } else { "  " };
        self.line([(role, title.to_owned()), (Role::Own, gap.to_owned()), (Role::Faint, aside.to_owned())]);
    }

    /// A paragraph, broken between words. Its first line begins with `first`, the others with as many spaces.
    pub(super) fn paragraph(&mut self, first: &str, plain: Role, words: &Words) {
        let indent = width_of(first);
        let room = self.columns.saturating_sub(indent).max(20);
        let mut line: Vec<Run> = vec![(plain, first.to_owned())];
        let mut wide = 0;
        for word in broken(&runs(words, plain)) {
            let more = width(&word);
            if wide > 0 && wide + 1 + more > room {
                self.line(std::mem::take(&mut line));
                line.push((plain, " ".repeat(indent)));
                wide = 0;
            }
            if wide > 0 {
                // A space belongs to what is on both sides of it.
                let before = line.last().map_or(plain, |(role, _)| *role);
                let role =
                    if word.first().is_some_and(|(role, _)| *role == before) { before } else { Role::Own };
                line.push((role, " ".to_owned()));
                wide += 1;
            }
            wide += more;
            line.extend(word);
        }
        self.line(line);
    }
}

/// Pieces at whose spaces a line may be broken.
fn broken(runs: &[Run]) -> Vec<Vec<Run>> {
    let mut words: Vec<Vec<Run>> = vec![Vec::new()];
    for (role, text) in runs {
        for (at, part) in text.split(char::is_whitespace).enumerate() {
            if at > 0 {
                words.push(Vec::new());
            }
            if let Some(word) = words.last_mut().filter(|_| !part.is_empty()) {
                word.push((*role, part.to_owned()));
            }
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Text at the right end of so many columns.
pub(super) fn right(text: &str, columns: usize) -> String {
    let n = width_of(text);
    format!("{}{text}", " ".repeat(columns.saturating_sub(n)))
}

/// Text at the left end of so many columns.
pub(super) fn left(text: &str, columns: usize) -> String {
    let text = fit(text, columns);
    let n = width_of(&text);
    format!("{text}{}", " ".repeat(columns.saturating_sub(n)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_broken_between_words_and_not_between_pieces() {
        let mut page = Page::new(Style { color: true, width: 60 });
        let words = Words::from("a\u{1b} ".repeat(19)).and(Role::Name, "name").and(Role::Own, ", then");
        page.paragraph("  ! ", Role::Caveat, &words);
        let text = page.finish();
        assert!(text.contains("\x1b[36mname\x1b[0m, then\n"), "{text:?}");
        assert!(text.starts_with("\x1b[33m  ! a\\u{1b} a\\u{1b}") && !text.contains(" \n"), "{text:?}");
        assert_eq!(text.lines().count(), 3, "{text}");
    }
}
