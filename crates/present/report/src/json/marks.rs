//! The fields `memory.marks` and `spans`: what the program said of itself.

use heapwise_analysis::{Analysis, MarkKind};
use serde::Serialize;

#[derive(Serialize)]
pub(super) struct JsonMark<'a> {
    time_ns: u64,
    process: Option<u32>,
    thread: u32,
    kind: &'static str,
    name: &'a str,
    live_bytes: u64,
    rss_bytes: Option<u64>,
}

#[derive(Serialize)]
pub(super) struct JsonSpan<'a> {
    name: &'a str,
    count: u64,
    total_ns: u64,
    shortest_ns: u64,
    longest_ns: u64,
    allocations: u64,
    reallocations: u64,
    deallocations: u64,
    allocated_bytes: u64,
    largest_growth_bytes: i64,
    unended: u64,
    unbegun: u64,
}

/// What a kind is called.
fn kind(kind: MarkKind) -> &'static str {
    match kind {
        MarkKind::Point => "point",
        MarkKind::Begin => "begin",
        MarkKind::End => "end",
    }
}

/// The single marks, by time.
pub(super) fn marks(analysis: &Analysis) -> Vec<JsonMark<'_>> {
    let pid_of = |index| analysis.processes.iter().find(|p| p.index == index).map(|p| p.pid);
    let moments = analysis.marks.moments().into_iter().map(|(what, at, mark)| JsonMark {
        time_ns: at.time.0,
        process: pid_of(mark.process),
        thread: mark.thread.0,
        kind: kind(what),
        name: &mark.name,
        live_bytes: at.live.0,
        rss_bytes: at.rss.map(|rss| rss.0),
    });
    moments.collect()
}

/// The spans by their names.
pub(super) fn spans(analysis: &Analysis) -> Vec<JsonSpan<'_>> {
    let spans = analysis.marks.spans.iter().map(|span| JsonSpan {
        name: &span.name,
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
