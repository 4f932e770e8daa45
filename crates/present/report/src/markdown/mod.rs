//! The report as Markdown, for a comment on a pull request or a page of a wiki.
//!
//! In the order of the text report: what ran, what could not be seen, what to change, what memory consists of, and then
//! the places. What is long is folded. Nothing from the recorded program is markup; see [`escape`].

pub(crate) mod head;
mod insights;
mod marks;
mod memory;
pub(crate) mod places;
pub(crate) mod table;

pub(crate) use crate::escape::markdown as escape;

use crate::text::TextOptions;
use crate::text::rows::Rows;
use heapwise_analysis::Analysis;
use heapwise_diagnosis::Diagnosis;

/// What may be chosen about the Markdown.
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

impl MarkdownOptions {
    /// The same for the parts that are shared with the text report.
    pub(crate) fn as_text(&self) -> TextOptions {
        TextOptions { top: self.top, folder: self.folder.clone(), ..TextOptions::default() }
    }
}

/// The report as Markdown.
pub fn markdown(analysis: &Analysis, diagnosis: &Diagnosis, options: &MarkdownOptions) -> String {
    let mut out = String::new();
    head::command(&mut out, analysis);
    head::caveats(&mut out, analysis);
    if analysis.totals.calls() + analysis.totals.failed_allocations == 0 {
        out.push_str("\n**No allocation was seen.**\n");
        return out;
    }
    head::totals(&mut out, analysis);
    insights::insights(&mut out, diagnosis, options.top);
    memory::memory(&mut out, analysis, diagnosis);
    marks::spans(&mut out, analysis, options.top);
    let text = options.as_text();
    let rows = Rows::new(analysis, &text);
    places::places(&mut out, analysis, &rows, &text);
    places::stacks(&mut out, analysis, &rows, &text);
    out
}
