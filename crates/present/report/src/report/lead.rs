//! What a page begins with, so that it says first what a terminal says first.

use super::rows::Rows;
use super::standouts::Standout;
use super::{Subject, TextOptions, short, standouts};
use crate::style::Style;
use heapwise_analysis::Analysis;
use heapwise_diagnosis::Diagnosis;

/// The first words of a page on findings.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lead {
    /// Findings that save enough to begin with, by their places in the whole list.
    pub(crate) worth: Vec<usize>,
    /// What to say if none does, or there are none. It may be empty.
    pub(crate) nothing: String,
    /// Where to look if there are none.
    pub(crate) standouts: Vec<Standout>,
}

impl Lead {
    pub(crate) fn new(analysis: &Analysis, diagnosis: &Diagnosis) -> Self {
        let is_empty = diagnosis.findings.is_empty();
        let (options, style) = (TextOptions::default(), Style { color: false, width: 0 });
        // Findings have their places; only what stands out is sought among all.
        let rows = if is_empty { Rows::new(analysis, None) } else { Rows::default() };
        let subject = Subject { analysis, diagnosis, options: &options, style, rows };
        let together = short::only_together(&subject);
        // Of those none is worth it alone.
        let worth = if together.is_some() { Vec::new() } else { short::worth(&subject) };
        let nothing = match (is_empty, worth.is_empty()) {
            (true, _) => short::little_to_gain(&subject).unwrap_or_default(),
            (false, true) => together.unwrap_or_else(|| short::nothing(&subject)),
            (false, false) => String::new(),
        };
        let standouts = if is_empty { standouts::places(&subject) } else { Vec::new() };
        Self { worth, nothing, standouts }
    }
}
