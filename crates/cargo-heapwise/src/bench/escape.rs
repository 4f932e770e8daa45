//! Names of benchmarks as text that stays text, on a terminal and in Markdown.
//!
//! Whoever opens a pull request names its benchmarks, and the names appear in a comment. They go into code spans, in which Markdown
//! leaves everything alone but what ends them. The same is done in `heapwise-report` for names of functions; that crate carries the
//! whole analysis with it, of which this program needs nothing.

use std::borrow::Cow;

/// Has no width, and separates words.
const BREAK: char = '\u{200b}';
/// Backticks in a row that a name may have. Renderers give up on long fences and then see markup.
const MOST_BACKTICKS: usize = 4;

/// Replaces control characters, marks that turn the direction of text and what is not seen by what they are called.
pub(crate) fn escape(text: &str) -> Cow<'_, str> {
    let harmful = |c: char| {
        c.is_control()
            || matches!(
                c,
                '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}'
            )
    };
    if !text.contains(harmful) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if harmful(c) { out.extend(c.escape_default()) } else { out.push(c) }
    }
    Cow::Owned(out)
}

/// A name as a code span in a cell of a table, where a bar ends the cell even within a code span.
pub(crate) fn cell(text: &str) -> String {
    let text = without_long_fences(&escape(text));
    if text.is_empty() {
        return "–".to_owned();
    }
    let fence = "`".repeat(text.split(|c| c != '`').map(str::len).max().unwrap_or(0) + 1);
    let text = bars(&text);
    // A renderer takes one space off both ends if there is one at both, and something else in between.
    let touches = |c: Option<char>| matches!(c, Some('`' | ' '));
    let is_blank = text.chars().all(|c| c == ' ');
    let is_touched = touches(text.chars().next()) || touches(text.chars().next_back());
    let pad = if is_touched && !is_blank { " " } else { "" };
    format!("{fence}{pad}{text}{pad}{fence}")
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

#[cfg(test)]
mod tests {
    use super::*;
    use comrak::nodes::NodeValue;
    use comrak::{Arena, Options, parse_document};
    use proptest::prelude::*;

    #[test]
    fn control_characters_are_spelled_out() {
        assert_eq!(escape("plain ünïcode"), "plain ünïcode");
        assert_eq!(escape("a\x1b[31mb\r\n"), "a\\u{1b}[31mb\\r\\n");
        assert_eq!(escape("\u{202e}txt"), "\\u{202e}txt");
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 1000, ..ProptestConfig::default() })]
        #[test]
        fn whatever_a_name_is_it_stays_the_same_text(
            name in "([|`\\\\<>@#$&;:/.*_~^=!(){}\\[\\] \n\t+-]|[a-z1]|http://|www\\.|</?b>|&lt;|\\\\\\|){1,30}"
        ) {
            let document = format!("| {0} | second |\n|---|---|\n| {0} | x |\n", cell(&name));
            let mut options = Options::default();
            let e = &mut options.extension;
            (e.table, e.autolink, e.strikethrough, e.footnotes, e.tasklist) = (true, true, true, true, true);
            (e.alerts, e.math_dollars, e.math_code) = (true, true, true);
            let arena = Arena::new();
            let (mut code, mut cells) = (Vec::new(), 0);
            for node in parse_document(&arena, &document, &options).descendants() {
                match &node.data.borrow().value {
                    NodeValue::Code(span) => code.push(span.literal.replace(BREAK, "")),
                    NodeValue::TableCell => cells += 1,
                    NodeValue::Document | NodeValue::Table(_) | NodeValue::TableRow(_) | NodeValue::Text(_) => {}
                    other => prop_assert!(false, "{other:?} in {document}"),
                }
            }
            let shown = escape(&name).into_owned();
            prop_assert_eq!(code, [shown.clone(), shown], "{}", document);
            prop_assert_eq!(cells, 4, "{}", document);
        }
    }
}
