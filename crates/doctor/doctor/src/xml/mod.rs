//! XML as editors write it: where things are in it, and another child in the style of the file.

use crate::edit::Change;
use crate::source::{Refused, Source};
use roxmltree::{Document, Error, Node, ParsingOptions};
use std::ops::Range;

/// Reads a file. Documents with a type definition are refused: entities are not followed.
pub(crate) fn parse(source: &Source) -> Result<Document<'_>, Refused> {
    if let Some(at) = crowd(source.text()) {
        let why = format!("has more than {MOST} attributes in one element, or definitions of namespaces");
        return Err(Refused::at(source, at, why));
    }
    // Schemes and run configurations have some thousand elements at most.
    let options = ParsingOptions { allow_dtd: false, nodes_limit: 1_000_000, ..ParsingOptions::default() };
    Document::parse_with_options(source.text(), options).map_err(|error| {
        let why = match error {
            Error::DtdDetected => "has a document type definition, which is not read".to_owned(),
            _ => format!("is not XML: {error}"),
        };
        let pos = error.pos();
        let at = byte_at(source.text(), pos.row as usize, pos.col as usize);
        Refused::at(source, at, why)
    })
}

/// Attributes of one element, and namespaces of a document: real files have some ten.
const MOST: usize = 256;

/// Where there are more of them than [`MOST`]. The parser compares each with each, so that half a megabyte of attributes would take
/// minutes.
fn crowd(text: &str) -> Option<usize> {
    // What may hold anything, and how it ends.
    const OTHERS: &[(&str, &str)] = &[("<!--", "-->"), ("<![CDATA[", "]]>"), ("<?", "?>")];
    let (mut at, mut namespaces) = (0, 0);
    while let Some(open) = text[at..].find('<') {
        at += open;
        let rest = &text[at..];
        if let Some((start, end)) = OTHERS.iter().find(|(start, _)| rest.starts_with(start)) {
            at += rest[start.len()..].find(end).map_or(rest.len(), |n| start.len() + n + end.len());
            continue;
        }
        let (mut quote, mut values, mut length) = (None, 0, rest.len());
        for (n, byte) in rest.bytes().enumerate() {
            match quote {
                Some(open) if byte == open => quote = None,
                Some(_) => {}
                None if matches!(byte, b'"' | b'\'') => {
                    quote = Some(byte);
                    values += 1;
                }
                None if byte == b'>' => {
                    length = n + 1;
                    break;
                }
                None => {}
            }
        }
        namespaces += rest[..length].matches("xmlns").count();
        if values > MOST || namespaces > MOST {
            return Some(at);
        }
        at += length;
    }
    None
}

/// The byte at a row and a column in characters, both counted from one.
fn byte_at(text: &str, row: usize, column: usize) -> usize {
    let start = text.split_inclusive('\n').take(row.saturating_sub(1)).map(str::len).sum::<usize>();
    let line = &text[start.min(text.len())..];
    start + line.char_indices().nth(column.saturating_sub(1)).map_or(line.len(), |(at, _)| at)
}

/// The children of an element with this name.
pub(crate) fn children<'a, 'i>(node: Node<'a, 'i>, name: &'static str) -> impl Iterator<Item = Node<'a, 'i>> {
    node.children().filter(move |child| child.is_element() && child.tag_name().name() == name)
}

/// The first child of an element with this name.
pub(crate) fn child<'a, 'i>(node: Node<'a, 'i>, name: &'static str) -> Option<Node<'a, 'i>> {
    children(node, name).next()
}

/// What replaces the value of an attribute. There is nothing if its place is not certain.
pub(crate) fn set_attribute(text: &str, node: Node<'_, '_>, name: &str, value: &str) -> Option<Change> {
    let range = node.attribute_node(name)?.range_value();
    // The parser counts blanks around the equals sign in few bits.
    let quote = text.get(..range.start)?.chars().next_back()?;
    let is_whole = matches!(quote, '"' | '\'')
        && text.get(range.clone()).is_some_and(|old| !old.contains(['"', '<']))
        && text.get(range.end..)?.starts_with(quote);
    is_whole.then(|| Change::replace(range, value))
}

/// The change that adds an element as the last child of another one, on a separate line with the right indentation.
pub(crate) fn insert(
    source: &Source,
    parent: Node<'_, '_>,
    element: impl Fn(&Layout<'_>) -> String,
) -> Option<Change> {
    let (text, newline) = (source.text(), source.newline());
    let range = parent.range();
    let (outer, _) = source.indentation(range.start);
    let unit = unit(source, parent);
    let indent = format!("{outer}{unit}");
    let layout = Layout { newline, unit: &unit, indent: &indent };
    let element = element(&layout);
    let own = &text[range.clone()];
    if let Some(open) = own.strip_suffix("/>") {
        // `<envs />` becomes `<envs>…</envs>`, and the blank in front of the slash goes.
        let open = range.start + open.trim_end().len();
        let name = tag(own)?;
        return Some(Change::replace(
            open..range.end,
            format!(">{newline}{indent}{element}{newline}{outer}</{name}>"),
        ));
    }
    let close = range.start + own.rfind("</")?;
    match parent.last_element_child() {
        Some(last) => {
            let (indent, _) = source.indentation(last.range().start);
            Some(Change::insert(last.range().end, format!("{newline}{indent}{element}")))
        }
        // After text and comments, with the closing tag on a separate line.
        None if text[..close].trim_end_matches([' ', '\t']).ends_with('\n') => {
            let at = text[..close].trim_end_matches([' ', '\t']).len();
            Some(Change::insert(at, format!("{indent}{element}{newline}")))
        }
        None => Some(Change::insert(close, format!("{newline}{indent}{element}{newline}{outer}"))),
    }
}

/// How the file is laid out at the place of a new element.
#[derive(Debug)]
pub(crate) struct Layout<'a> {
    /// What ends lines.
    pub(crate) newline: &'a str,
    /// One step of indentation.
    pub(crate) unit: &'a str,
    /// What the new element's line begins with.
    pub(crate) indent: &'a str,
}

