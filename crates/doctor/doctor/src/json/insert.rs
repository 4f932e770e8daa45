//! Another item in an object or an array, in the style of the file.
//!
//! The item takes the line below the last one, at the same indentation, with a comma at its end if the last one has one; a
//! comment behind the last one stays where it is. If the items are all in one line, so is the new one.

use crate::edit::Change;
use crate::source::Source;
use jsonc_parser::ast::{Array, Object};
use jsonc_parser::common::Ranged;
use std::ops::Range;

/// A value to be written.
#[derive(Clone, Debug)]
pub(crate) enum New {
    /// A string without anything that has to be escaped.
    Text(&'static str),
    Object(Vec<(&'static str, New)>),
    Array(Vec<New>),
}

impl New {
    /// The value as text: on one line without a layout, otherwise each item is on a separate line.
    fn write(&self, layout: Option<(&str, &str, &str)>) -> String {
        let (open, close, items) = match self {
            Self::Text(text) => return format!("\"{text}\""),
            Self::Object(members) => {
                ("{", "}", members.iter().map(|(name, value)| (Some(*name), value)).collect::<Vec<_>>())
            }
            Self::Array(values) => ("[", "]", values.iter().map(|value| (None, value)).collect()),
        };
        let inner = layout.map(|(newline, unit, indent)| (newline, unit, format!("{indent}{unit}")));
        let inner = inner.as_ref().map(|(newline, unit, indent)| (*newline, *unit, indent.as_str()));
        let items: Vec<String> = items.iter().map(|(name, value)| item(*name, value, inner)).collect();
        match (layout, inner) {
            (Some((newline, _, outer)), Some((_, _, indent))) => {
                let items = items.join(&format!(",{newline}{indent}"));
                format!("{open}{newline}{indent}{items}{newline}{outer}{close}")
            }
            _ => format!("{open} {} {close}", items.join(", ")),
        }
    }
}

fn item(name: Option<&str>, value: &New, layout: Option<(&str, &str, &str)>) -> String {
    match name {
        Some(name) => format!("\"{name}\": {}", value.write(layout)),
        None => value.write(layout),
    }
}

/// An object or an array, as far as insertions need to know it.
#[derive(Clone, Debug)]
pub(crate) struct Container {
    /// From the opening to behind the closing bracket.
    range: Range<usize>,
    /// Its first and its last item.
    ends: Option<(Range<usize>, Range<usize>)>,
}

impl From<&Object<'_>> for Container {
    fn from(object: &Object<'_>) -> Self {
        Self { range: super::range(object), ends: ends(&object.properties) }
    }
}

impl From<&Array<'_>> for Container {
    fn from(array: &Array<'_>) -> Self {
        Self { range: super::range(array), ends: ends(&array.elements) }
    }
}

fn ends(items: &[impl Ranged]) -> Option<(Range<usize>, Range<usize>)> {
    Some((super::range(items.first()?), super::range(items.last()?)))
}

/// What adds an item behind the last one. Arrays have items without a name.
pub(crate) fn insert(
    source: &Source,
    container: &Container,
    name: Option<&'static str>,
    value: &New,
) -> Vec<Change> {
    let text = source.text();
    let inside = container.range.start + 1..container.range.end - 1;
    let newline = source.newline();
    let Some((first, last)) = &container.ends else {
        return insert_into_empty(source, inside, name, value);
    };
    let gap = Gap::read(text, last.end, inside.end);
    let is_multi_line = text[inside.start..first.start].contains('\n');
    if !is_multi_line {
        let item = item(name, value, None);
        return vec![match gap.comma {
            // What is in one line stays so, a comma behind the last item included.
            Some(comma) => Change::insert(comma + 1, format!(" {item},")),
            None => Change::insert(last.end, format!(", {item}")),
        }];
    }
    // The last item may share a line with others; then its line still has the right indentation.
    let (indent, _) = source.indentation(last.start);
    let unit = unit(source);
    // Elements of an array look alike: if the last one is on a single line, so is the new one.
    let is_line = name.is_none() && !text[last.clone()].contains('\n');
    let item = item(name, value, (!is_line).then_some((newline, unit, indent)));
    match gap.comma {
        Some(_) => vec![Change::insert(gap.end_of_line, format!("{newline}{indent}{item},"))],
        None => vec![
            Change::insert(last.end, ","),
            Change::insert(gap.end_of_line, format!("{newline}{indent}{item}")),
        ],
    }
}

fn insert_into_empty(
    source: &Source,
    inside: Range<usize>,
    name: Option<&'static str>,
    value: &New,
) -> Vec<Change> {
    let (text, newline, unit) = (source.text(), source.newline(), unit(source));
    let (outer, _) = source.indentation(inside.start - 1);
    let indent = format!("{outer}{unit}");
    let gap = Gap::read(text, inside.start, inside.end);
    // If other text follows on the same line, the insertion stays on that line.
    let behind = text[inside.end + 1..].trim_start_matches(',');
    let behind = behind.trim_start_matches(|c: char| c.is_whitespace() && !matches!(c, '\n' | '\r'));
    let goes_on = !behind.is_empty() && !behind.starts_with(['\n', '\r', '/']);
    let is_line = !text[inside.clone()].contains('\n') && (goes_on || !source.lines.has_several());
    if is_line {
        return vec![Change::insert(gap.end_of_comments, format!(" {} ", item(name, value, None)))];
    }
    let item = item(name, value, Some((newline, unit, &indent)));
    let rest = &text[gap.end_of_comments..inside.end];
    // The closing bracket gets a separate line, unless it has one already.
    let end = if rest.contains('\n') { String::new() } else { format!("{newline}{outer}") };
    vec![Change::insert(gap.end_of_comments, format!("{newline}{indent}{item}{end}"))]
}

/// What stands between the last item and the closing bracket: blanks, comments and at most one comma.
struct Gap {
    /// Where the comma is.
    comma: Option<usize>,
    /// Where a new line can be put: behind the item, its comma and the comments in the same line.
    end_of_line: usize,
    /// Behind the last comment.
    end_of_comments: usize,
}

impl Gap {
    fn read(text: &str, start: usize, end: usize) -> Self {
        let mut gap = Self { comma: None, end_of_line: start, end_of_comments: start };
        let mut is_same_line = true;
        let mut at = start;
        while let Some(c) = text[at..end].chars().next() {
            let rest = &text[at..end];
            if rest.starts_with("//") {
                // The end of the line is no part of the comment, and neither is its carriage return.
                let line = rest.split('\n').next().unwrap_or(rest);
                at += line.trim_end_matches('\r').len();
                gap.comment(at, is_same_line);
            } else if rest.starts_with("/*") {
                let comment = rest.find("*/").map_or(rest.len(), |close| close + 2);
                at += comment;
                gap.comment(at, is_same_line);
                is_same_line &= !rest[..comment].contains('\n');
            } else {
                if c == ',' {
                    gap.comma = Some(at);
                    // A comma on a separate line begins what counts as the line of the item.
                    gap.end_of_line = at + 1;
                    is_same_line = true;
                }
                is_same_line &= c != '\n';
                at += c.len_utf8();
            }
        }
        gap
    }

