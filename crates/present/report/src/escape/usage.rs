//! Errors of a command line, with the words of the command line in them.

use crate::escape::terminal;
use clap::error::{ContextKind, ContextValue, Error};
use std::ffi::OsString;

/// Prints clap's message and returns the exit code, where [`Error::exit`] would exit.
pub fn tell(mut error: Error, words: impl Iterator<Item = OsString>, has_colours: bool) -> i32 {
    if !error.use_stderr() {
        // Help and versions contain only our own words.
        let _ = error.print();
        return error.exit_code();
    }
    let is_hostile = { words }.any(|word| word.to_string_lossy().contains(terminal::is_harmful));
    let text = if is_hostile { plain(&mut error) } else { error.render().ansi().to_string() };
    match has_colours && !is_hostile {
        true => terminal::print_error(&text, true),
        false => terminal::print_error(&without_styles(&text), false),
    }
    error.exit_code()
}

fn without_styles(text: &str) -> String {
    anstream::adapter::strip_str(text).to_string()
}

/// The message with what was typed escaped, so that it stays in its line.
fn plain(error: &mut Error) -> String {
    // A suggestion contains the word already, unescaped.
    error.remove(ContextKind::Suggested);
    let escape = |text: &str| terminal::escape(text).into_owned();
    let context: Vec<(ContextKind, ContextValue)> = error
        .context()
        .filter_map(|(kind, value)| match value {
            ContextValue::String(text) => Some((kind, ContextValue::String(escape(text)))),
            ContextValue::Strings(all) => {
                Some((kind, ContextValue::Strings(all.iter().map(|text| escape(text)).collect())))
            }
            _ => None,
        })
        .collect();
    for (kind, value) in context {
        error.insert(kind, value);
    }
    error.render().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::{Arg, Command};

    #[test]
    fn words_of_the_command_line_stay_in_their_line() {
        let command = Command::new("x").arg(Arg::new("n").long("n").value_parser(clap::value_parser!(u32)));
        for word in ["--a\x1b[2J\nheapwise: all is well", "--n=\u{9b}2J\r\nb", "c\u{202e}\nd"] {
            let mut error = command.clone().try_get_matches_from(["x", word]).expect_err("it is wrong");
            let lines = error.render().to_string().lines().count();
            let text = plain(&mut error);
            assert!(!text.contains(|c| terminal::is_harmful(c) && c != '\n'), "{text:?}");
            assert!(text.lines().count() < lines, "{text}");
        }
    }
}
