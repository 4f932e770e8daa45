//! The program's marks and spans, for the curves of memory and a table.

use super::strings::Strings;
use heapwise_analysis::{Analysis, MarkKind};
use serde::Serialize;

/// All of them; `None` for a program without any.
#[derive(Debug, Serialize)]
pub(super) struct Marks {
    /// `[time, name, thread, live bytes]` of each mark that is no part of a span, by time.
    points: Vec<(u64, u32, u32, u64)>,
    /// `[begin, end, name, thread]` of spans; the end is null if it was not recorded.
    bars: Vec<(u64, Option<u64>, u32, u32)>,
    not_listed: u64,
    spans: Vec<Span>,
}

#[derive(Debug, Serialize)]
struct Span {
    name: u32,
    count: u64,
    time_ns: u64,
    longest_ns: u64,
    allocations: u64,
    bytes: u64,
    growth: i64,
    unended: u64,
    unbegun: u64,
}

pub(super) fn marks(analysis: &Analysis, strings: &mut Strings) -> Option<Marks> {
    let marks = &analysis.marks;
    if marks.is_empty() {
        return None;
    }
    let (mut points, mut bars) = (Vec::new(), Vec::new());
    for mark in &marks.list {
        let name = strings.number(&mark.name);
        match mark.kind {
            MarkKind::Begin => {
                bars.push((mark.at.time.0, mark.end.map(|end| end.time.0), name, mark.thread.0))
            }
            MarkKind::Point => points.push((mark.at.time.0, name, mark.thread.0, mark.at.live.0)),
            // Ends without a begin are only counted: there is no bar to be drawn.
            MarkKind::End => {}
        }
    }
    let spans = marks.spans.iter().map(|span| Span {
        name: strings.number(&span.name),
        count: span.count,
        time_ns: span.time.0,
        longest_ns: span.longest.0,
        allocations: span.allocations,
        bytes: span.allocated_bytes.0,
        growth: span.largest_growth_bytes,
        unended: span.unended,
        unbegun: span.unbegun,
    });
    let spans = spans.collect();
    Some(Marks { points, bars, not_listed: marks.not_listed(), spans })
}
