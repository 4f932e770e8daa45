//! Rust and C as words, strings and marks: enough to distinguish a call from a comment about it.

/// A language; the difference is in comments, quotes and raw strings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Language {
    Rust,
    C,
}

/// What a source consists of, comments and blanks aside. Positions are bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Token<'t> {
    /// A name, a keyword or a number.
    Word { at: usize, text: &'t str },
    /// What is between the quotes of a string.
    Text { at: usize, text: &'t str },
    /// Anything else.
    Mark(char),
}

/// Cuts a source into tokens. What is not closed goes to the end.
pub(super) fn tokens(language: Language, text: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        let rest = &text[at..];
        if rest.starts_with("//") {
            at += rest.find('\n').unwrap_or(rest.len());
        } else if rest.starts_with("/*") {
            at += block_comment(language, rest);
        } else if let Some((start, end, whole)) = raw_string(language, rest) {
            tokens.push(Token::Text { at: at + start, text: &rest[start..end] });
            at += whole;
        } else if c == '"' {
            let end = quoted(&rest[1..], '"') + 1;
            tokens.push(Token::Text { at: at + 1, text: &rest[1..end] });
            at += (end + 1).min(rest.len());
        } else if c == '\'' {
            at += character(rest);
        } else if is_word(c) {
            let end = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
            tokens.push(Token::Word { at, text: &rest[..end] });
            at += end;
        } else {
            if !c.is_whitespace() {
                tokens.push(Token::Mark(c));
            }
            at += c.len_utf8();
        }
    }
    tokens
}

fn is_word(c: char) -> bool {
    c == '_' || c.is_alphanumeric()
}

/// How long a comment is. In Rust, they nest.
fn block_comment(language: Language, text: &str) -> usize {
    let mut depth = 0;
    let mut at = 0;
    while let Some(next) = text[at..].find(['/', '*']).map(|n| at + n) {
        match &text.as_bytes()[next..] {
            [b'/', b'*', ..] if depth == 0 || language == Language::Rust => depth += 1,
            [b'*', b'/', ..] => depth -= 1,
            _ => {
                at = next + 1;
                continue;
            }
        }
        at = next + 2;
        if depth == 0 {
            return at;
        }
    }
    text.len()
}

/// `r"…"`, `r#"…"#`, `R"x(…)x"`: where the text begins and ends, and how long the whole is.
fn raw_string(language: Language, text: &str) -> Option<(usize, usize, usize)> {
    let (start, close) = match language {
        Language::Rust => {
            let hashes = text.strip_prefix('r').or_else(|| text.strip_prefix("br"))?;
            let prefix = text.len() - hashes.len();
            let n = hashes.len() - hashes.trim_start_matches('#').len();
            hashes[n..].starts_with('"').then(|| (prefix + n + 1, format!("\"{}", "#".repeat(n))))?
        }
        Language::C => {
            let rest = text.strip_prefix("R\"")?;
            // At most 16 characters: [lex.string].
            let open = rest.char_indices().take(17).find(|(_, c)| *c == '(')?.0;
            (2 + open + 1, format!("){}\"", &rest[..open]))
        }
    };
    let end = text[start..].find(&close).map_or(text.len(), |end| start + end);
    Some((start, end, (end + close.len()).min(text.len())))
}

/// How far it is to the closing quote.
fn quoted(text: &str, quote: char) -> usize {
    let mut is_escaped = false;
    for (at, c) in text.char_indices() {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            _ if c == quote => return at,
            _ => {}
        }
    }
    text.len()
}

/// How long a character literal is, or the quote of a lifetime or of a long number.
fn character(text: &str) -> usize {
    let mut chars = text.char_indices().skip(1);
    match (chars.next(), chars.next()) {
        // `'\n'`, `'\u{1f600}'`: short, if it is one.
        (Some((_, '\\')), _) => match quoted(&text[1..text.floor_char_boundary(16)], '\'') {
            end if end <= 12 => (end + 2).min(text.len()),
            _ => 1,
        },
        (Some(_), Some((at, '\''))) => at + 1,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(language: Language, text: &str) -> Vec<&str> {
        let text_of = |token: Token<'static>| match token {
            Token::Text { text, .. } => Some(text),
            _ => None,
        };
        let leaked: &'static str = Box::leak(text.to_owned().into_boxed_str());
        tokens(language, leaked).into_iter().filter_map(text_of).collect()
    }

    #[test]
    fn strings_are_distinguished_from_characters_and_comments() {
        assert_eq!(
            texts(Language::Rust, r#"f('"', "a\"b", 'x'); fn g<'a>(x: &'a str) { "c" }"#),
            ["a\\\"b", "c"]
        );
        assert_eq!(texts(Language::Rust, "r\"a\\\" \"b\" br##\"c\"#\"## // \"d\""), ["a\\", "b", "c\"#"]);
        assert_eq!(
            texts(Language::C, "R\"x(a\")\")x\" 1'000 \"b\" /* /* \"c\" */ \"d\""),
            ["a\")\"", "b", "d"]
        );
        assert_eq!(texts(Language::Rust, "/* /* */ \"a\" */ '\\'' \"b\""), ["b"]);
    }

    /// Each of these begins a character literal that does not end: to look for its end in all of the rest would take minutes.
    #[test]
    fn what_looks_like_a_thousand_literals_is_read_once() {
        let text = "'\\".repeat(1 << 19);
        // What is near the end may be cut off.
        assert!(tokens(Language::C, &text).len() > (1 << 19) - 16);
    }

    #[test]
    fn nothing_that_is_cut_off_is_too_much() {
        for text in ["\"", "r#\"", "'", "'\\", "/*", "/", "R\"(", "\"\\", "br", "'é", "\"é"] {
            for language in [Language::Rust, Language::C] {
                let _ = tokens(language, text);
            }
        }
    }
}
