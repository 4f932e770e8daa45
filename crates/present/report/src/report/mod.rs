//! The report of a recording as a document, in the order in which a newcomer needs it: what ran, what was not recorded, the
//! totals, where to start, memory over time, and then the tables.
//!
//! A part of it is a file with a function that makes a section, and a line in [`SECTIONS`].

pub(crate) mod allocators;
mod course;
mod findings;
mod head;
mod inside;
mod lead;
mod marks;
mod places;
pub(crate) mod resident;
pub(crate) mod rows;
mod short;
mod standouts;
mod tasks;
#[cfg(target_os = "linux")]
pub(crate) mod together;
pub(crate) mod totals;
pub(crate) mod warnings;

pub use head::command_line;
pub(crate) use head::{allocator_names, command_of, ending};
pub(crate) use lead::Lead;
pub use rows::{function_of, place_of};
pub(crate) use standouts::{ONLY_RECORDED, Standout};

use crate::document::{self, Document, Role, Section, Words};
use crate::source::SourceLines;
use crate::style::Style;
use heapwise_analysis::Analysis;
use heapwise_diagnosis::Diagnosis;
use rows::Rows;

/// The options of the text.
#[derive(Clone, Debug)]
pub struct TextOptions {
    /// Rows of each table.
    pub top: usize,
    /// Whether all of it is printed, or what matters most.
    pub full: bool,
    /// Whether to print the whole stack under each row.
    pub stacks: bool,
    /// Whether the chart must use ASCII characters only.
    pub ascii: bool,
    /// The folder to which source paths are shown relative, as an absolute path.
    pub folder: Option<String>,
    /// Where lines of source files come from.
    pub source: SourceLines,
}

impl Default for TextOptions {
    fn default() -> Self {
        Self {
            top: 10,
            full: true,
            stacks: false,
            ascii: false,
            folder: None,
            source: SourceLines::default(),
        }
    }
}

/// The options of the Markdown.
#[derive(Clone, Debug)]
pub struct MarkdownOptions {
    /// Rows of each table.
    pub top: usize,
    /// The folder to which source paths are shown relative, as an absolute path.
    pub folder: Option<String>,
}

impl Default for MarkdownOptions {
    fn default() -> Self {
        Self { top: 10, folder: None }
    }
}

/// The report as text of several lines.
pub fn text(analysis: &Analysis, diagnosis: &Diagnosis, options: &TextOptions, style: Style) -> String {
    document::terminal(&document(analysis, diagnosis, options, style), style)
}

/// The report as Markdown, for a comment on a pull request or a page of a wiki.
pub fn markdown(analysis: &Analysis, diagnosis: &Diagnosis, options: &MarkdownOptions) -> String {
    let options = TextOptions { top: options.top, folder: options.folder.clone(), ..TextOptions::default() };
    let style = Style { color: false, width: 0 };
    document::markdown(&document(analysis, diagnosis, &options, style))
}

/// The data for sections.
struct Subject<'a> {
    analysis: &'a Analysis,
    diagnosis: &'a Diagnosis,
    options: &'a TextOptions,
    style: Style,
    rows: Rows,
}

impl Subject<'_> {
    fn folder(&self) -> Option<&str> {
        self.options.folder.as_deref()
    }
}

/// A part of the report: zero or more sections.
type Part = fn(&Subject<'_>) -> Vec<Section>;

/// The parts before all numbers.
const BEFORE: [Part; 3] = [
    head::sections,
    |subject| warnings::not_seen(subject.analysis, subject.diagnosis),
    |subject| warnings::warnings(subject.analysis),
];

/// The parts of a report of a program that allocates.
const SECTIONS: [Part; 11] = [
    totals::sections,
    findings::sections,
    standouts::sections,
    course::sections,
    marks::marks,
    marks::spans,
    resident::sections,
    allocators::sections,
    inside::tables,
    places::stacks,
    tasks::sections,
];

/// What matters most of it, for a terminal.
const SHORT: [Part; 9] = [
    totals::sections,
    short::first_findings,
    standouts::in_short,
    // The program itself has chosen these.
    marks::marks,
    marks::spans,
    resident::sections,
    allocators::sections,
    short::first_places,
    short::more,
];

fn document(analysis: &Analysis, diagnosis: &Diagnosis, options: &TextOptions, style: Style) -> Document {
    let rows = Rows::new(analysis, options.folder.as_deref());
    let subject = Subject { analysis, diagnosis, options, style, rows };
    let is_empty = analysis.totals.calls() + analysis.totals.failed_allocations == 0;
    let parts: &[Part] = match options.full {
        _ if is_empty => &[warnings::nothing],
        true => &SECTIONS,
        false => &SHORT,
    };
    Document {
        title: Words::own("heapwise: ").and(Role::Name, command_of(analysis)),
        sections: BEFORE.iter().chain(parts).flat_map(|part| part(&subject)).collect(),
        ..Document::default()
    }
}

/// How many are not shown, with their noun: `and 3 more places`.
pub(crate) fn rest(all: usize, shown: usize, one: &str, many: &str) -> Option<String> {
    let more = all.checked_sub(shown).filter(|n| *n > 0)?;
    Some(format!("and {}", counted(more as u64, &format!("more {one}"), &format!("more {many}"))))
}

/// A count with its noun: `1 thread`, `2 threads`.
pub(crate) fn counted(n: u64, one: &str, many: &str) -> String {
    format!("{} {}", crate::units::count(n), if n == 1 { one } else { many })
}
