//! Which findings are about which lines.

use heapwise_analysis::Analysis;
use heapwise_diagnosis::{Diagnosis, Finding};
use std::collections::HashMap;

/// Findings by the lines that they are about.
#[derive(Debug, Default)]
pub(super) struct FindingsByLine<'a> {
    /// By path and line; those of a whole file are at the line 0. The numbers are places in the list of all findings.
    by_line: HashMap<(&'a str, u32), Vec<usize>>,
}

impl<'a> FindingsByLine<'a> {
    /// A finding is about the lines that are the places of its sites.
    pub(super) fn new(analysis: &'a Analysis, diagnosis: &Diagnosis) -> Self {
        let mut all = Self::default();
        for (number, finding) in diagnosis.findings.iter().enumerate() {
            for (path, line) in lines_of(analysis, finding) {
                for line in [0, line] {
                    let there = all.by_line.entry((path, line)).or_default();
                    if there.last() != Some(&number) {
                        there.push(number);
                    }
                }
            }
        }
        all
    }

    pub(super) fn of_line<'s>(&'s self, path: &'s str, line: u32) -> &'s [usize] {
        self.by_line.get(&(path, line)).map_or(&[], Vec::as_slice)
    }

    pub(super) fn of_file<'s>(&'s self, path: &'s str) -> &'s [usize] {
        self.of_line(path, 0)
    }
}

/// The lines that a finding is about.
pub(crate) fn lines_of<'a>(
    analysis: &'a Analysis,
    finding: &Finding,
) -> impl Iterator<Item = (&'a str, u32)> {
    finding.site.iter().chain(&finding.sites).filter_map(|id| {
        let site = analysis.sites().get(id.0 as usize)?;
        let place = site.user_frame?;
        let frame = analysis.innermost(site, place + 1).get(place).copied()?;
        Some((frame.file?, frame.line.filter(|line| *line > 0)?))
    })
}
