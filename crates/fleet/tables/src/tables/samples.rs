//! Memory over time.

use super::RECORDING;
use crate::column::{Column, Kind};
use crate::rows::Rows;
use crate::source::Source;
use crate::table::Table;
use heapwise_analysis::{Analysis, Breakdown, Bytes};

/// Points of a recording.
const MOST_POINTS: usize = 2000;

pub(super) static TABLE: Table = Table {
    name: "samples",
    about: "memory over time: 2,000 spans of equal length at most for each recording",
    columns: &[
        RECORDING,
        Column::new("time_ns", Kind::Integer, "where the span begins, since the start, in nanoseconds"),
        Column::new("live_bytes", Kind::Integer, "the most live bytes in the span"),
        Column::optional(
            "rss_bytes",
            Kind::Integer,
            "the most resident bytes in the span, if they were measured",
        ),
        Column::optional(
            "fragmentation_bytes",
            Kind::Integer,
            "internal and external fragmentation and free pages of the largest process, where its pages were looked at in the span: at its \
             peak, at its end, and at snapshots",
        ),
    ],
    is_sparse: false,
    fill,
};

fn fill(source: &Source<'_>, rows: &mut Rows) {
    let samples = source.analysis.memory.samples(MOST_POINTS);
    let mut fragmentation = vec![None; samples.len()];
    for look in looks(source.analysis) {
        let before = samples.partition_point(|sample| sample.time <= look.time);
        if let Some(of_span) = before.checked_sub(1).and_then(|span| fragmentation.get_mut(span)) {
            *of_span = (*of_span).max(Some(fragmented(look)));
        }
    }
    for (sample, fragmentation) in samples.iter().zip(fragmentation) {
        rows.add([
            source.recording.into(),
            sample.time.into(),
            sample.live.into(),
            sample.rss.into(),
            fragmentation.into(),
        ]);
    }
}

/// Whenever pages were looked at.
fn looks(analysis: &Analysis) -> impl Iterator<Item = &Breakdown> {
    let accounting = &analysis.accounting;
    accounting.at_peak.iter().chain(&accounting.at_end).chain(&accounting.snapshots)
}

fn fragmented(look: &Breakdown) -> Bytes {
    let parts = [look.internal_fragmentation, look.external_fragmentation, look.free_pages];
    Bytes(parts.into_iter().fold(0, |sum, part| sum.saturating_add(part.0)))
}
