//! The texts of the files that allocate most, and of those with findings. What their lines allocate the page adds up itself, of the
//! same stacks as the flame graph.

use super::sources::shown;
use super::strings::Strings;
use crate::annotate::{lines_of, regions, text_of};
use crate::source::{Absence, Sources};
use heapwise_analysis::Analysis;
use heapwise_analysis::owner::Owner;
use heapwise_diagnosis::{Diagnosis, FileCosts, costs_by_file};
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::ops::RangeInclusive;

/// Files that are in the page.
const MOST_FILES: usize = 20;
/// Lines of each that are in it.
const MOST_LINES: usize = 2_000;
/// Lines before and after each one that allocates.
const AROUND: u32 = 8;

/// The texts.
#[derive(Debug, Default, Serialize)]
pub(super) struct Lines {
    files: Vec<File>,
    /// Files that allocate and are not among these.
    left_out: usize,
}

#[derive(Debug, Serialize)]
struct File {
    /// Its path, as the frames have it.
    file: u32,
    /// Why it has no text; empty if it has.
    absent: &'static str,
    /// The number of its lines; 0 without a text.
    length: usize,
    /// The number of the first line of each part, and its lines.
    parts: Vec<(u32, Vec<String>)>,
}

impl Lines {
    /// Texts of the files with findings, then of those that allocate most.
    pub(super) fn new(
        analysis: &Analysis,
        diagnosis: &Diagnosis,
        sources: Option<&dyn Sources>,
        strings: &mut Strings,
    ) -> Self {
        let files = costs_by_file(analysis);
        let found = diagnosis.findings.iter().flat_map(|finding| lines_of(analysis, finding));
        let found: BTreeSet<&str> = found.map(|(path, _)| path).collect();
        let is_worth = |file: &&FileCosts<'_>| {
            found.contains(file.path)
                || !file.own.is_nothing() && matches!(file.owner, Owner::User | Owner::Dependency)
        };
        let mut worth: Vec<&FileCosts<'_>> = files.iter().filter(is_worth).collect();
        // Stable: among these, the ones with the most stay first.
        worth.sort_by_key(|file| !found.contains(file.path));
        let left_out = worth.len().saturating_sub(MOST_FILES);
        worth.truncate(MOST_FILES);
        let files = worth.into_iter().map(|costs| file(analysis, costs, sources, strings)).collect();
        Self { files, left_out }
    }

    /// Numbers of the paths whose texts are in the page.
    pub(super) fn shown(&self) -> impl Iterator<Item = u32> {
        self.files.iter().filter(|file| !file.parts.is_empty()).map(|file| file.file)
    }
}

fn file(
    analysis: &Analysis,
    costs: &FileCosts<'_>,
    sources: Option<&dyn Sources>,
    strings: &mut Strings,
) -> File {
    let program = costs.module.map(|module| module.path.as_str());
    let found = sources.map_or(Err(Absence::Unwanted), |sources| sources.find(costs.path, program));
    let file = strings.number(costs.path);
    match text_of(costs, found.as_ref().map_err(|why| *why)) {
        Err(why) => File { file, absent: why.in_words().0, length: 0, parts: Vec::new() },
        Ok(lines) => {
            let part = |range: RangeInclusive<u32>| {
                let of = *range.start() as usize - 1..*range.end() as usize;
                (*range.start(), lines[of].iter().map(|line| shown(line)).collect())
            };
            let parts = parts(analysis, costs, lines.len()).into_iter().map(part).collect();
            File { file, absent: "", length: lines.len(), parts }
        }
    }
}

/// The parts around all lines that allocate; if these are too many, around those that allocate most.
fn parts(analysis: &Analysis, costs: &FileCosts<'_>, length: usize) -> Vec<RangeInclusive<u32>> {
    let last = u32::try_from(length).unwrap_or(u32::MAX);
    let mut lines: Vec<_> = costs.lines.iter().filter(|line| !line.whole.is_nothing()).collect();
    let around = |numbers: &[u32]| regions(numbers.iter().copied(), AROUND, last);
    let all = around(&lines.iter().map(|line| line.number).collect::<Vec<_>>());
    if all.iter().map(|range| range.clone().count()).sum::<usize>() <= MOST_LINES {
        return all;
    }
    let share = |line: &heapwise_analysis::LineSums<'_, heapwise_diagnosis::Costs>| {
        let part = |share: f64| (share * 1e9) as u64;
        Reverse((part(line.own.share(analysis)), part(line.whole.share(analysis))))
    };
    lines.sort_by_key(|line| (share(line), line.number));
    lines.truncate(MOST_LINES / (2 * AROUND as usize + 1));
    let mut numbers: Vec<u32> = lines.iter().map(|line| line.number).collect();
    numbers.sort_unstable();
    around(&numbers)
}
