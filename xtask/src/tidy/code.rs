//! Rust code without its comments and the contents of its strings, so that a word in it is a word of the program.

/// Replaces comments and the contents of strings and characters by blanks. Lines stay where they are.
pub(super) fn only(text: &str) -> String {
    let mut scanner = Scanner { rest: text, code: String::with_capacity(text.len()) };
    while let Some(next) = scanner.rest.chars().next() {
        scanner.step(next);
    }
    scanner.code
}

struct Scanner<'a> {
    rest: &'a str,
    code: String,
}

impl Scanner<'_> {
    fn step(&mut self, next: char) {
        let rest = self.rest;
        let after_a_word = self.code.ends_with(|c: char| c.is_alphanumeric() || c == '_');
        if rest.starts_with("//") {
            self.blank(rest.find('\n').unwrap_or(rest.len()));
        } else if rest.starts_with("/*") {
            self.blank(block_comment(rest));
        } else if let Some(length) = raw_string(rest).filter(|_| !after_a_word) {
            self.blank(length);
        } else if next == '"' {
            self.blank(quoted(rest, '"'));
        } else if next == '\'' && is_character(rest) {
            self.blank(quoted(rest, '\''));
        } else {
            self.code.push(next);
            self.rest = &rest[next.len_utf8()..];
        }
    }

    fn blank(&mut self, length: usize) {
        let (gone, rest) = self.rest.split_at(length);
        self.code.extend(gone.chars().map(|c| if c == '\n' { '\n' } else { ' ' }));
        self.rest = rest;
    }
}

/// Block comments contain one another.
fn block_comment(text: &str) -> usize {
    let (mut depth, mut at) = (0, 0);
    while at < text.len() {
        let rest = &text[at..];
        at += if rest.starts_with("/*") {
            depth += 1;
            2
        } else if rest.starts_with("*/") {
            depth -= 1;
            2
        } else {
            rest.chars().next().map_or(1, char::len_utf8)
        };
        if depth == 0 {
            return at;
        }
    }
    text.len()
}

fn quoted(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        if !escaped && c == quote {
            return at + 1;
        }
        escaped = !escaped && c == '\\';
    }
    text.len()
}

/// The length of a raw string that begins here.
fn raw_string(text: &str) -> Option<usize> {
    let start = ["br", "cr", "r"].iter().find(|start| text.starts_with(**start))?;
    let hashes = text[start.len()..].chars().take_while(|&c| c == '#').count();
    let open = start.len() + hashes;
    text[open..].strip_prefix('"')?;
    let close = format!("\"{}", "#".repeat(hashes));
    let length = text[open + 1..].find(&close).map_or(text.len(), |at| open + 1 + at + close.len());
    Some(length)
}

/// An apostrophe begins a character, or else a lifetime.
fn is_character(text: &str) -> bool {
    let mut characters = text.chars().skip(1);
    characters.next().is_some_and(|first| first == '\\' || characters.next() == Some('\''))
}

/// Whether a word stands alone in a line, not inside of a longer one.
pub(super) fn has_word(line: &str, word: &str) -> bool {
    let part_of_a_word = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(word).any(|(at, _)| {
        !line[..at].ends_with(part_of_a_word) && !line[at + word.len()..].starts_with(part_of_a_word)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_strings_are_blank() {
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
            assert_eq!(code.lines().count(), hidden.lines().count(), "{hidden}");
            assert_eq!(hidden.ends_with('b'), code.ends_with('b'), "{hidden}");
        }
    }

    #[test]
    fn code_stays() {
        for code in
            ["fn f<'x>(y: &'x str) -> &'x str { y }", "let r = 3; for_r!(r); a / b", "'outer: loop {}"]
        {
            assert_eq!(only(code), code);
        }
        assert_eq!(only("let a = 'ä'; x"), "let a =    ; x");
    }

    #[test]
    fn words_stand_alone() {
        assert!(has_word("unsafe {", "unsafe") && has_word("(unsafe)", "unsafe"));
        assert!(!has_word("unsafe_code", "unsafe") && !has_word("an_unsafe", "unsafe"));
    }
}
