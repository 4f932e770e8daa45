//! The report on a terminal by default: a screen and a half with what matters most. `--full` has all of it.

use super::places::{self, TABLES};
use super::{Subject, counted, findings};
use crate::document::{Block, Mark, Section, Words};
use heapwise_analysis::Measure;

/// So many findings are shown, each in full.
pub(super) const FINDINGS: usize = 3;
/// So many places.
pub(super) const PLACES: usize = 5;
/// Where allocating takes at least one part in so many of the run, what allocates is shown, and else what holds memory.
const WORTH_TIME: u64 = 50;

/// The most rewarding findings.
pub(super) fn first_findings(subject: &Subject<'_>) -> Vec<Section> {
    findings::some(subject, FINDINGS)
}

/// The places that cost most.
pub(super) fn first_places(subject: &Subject<'_>) -> Vec<Section> {
    let measure = if is_about_time(subject) { Measure::Allocations } else { Measure::PeakBytes };
    let ranking = TABLES.iter().find(|ranking| ranking.measure == measure);
    ranking.and_then(|ranking| places::some(subject, ranking, PLACES)).into_iter().collect()
}

/// Whether calls of the allocator take enough time to be what a reader looks at first. Where it was not measured, counts are all
/// that there is.
fn is_about_time(subject: &Subject<'_>) -> bool {
    let spent = subject.analysis.allocator_time().filter(|time| time.samples > 0);
    spent.is_none_or(|spent| spent.time.0.saturating_mul(WORTH_TIME) >= subject.analysis.duration.0)
}

/// What is left out.
pub(super) fn more(subject: &Subject<'_>) -> Vec<Section> {
    let hidden = subject.diagnosis.insights.len().saturating_sub(FINDINGS) as u64;
    let findings = (hidden > 0).then(|| counted(hidden, "more finding", "more findings"));
    let rest = "memory over time, all tables of places, threads";
    let list = findings.into_iter().chain([rest.to_owned()]).collect::<Vec<_>>().join(", ");
    let text = Words::faint(format!("heapwise report --full has the rest: {list}"));
    vec![Section::untitled([Block::line(Mark::Plain, text)])]
}
