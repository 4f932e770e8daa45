//! Escapes text from a program in Markdown, so that it stays text.
//!
//! The author of a function's name would decide what a comment on a pull request shows, if a name could contain markup: an
//! element, link, image or table cell, or a mention, which would notify people. Names go into code spans, in which Markdown and
//! the sites that render it leave everything unchanged. Sentences that contain names cannot, so each character of Markdown's
//! syntax gets a backslash, and an invisible space breaks what is recognised without such characters: addresses of sites and of
//! people, mentions, and numbers of issues.

use crate::escape::terminal::escape;

/// Has no width, and separates words.
const BREAK: char = '\u{200b}';
/// Backticks in a row that a name may have. Renderers give up on long fences and then see markup.
const MOST_BACKTICKS: usize = 4;

/// Where text is put.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spot {
    Line,
    /// In a cell of a table, where a bar ends the cell even within a code span.
    Cell,
}

/// A name as a code span.
pub fn code(text: &str, spot: Spot) -> String {
    let text = without_long_fences(&escape(text));
    if text.is_empty() {
        return "–".to_owned();
    }
    let fence = "`".repeat(longest_run(&text) + 1);
    let text = if spot == Spot::Cell { bars(&text) } else { text };
    // A renderer takes one space off both ends if there is one at both, and something else in between.
    let touches = |c: Option<char>| matches!(c, Some('`' | ' '));
    let blank = text.chars().all(|c| c == ' ');
    let pad = if blank {
        ""
    } else if touches(text.chars().next()) || touches(text.chars().next_back()) {
        " "
    } else {
        ""
    };
    format!("{fence}{pad}{text}{pad}{fence}")
}

/// A sentence that may contain names. What is between two backticks is a code span.
pub fn prose(text: &str, spot: Spot) -> String {
    let text = escape(text.trim());
    code_spans(&text).map(|(is_code, part)| if is_code { code(part, spot) } else { plain(part) }).collect()
}

/// The parts of a sentence, and whether each is between two backticks.
pub fn code_spans(text: &str) -> impl Iterator<Item = (bool, &str)> {
    let mut parts: Vec<&str> = text.split('`').collect();
    // Only a sentence whose backticks come in pairs means them.
    if parts.len().is_multiple_of(2) || parts.iter().skip(1).step_by(2).any(|part| part.trim().is_empty()) {
        parts = vec![text];
    }
    parts.into_iter().enumerate().map(|(i, part)| (i % 2 == 1, part))
}

/// Lines in a block of code. The lines are ended here.
pub fn block(lines: &[String]) -> String {
    let lines: Vec<String> = lines.iter().map(|line| without_long_fences(&escape(line))).collect();
    let fence = "`".repeat(lines.iter().map(|line| longest_run(line) + 1).max().unwrap_or(0).max(3));
    let mut out = format!("{fence}text\n");
    for line in lines {
        out.push_str(&line);
        out.push('\n');
    }
    out.push_str(&fence);
    out.push('\n');
    out
}

fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    let mut digits_only = true;
    for (at, c) in text.char_indices() {
        let rest = &text[at..];
        match c {
            '\\' | '`' | '*' | '_' | '{' | '}' | '[' | ']' | '<' | '>' | '!' | '|' | '~' | '^' | '=' => {
                out.extend(['\\', c]);
            }
            // At the start of a line these begin lists.
            '-' | '+' if at == 0 => out.extend(['\\', c]),
            '.' | ')' if digits_only => out.extend(['\\', c]),
            '#' => out.extend(['\\', c, BREAK]),
            '@' => out.extend([c, BREAK]),
            '-' if out.ends_with("GH") || out.ends_with("gh") => out.extend([c, BREAK]),
            ':' if rest.starts_with("://") => out.extend([c, BREAK]),
            '.' if ends_with_www(&out) => out.extend([BREAK, c]),
            '&' => out.push_str("&amp;"),
            '$' => out.push_str("&#36;"),
            _ => out.push(c),
        }
        digits_only &= c.is_ascii_digit();
    }
    out
}

fn ends_with_www(text: &str) -> bool {
    let end = text.len().saturating_sub(3);
    text.get(end..).is_some_and(|end| end.eq_ignore_ascii_case("www"))
}

/// Bars with a backslash. A backslash that is already there must not take the new one for itself.
fn bars(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if c == '|' {
            if out.ends_with('\\') {
                out.push(BREAK);
            }
            out.push('\\');
        }
        out.push(c);
    }
    out
}

fn without_long_fences(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut run = 0;
    for c in text.chars() {
        run = if c == '`' { run + 1 } else { 0 };
        if run > MOST_BACKTICKS {
            out.push(BREAK);
            run = 1;
        }
        out.push(c);
    }
    out
}

