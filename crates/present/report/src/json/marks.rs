//! The fields `memory.marks` and `spans`: the program's marks and spans.

use crate::schema::report::{Mark, MarkKind, Span};
use heapwise_analysis::{self as analysis, Analysis};

/// The single marks, by time.
pub(super) fn marks(analysis: &Analysis) -> Vec<Mark> {
    let pid_of = |index| analysis.processes.iter().find(|p| p.index == index).map(|p| p.pid);
    let moments = analysis.marks.moments().into_iter().map(|(kind, at, mark)| Mark {
        time_ns: at.time.0,
        process: pid_of(mark.process),
        thread: mark.thread.0,
        kind: match kind {
            analysis::MarkKind::Point => MarkKind::Point,
            analysis::MarkKind::Begin => MarkKind::Begin,
            analysis::MarkKind::End => MarkKind::End,
        },
        name: mark.name.to_string(),
        live_bytes: at.live.0,
        rss_bytes: at.rss.map(|rss| rss.0),
    });
    moments.collect()
}

/// The spans by their names.
pub(super) fn spans(analysis: &Analysis) -> Vec<Span> {
    let spans = analysis.marks.spans.iter().map(|span| Span {
        name: span.name.to_string(),
        count: span.count,
        total_ns: span.time.0,
        shortest_ns: span.shortest.0,
        longest_ns: span.longest.0,
        allocations: span.allocations,
        reallocations: span.reallocations,
        deallocations: span.deallocations,
        allocated_bytes: span.allocated_bytes.0,
        largest_growth_bytes: span.largest_growth_bytes,
        unended: span.unended,
        unbegun: span.unbegun,
    });
    spans.collect()
}
