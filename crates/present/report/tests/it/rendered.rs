//! Markdown rendered as GitHub does.

use comrak::nodes::{NodeHtmlBlock, NodeValue};
use comrak::{Arena, Options, parse_document};

/// What a document consists of.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Shape {
    /// Tables by their rows and columns.
    pub(crate) tables: Vec<(usize, usize)>,
    pub(crate) headings: usize,
    /// Items of lists.
    pub(crate) items: usize,
    /// Blocks of code.
    pub(crate) blocks: usize,
}

fn options() -> Options<'static> {
    let mut options = Options::default();
    let e = &mut options.extension;
    e.table = true;
    e.autolink = true;
    e.strikethrough = true;
    e.tasklist = true;
    e.footnotes = true;
    e.alerts = true;
    e.math_dollars = true;
    e.math_code = true;
    // More than GitHub takes for an address.
    options.parse.relaxed_autolinks = true;
    options
}

/// Parses a document.
///
/// # Panics
/// If there is anything in it that heapwise does not write itself: elements, links, images, emphasis, mentions, tables
/// whose rows differ.
pub(crate) fn shape(markdown: &str) -> Shape {
    let arena = Arena::new();
    let root = parse_document(&arena, markdown, &options());
    let mut shape = Shape::default();
    for node in root.descendants() {
        match &node.data.borrow().value {
            NodeValue::HtmlBlock(NodeHtmlBlock { literal, .. }) => {
                let is_ours = |line: &str| {
                    const SUMMARIES: [&str; 2] = [
                        "<summary>Stacks of these places</summary>",
                        "<summary>Stacks of the places with most allocations</summary>",
                    ];
                    matches!(line, "<details>" | "</details>") || SUMMARIES.contains(&line)
                };
                assert!(literal.lines().all(is_ours), "{literal}\nin\n{markdown}");
            }
            NodeValue::Table(table) => shape.tables.push((0, table.num_columns)),
            NodeValue::TableRow(_) => {
                let (rows, columns) = shape.tables.last_mut().expect("rows are in tables");
                *rows += 1;
                assert_eq!(node.children().count(), *columns);
            }
            NodeValue::Heading(heading) => {
                assert!(!heading.setext);
                shape.headings += 1;
            }
            NodeValue::Item(_) => shape.items += 1,
            NodeValue::CodeBlock(_) => shape.blocks += 1,
            NodeValue::Text(text) => {
                // A mention needs a letter right after the `@`.
                let mut mentions = text.split('@').skip(1);
                assert!(
                    !mentions.any(|rest| rest.starts_with(char::is_alphanumeric)),
                    "{text} in\n{markdown}"
                );
                let mut issues = text.split('#').skip(1);
                assert!(!issues.any(|rest| rest.starts_with(|c: char| c.is_ascii_digit())), "{text}");
            }
            NodeValue::Document
            | NodeValue::Paragraph
            | NodeValue::List(_)
            | NodeValue::Code(_)
            | NodeValue::TableCell
            | NodeValue::Strong
            | NodeValue::Alert(_)
            | NodeValue::SoftBreak => {}
            other => panic!("{other:?} in\n{markdown}"),
        }
    }
    shape
}
