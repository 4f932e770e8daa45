//! Makes text from a program harmless on a terminal, and is the one place that writes to terminals.
//!
//! Names are escaped where they are inserted into a text ([`escape`]). Printed text goes through [`say!`](crate::escape::say),
//! [`print`] or [`print_error`], which remove all control characters but those of our own colours, even if escaping was forgotten
//! before.

use heapwise_environment::harmless::replace_harmful;
use std::borrow::Cow;
use std::fmt;
use std::io::{self, Write};
use std::sync::atomic::{AtomicU8, Ordering};

pub use heapwise_environment::harmless::{escape, is_harmful};

/// Replaces harmful characters in JSON by JSON's escapes. They can only be in strings there, so it means the same afterwards.
pub fn json(text: &str) -> Cow<'_, str> {
    // Line ends are those between the values: JSON has none in strings.
    replace_harmful(
        text,
        |c| is_harmful(c) && !matches!(c, '\n' | '\r' | '\t'),
        |c, out| {
            for unit in c.encode_utf16(&mut [0; 2]) {
                out.push_str(&format!("\\u{unit:04x}"));
            }
        },
    )
}

/// JSON on its way: what is written is escaped as by [`json`]. Each piece has to have whole characters, as serde_json's have.
#[derive(Debug)]
pub(crate) struct Json<Out>(pub(crate) Out);

impl<Out: Write> Write for Json<Out> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let text =
            std::str::from_utf8(bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
        self.0.write_all(json(text).as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// A text of several lines, in which the line ends and, if it has styles, our own colours are kept.
pub fn page(text: &str, is_styled: bool) -> Cow<'_, str> {
    let is_harmless = |c: char| matches!(c, '\n' | '\t') || !is_harmful(c);
    if text.chars().all(is_harmless) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 8);
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let length = match style(rest) {
            Some(length) if is_styled => length,
            _ => c.len_utf8(),
        };
        let (part, behind) = rest.split_at(length);
        match length > c.len_utf8() || is_harmless(c) {
            true => out.push_str(part),
            false => out.extend(c.escape_default()),
        }
        rest = behind;
    }
    Cow::Owned(out)
}

/// The length of a sequence at the beginning that selects a colour or style and does nothing else.
fn style(text: &str) -> Option<usize> {
    let parameters = text.strip_prefix("\x1b[")?;
    let end = parameters.find(|c: char| !c.is_ascii_digit() && c != ';')?;
    parameters[end..].starts_with('m').then_some(end + 3)
}

/// Writes one line to standard error, as `eprintln!` does, with all of it escaped. If standard error is closed or full, the
/// program continues.
#[macro_export]
macro_rules! say {
    ($($part:tt)*) => { $crate::escape::terminal::line(format_args!($($part)*)) };
}

/// Says that something was done, in one line as [`say!`](crate::escape::say) writes it, unless the user wants it quiet.
#[macro_export]
macro_rules! note {
    ($($part:tt)*) => {
        if $crate::escape::terminal::Verbosity::now() != $crate::escape::terminal::Verbosity::Quiet {
            $crate::escape::terminal::line(format_args!($($part)*));
        }
    };
}

/// Says more about what is done, in one line, if the user wants to know.
#[macro_export]
macro_rules! detail {
    ($($part:tt)*) => {
        if $crate::escape::terminal::Verbosity::now() == $crate::escape::terminal::Verbosity::Verbose {
            $crate::escape::terminal::line(format_args!($($part)*));
        }
    };
}

/// How much is said on standard error beside warnings and errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verbosity {
    /// Nothing.
    Quiet,
    /// Where results are.
    Usual,
    /// Each step, and how long it took.
    Verbose,
}

/// The [`Verbosity`] of this process.
static VERBOSITY: AtomicU8 = AtomicU8::new(Verbosity::Usual as u8);

impl Verbosity {
    /// Lets it hold for the whole process.
    pub fn apply(self) {
        VERBOSITY.store(self as u8, Ordering::Relaxed);
    }

    /// What holds for this process.
    pub fn now() -> Self {
        let all = [Self::Quiet, Self::Usual, Self::Verbose];
        all[usize::from(VERBOSITY.load(Ordering::Relaxed)).min(2)]
    }
}

/// The function behind [`say!`](crate::escape::say).
pub fn line(what: fmt::Arguments<'_>) {
    let line = format!("{}\n", escape(&what.to_string()));
    let _ = io::stderr().write_all(line.as_bytes());
}

/// Writes a text of several lines to standard output, which is a terminal or read by a person.
///
/// # Errors
/// As [`put_out`].
pub fn print(text: &str, is_styled: bool) -> io::Result<()> {
    put_out(page(text, is_styled).as_bytes())
}

/// Writes to standard output without escaping, for programs to read. A reader that stops early, such as `head`, is no error: the
/// exit code has the result all the same.
///
/// # Errors
/// When standard output cannot be written to.
pub fn put_out(bytes: &[u8]) -> io::Result<()> {
    put_out_by(|out| out.write_all(bytes))
}

/// The same of what is written piece by piece.
///
/// # Errors
/// Those of writing, but for a reader that is gone.
pub fn put_out_by(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let mut out = io::BufWriter::with_capacity(1 << 16, io::stdout().lock());
    match write(&mut out).and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => result,
    }
}

/// Writes a text of several lines to standard error. As for a line, the program continues if that fails.
pub fn print_error(text: &str, is_styled: bool) {
    let _ = io::stderr().write_all(page(text, is_styled).as_bytes());
}

/// Standard error as a writer that never fails; it escapes everything but line ends.
#[derive(Debug)]
pub struct ErrorLines;

impl Write for ErrorLines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        print_error(&String::from_utf8_lossy(bytes), false);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_stays_the_same_json() {
        let text = "{\n  \"a\": \"\u{9b}2J\u{202e}é\u{7f}\u{e0041}\"\n}\n";
        assert_eq!(json(text), "{\n  \"a\": \"\\u009b2J\\u202eé\\u007f\\udb40\\udc41\"\n}\n");
    }

    #[test]
    fn a_page_keeps_its_lines_and_its_own_colours() {
        let text = "\x1b[1;31mred\x1b[0m\tx\n\x1b[2Jy\x1b]0;title\x07\u{9b}1m\r\n\x1b[31";
        let behind = "\tx\n\\u{1b}[2Jy\\u{1b}]0;title\\u{7}\\u{9b}1m\\r\n\\u{1b}[31";
        assert_eq!(page(text, true), format!("\x1b[1;31mred\x1b[0m{behind}"));
        assert_eq!(page(text, false), format!("\\u{{1b}}[1;31mred\\u{{1b}}[0m{behind}"));
        assert!(matches!(page("a\nb\n", false), Cow::Borrowed(_)));
    }
}