fn longest_run(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_code() {
        let cases = [
            ("alloc::vec::Vec<T>", "`alloc::vec::Vec<T>`"),
            ("a`b", "``a`b``"),
            ("`", "`` ` ``"),
            ("a|b", "`a|b`"),
            ("a\nb", "`a\\nb`"),
            ("", "–"),
            (" a ", "`  a  `"),
        ];
        for (name, expected) in cases {
            assert_eq!(code(name, Spot::Line), expected, "{name:?}");
        }
        assert_eq!(code("operator||", Spot::Cell), "`operator\\|\\|`");
        assert_eq!(code("a\\|b", Spot::Cell), "`a\\\u{200b}\\|b`");
        let long = code(&"`".repeat(1000), Spot::Line);
        assert!(longest_run(&long) == MOST_BACKTICKS + 1, "{long}");
    }

    #[test]
    fn sentences_have_no_markup_but_code_in_backticks() {
        let cases = [
            ("reserve with `with_capacity(4096)` here", "reserve with `with_capacity(4096)` here"),
            ("one ` alone", "one \\` alone"),
            ("two `` alone", "two \\`\\` alone"),
            ("<b>&amp; *x* [a](b)", "\\<b\\>&amp;amp; \\*x\\* \\[a\\](b)"),
            ("1. a", "1\\. a"),
            ("- a", "\\- a"),
            ("2.5 KiB - ok.", "2\\.5 KiB - ok."),
            (
                "@user #12 http://x www.x.org a@b.c",
                "@\u{200b}user \\#\u{200b}12 http:\u{200b}//x www\u{200b}.x.org a@\u{200b}b.c",
            ),
        ];
        for (text, expected) in cases {
            assert_eq!(prose(text, Spot::Line), expected, "{text}");
        }
    }

    #[test]
    fn a_block_ends_where_it_should() {
        let block = block(&["```".into(), "a\n```\n<b>".into()]);
        assert_eq!(block, "````text\n```\na\\n```\\n<b>\n````\n");
    }

    use comrak::nodes::NodeValue;
    use comrak::{Arena, Options, parse_document};
    use proptest::prelude::*;

    /// What a document consists of, as GitHub renders it: code, and other kinds of nodes by their names.
    fn parsed(markdown: &str) -> (Vec<String>, Vec<String>) {
        let mut options = Options::default();
        let e = &mut options.extension;
        (e.table, e.autolink, e.strikethrough, e.footnotes, e.tasklist) = (true, true, true, true, true);
        (e.alerts, e.math_dollars, e.math_code) = (true, true, true);
        let arena = Arena::new();
        let (mut code, mut kinds) = (Vec::new(), Vec::new());
        for node in parse_document(&arena, markdown, &options).descendants() {
            match &node.data.borrow().value {
                NodeValue::Code(span) => code.push(span.literal.replace(BREAK, "")),
                NodeValue::CodeBlock(block) => code.push(block.literal.replace(BREAK, "")),
                NodeValue::Text(_) | NodeValue::SoftBreak => {}
                other => {
                    let name = format!("{other:?}");
                    kinds.push(name.split(['(', ' ']).next().unwrap_or_default().to_owned());
                }
            }
        }
        (code, kinds)
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]
        #[test]
        fn whatever_a_name_is_it_stays_the_same_text(
            name in "([|`\\\\<>@#$&;:/.*_~^=!(){}\\[\\] \n\t+-]|[a-z1]|http://|www\\.|</?b>|&lt;|\\\\\\|){1,30}"
        ) {
            let document = format!(
                "name {} end\n\n| {} | second |\n|---|---|\n| {} | {} |\n\n- {}\n\n{}",
                code(&name, Spot::Line),
                code(&name, Spot::Cell),
                code(&name, Spot::Cell),
                prose(&name.replace('`', ""), Spot::Cell),
                prose(&format!("x {}", name.replace('`', "")), Spot::Line),
                block(std::slice::from_ref(&name)),
            );
            let (spans, kinds) = parsed(&document);
            let shown = escape(&name).into_owned();
            // Spaces at the end of a line are no part of a paragraph; in code they are.
            prop_assert_eq!(spans, [shown.clone(), shown.clone(), shown.clone(), shown + "\n"], "{}", document);
            prop_assert_eq!(
                kinds,
                [
                    "Document", "Paragraph", "Table", "TableRow", "TableCell", "TableCell", "TableRow", "TableCell",
                    "TableCell", "List", "Item", "Paragraph"
                ],
                "{}", document
            );
        }
    }
}