    fn comment(&mut self, end: usize, is_same_line: bool) {
        self.end_of_comments = end;
        if is_same_line {
            self.end_of_line = end;
        }
    }
}

/// One step of indentation: how much further in than its bracket the first thing is that begins a line.
fn unit(source: &Source) -> &str {
    source.unit.get_or_init(|| find_unit(source.text()))
}

/// Wider steps were not chosen by a person, and would be repeated in each change.
const WIDEST_STEP: usize = 16;

fn find_unit(text: &str) -> String {
    let mut outer = "";
    for line in text.lines() {
        let blank = line.trim_start_matches([' ', '\t']);
        let indent = &line[..line.len() - blank.len()];
        if blank.is_empty() || blank.starts_with("//") || blank.starts_with("/*") || blank.starts_with('*') {
            continue;
        }
        if let Some(step) = indent.strip_prefix(outer).filter(|step| (1..=WIDEST_STEP).contains(&step.len()))
        {
            return step.to_owned();
        }
        outer = indent;
    }
    "    ".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edit::Fix;
    use crate::places::Owner;

    fn with(text: &str) -> String {
        let source =
            Source::from_bytes("a".into(), Owner::Project, text.as_bytes().to_vec()).expect("is UTF-8");
        let value = super::super::parse(&source).expect("is JSON").expect("is not empty");
        let (container, name) = match &value {
            jsonc_parser::ast::Value::Object(object) => (Container::from(object), Some("n")),
            jsonc_parser::ast::Value::Array(array) => (Container::from(array), None),
            _ => panic!("neither an object nor an array"),
        };
        let changes = insert(&source, &container, name, &New::Object(vec![("K", New::Text("1"))]));
        let edit = Fix::new(&source, changes).and_then(|fix| fix.edit()).expect("is one");
        String::from_utf8(edit.after).expect("is UTF-8")
    }

    #[track_caller]
    fn check(before: &str, after: &str) {
        assert_eq!(with(before), after);
    }

    #[test]
    fn a_new_line_follows_the_last_one() {
        check("{\n  \"a\": 1\n}", "{\n  \"a\": 1,\n  \"n\": {\n    \"K\": \"1\"\n  }\n}");
        check("{\n\t\"a\": 1,\n}\n", "{\n\t\"a\": 1,\n\t\"n\": {\n\t\t\"K\": \"1\"\n\t},\n}\n");
        check("{\r\n \"a\": 1\r\n}", "{\r\n \"a\": 1,\r\n \"n\": {\r\n  \"K\": \"1\"\r\n }\r\n}");
        check("[\n  1\n]", "[\n  1,\n  { \"K\": \"1\" }\n]");
        check("[\n  {\n  }\n]", "[\n  {\n  },\n  {\n    \"K\": \"1\"\n  }\n]");
    }

    #[test]
    fn comments_stay_where_they_are() {
        check(
            "{\n  \"a\": 1 // one\n  // end\n}",
            "{\n  \"a\": 1, // one\n  \"n\": {\n    \"K\": \"1\"\n  }\n  // end\n}",
        );
        check(
            "{\n  \"a\": 1, /* , */ // x\r\n}",
            "{\n  \"a\": 1, /* , */ // x\n  \"n\": {\n    \"K\": \"1\"\n  },\r\n}",
        );
        check(
            "{\n  \"a\": 1 /* x\n y */ }",
            "{\n  \"a\": 1, /* x\n y */\n  \"n\": {\n    \"K\": \"1\"\n  } }",
        );
        check(
            "{\n  \"a\": 1\n  , // late\n}",
            "{\n  \"a\": 1\n  , // late\n  \"n\": {\n    \"K\": \"1\"\n  },\n}",
        );
    }

    #[test]
    fn one_line_stays_one_line() {
        check("{ \"a\": 1 }", "{ \"a\": 1, \"n\": { \"K\": \"1\" } }");
        check("{\"a\": 1,}", "{\"a\": 1, \"n\": { \"K\": \"1\" },}");
        check("[1]\n", "[1, { \"K\": \"1\" }]\n");
        check("{}", "{ \"n\": { \"K\": \"1\" } }");
    }

    #[test]
    fn what_is_empty_gets_lines_if_the_file_has_some() {
        check("{}\n", "{\n    \"n\": {\n        \"K\": \"1\"\n    }\n}\n");
        check("{\n}\n", "{\n    \"n\": {\n        \"K\": \"1\"\n    }\n}\n");
        check("{ // nothing\n}\n", "{ // nothing\n    \"n\": {\n        \"K\": \"1\"\n    }\n}\n");
    }
}
