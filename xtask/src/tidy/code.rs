//! Rust code without its comments and the contents of its strings, so that a word in it is a word of the program.

use proc_macro2::{Delimiter, Span, TokenStream, TokenTree};
use std::str::FromStr;

/// The words and marks of a program, each with its line. Nothing for code that cannot be parsed: the compiler reports that.
pub(super) fn only(text: &str) -> String {
    let mut lines = vec![String::new(); text.lines().count()];
    add(TokenStream::from_str(text).unwrap_or_default(), &mut lines);
    lines.join("\n")
}

fn add(tokens: TokenStream, lines: &mut [String]) {
    for token in tokens {
        match token {
            TokenTree::Ident(word) => add_at(word.span(), &word.to_string(), lines),
            TokenTree::Punct(mark) => add_at(mark.span(), mark.as_char().encode_utf8(&mut [0; 4]), lines),
            TokenTree::Literal(_) => {}
            TokenTree::Group(group) => {
                let [open, close] = match group.delimiter() {
                    Delimiter::Parenthesis => ["(", ")"],
                    Delimiter::Brace => ["{", "}"],
                    Delimiter::Bracket => ["[", "]"],
                    Delimiter::None => ["", ""],
                };
                add_at(group.span_open(), open, lines);
                add(group.stream(), lines);
                add_at(group.span_close(), close, lines);
            }
        }
    }
}

fn add_at(place: Span, text: &str, lines: &mut [String]) {
    let Some(line) = lines.get_mut(place.start().line - 1) else { return };
    if line.ends_with(is_part_of_a_word) && text.starts_with(is_part_of_a_word) {
        line.push(' ');
    }
    line.push_str(text);
}

fn is_part_of_a_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Whether a word stands alone in a line, not inside of a longer one.
pub(super) fn has_word(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(at, _)| {
        !line[..at].ends_with(is_part_of_a_word) && !line[at + word.len()..].starts_with(is_part_of_a_word)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_strings_are_left_out() {
        for hidden in [
            "a // x\nb",
            "a /* x /* x */ x */ b",
            "a \"x \\\" x\" b",
            "a r#\"x \" x\"# b",
            "a br\"x\\\" b",
            "a 'x' b",
            "a '\\'' /* x */ b",
            "/* x",
            "\"x",
        ] {
            let code = only(hidden);
            assert!(!code.contains('x'), "{hidden}: {code}");
            assert_eq!(code.split('\n').count(), hidden.lines().count(), "{hidden}");
            assert_eq!(hidden.ends_with('b'), code.ends_with('b'), "{hidden}");
        }
    }

    #[test]
    fn code_stays_in_its_lines() {
        for code in
            ["fn f<'x>(y: &'x str) -> &'x str { y }", "let r = s; for_r!(r); a / b", "'outer: loop\n{\n}"]
        {
            let without_blanks = |code: &str| code.replace(' ', "");
            assert_eq!(without_blanks(&only(code)), without_blanks(code));
        }
        assert_eq!(only("let a = 'ä'; return x"), "let a=;return x");
    }

    #[test]
    fn words_stand_alone() {
        assert!(has_word("unsafe {", "unsafe") && has_word("(unsafe)", "unsafe"));
        assert!(!has_word("unsafe_code", "unsafe") && !has_word("an_unsafe", "unsafe"));
    }
}