/// The name in a tag, with its prefix.
fn tag(element: &str) -> Option<&str> {
    let name = element.strip_prefix('<')?;
    Some(&name[..name.find(|c: char| c.is_ascii_whitespace() || c == '/' || c == '>')?])
}

/// One step of indentation: how much further in an element is than its parent.
fn unit(source: &Source, near: Node<'_, '_>) -> String {
    // Real files are not nested deeper.
    const DEEPEST: usize = 64;
    let step = |node: Node<'_, '_>| {
        let (outer, _) = source.indentation(node.range().start);
        let first = node.first_element_child()?;
        let (inner, begins_line) = source.indentation(first.range().start);
        let step = inner.strip_prefix(outer).filter(|step| begins_line && !step.is_empty())?;
        Some(step.to_owned())
    };
    near.ancestors()
        .take(DEEPEST)
        .filter(|node| node.is_element())
        .find_map(step)
        .unwrap_or_else(|| "  ".to_owned())
}

/// Where the text of an element is.
pub(crate) fn text_range(text: &str, node: Node<'_, '_>) -> Option<Range<usize>> {
    let range = node.range();
    let own = &text[range.clone()];
    let open = node.first_child()?.range().start;
    let close = range.start + own.rfind("</")?;
    (open <= close).then_some(open..close)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edit::Fix;
    use crate::places::Owner;

    fn source(text: &str) -> Source {
        Source::from_bytes("a".into(), Owner::Project, text.as_bytes().to_vec()).expect("is UTF-8")
    }

    #[track_caller]
    fn check(before: &str, after: &str) {
        let source = source(before);
        let document = parse(&source).expect("is XML");
        let parent = document.descendants().find(|n| n.has_tag_name("p")).expect("has a parent");
        let change = insert(&source, parent, |_| "<new/>".to_owned()).expect("can be done");
        let edit = Fix::new(&source, vec![change]).and_then(|fix| fix.edit()).expect("is one");
        assert_eq!(String::from_utf8(edit.after).expect("is UTF-8"), after);
    }

    #[test]
    fn a_child_is_added_in_the_style_of_the_file() {
        check("<a>\n  <p />\n</a>", "<a>\n  <p>\n    <new/>\n  </p>\n</a>");
        check("<a>\r\n\t<p x=\"1\"/>\r\n</a>", "<a>\r\n\t<p x=\"1\">\r\n\t\t<new/>\r\n\t</p>\r\n</a>");
        check(
            "<a>\n <p>\n  <q/> <!-- q -->\n </p>\n</a>",
            "<a>\n <p>\n  <q/>\n  <new/> <!-- q -->\n </p>\n</a>",
        );
        check("<a>\n <p></p>\n</a>", "<a>\n <p>\n  <new/>\n </p>\n</a>");
        check("<a>\n <p>\n  <!-- none -->\n </p>\n</a>", "<a>\n <p>\n  <!-- none -->\n  <new/>\n </p>\n</a>");
    }

    #[test]
    fn what_is_wrong_has_a_place() {
        let refused = parse(&source("<a>\n  <b></c>\n</a>")).expect_err("the tags do not match");
        assert_eq!((refused.line, refused.column), (Some(2), Some(6)), "{refused:?}");
        let refused =
            parse(&source("<!DOCTYPE a [<!ENTITY x \"y\">]>\n<a>&x;</a>")).expect_err("has a definition");
        assert!(refused.why.contains("document type"), "{refused:?}");
    }

    #[test]
    fn deep_nesting_is_no_danger() {
        let deep = "<a>".repeat(500_000);
        assert!(parse(&source(&deep)).is_err());
        let closed = format!("{}{}", "<a>".repeat(100_000), "</a>".repeat(100_000));
        let _ = parse(&source(&closed));
    }

    #[test]
    fn what_the_parser_takes_too_long_for_is_refused() {
        let attributes = |n: usize| (0..n).map(|n| format!(" a{n}='>'")).collect::<String>();
        let namespaces = |n: usize| (0..n).map(|n| format!("<a xmlns:n{n}=\"x\">")).collect::<String>();
        let fine = format!(
            "<!-- <x{} --><a{}><![CDATA[{}]]></a>",
            attributes(999),
            attributes(MOST),
            "'".repeat(999)
        );
        assert!(parse(&source(&fine)).is_ok());
        for (text, place) in [
            (format!("<a>\n<b{}/></a>", attributes(MOST + 1)), (2, 1)),
            (namespaces(60_000), (1, 4499)),
            (format!("<a{}", attributes(60_000)), (1, 1)),
        ] {
            let refused = parse(&source(&text)).expect_err("there are too many");
            assert!(refused.why.contains("256"), "{refused:?}");
            assert_eq!((refused.line, refused.column), (Some(place.0), Some(place.1)));
        }
    }

    #[test]
    fn an_attribute_is_replaced_whatever_its_quotes() {
        let text = "<p a = 'old' b=\"x\"/>";
        let source = source(text);
        let document = parse(&source).expect("is XML");
        let change = set_attribute(text, document.root_element(), "a", "new").expect("is certain");
        assert_eq!(&text[change.range], "old");
    }
}
