//! The report for people.
//!
//! In the order in which a newcomer needs it: what ran, what could not be seen, what it adds up to, where to look
//! first, how it went over time, and then the tables.

mod accounting;
mod chart;
pub(crate) mod head;
mod insights;
pub(crate) mod marks;
pub(crate) mod page;
pub(crate) mod rows;
mod tables;
mod tasks;

use crate::source::SourceLines;
use crate::style::Style;
use heapwise_analysis::Analysis;
use heapwise_diagnosis::Diagnosis;
use page::Page;

/// What may be chosen about the text.
#[derive(Clone, Debug)]
pub struct TextOptions {
    /// Rows of each table.
    pub top: usize,
    /// Whether to print the whole stack under each row.
    pub stacks: bool,
    /// Whether the chart must do without characters beyond ASCII.
    pub ascii: bool,
    /// The folder to which source paths are shown relative, as an absolute path.
    pub folder: Option<String>,
    /// Where lines of source files come from.
    pub source: SourceLines,
}

impl Default for TextOptions {
    fn default() -> Self {
        Self { top: 10, stacks: false, ascii: false, folder: None, source: SourceLines::default() }
    }
}

/// The report as text of several lines.
pub fn text(analysis: &Analysis, diagnosis: &Diagnosis, options: &TextOptions, style: Style) -> String {
    let mut page = Page::new(style);
    head::command(&mut page, analysis);
    head::caveats(&mut page, analysis);
    if analysis.totals.calls() + analysis.totals.failed_allocations == 0 {
        head::nothing(&mut page, analysis);
        return page.finish();
    }
    head::totals(&mut page, analysis);
    let rows = rows::Rows::new(analysis, options);
    if !insights::look_first(&mut page, analysis, &diagnosis.insights, options) {
        tables::first_look(&mut page, analysis, &rows);
    }
    chart::over_time(&mut page, analysis, options.ascii);
    marks::marks(&mut page, analysis, options.top);
    accounting::accounts(&mut page, analysis, diagnosis, &rows);
    tables::sites(&mut page, analysis, options, &rows);
    tasks::processes(&mut page, analysis, options.top);
    tasks::threads(&mut page, analysis, options.top);
    page.finish()
}
