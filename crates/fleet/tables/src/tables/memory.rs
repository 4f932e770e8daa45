//! What resident memory consists of.

use super::RECORDING;
use crate::column::{Column, Kind, Value};
use crate::rows::Rows;
use crate::source::Source;
use crate::table::Table;
use heapwise_analysis::{Breakdown, Parts};

pub(super) static TABLE: Table = Table {
    name: "memory",
    about: "what the resident bytes of the largest process consist of, at its peak and at its end; with several allocators each one's part, too",
    columns: &[
        RECORDING,
        Column::new("moment", Kind::Text, "`peak` or `end`"),
        Column::new("time_ns", Kind::Integer, "when that was, since the start, in nanoseconds"),
        Column::optional("allocator", Kind::Text, "whose part the row is; none for all together"),
        Column::new("live", Kind::Integer, "requested bytes of live blocks that are resident"),
        Column::new("internal_fragmentation", Kind::Integer, "usable minus requested bytes of live blocks"),
        Column::new("external_fragmentation", Kind::Integer, "free bytes in pages with a live block"),
        Column::new("free_pages", Kind::Integer, "pages without a live block"),
        Column::new("metadata", Kind::Integer, "the allocator's own pages and headers"),
        Column::optional(
            "rss",
            Kind::Integer,
            "the resident set: the parts above and these below; none for one allocator's part",
        ),
        Column::optional("before", Kind::Integer, "what was resident when the recording began in the middle"),
        Column::optional("unrecorded", Kind::Integer, "anonymous memory that no recorded allocator explains"),
        Column::optional("not_heap", Kind::Integer, "code, static data, stacks and files"),
        Column::optional("unaccounted", Kind::Integer, "what could not be explained"),
        Column::optional("lazily_freed", Kind::Integer, "part of these that the kernel may take at any time"),
        Column::optional("huge_pages", Kind::Integer, "part of these in transparent huge pages"),
        Column::optional(
            "live_not_resident",
            Kind::Integer,
            "live bytes that were never touched, no part of the resident set",
        ),
    ],
    is_sparse: false,
    fill,
};

fn fill(source: &Source<'_>, rows: &mut Rows) {
    let accounting = &source.analysis.accounting;
    for (moment, look) in [("peak", accounting.at_peak.as_ref()), ("end", accounting.at_end.as_ref())] {
        let Some(look) = look else { continue };
        whole(source, rows, moment, look);
        let allocators = &source.analysis.allocators;
        for allocator in allocators.iter().filter(|_| allocators.len() > 1) {
            let parts = if moment == "peak" { &allocator.at_peak } else { &allocator.at_end };
            let process = source.analysis.processes.iter().find(|process| process.index == look.process);
            let path = process.map_or("", |process| process.calls(allocator));
            part(source, rows, (moment, look), source.analysis.allocator_name(path), parts);
        }
    }
}

fn whole(source: &Source<'_>, rows: &mut Rows, moment: &str, look: &Breakdown) {
    rows.add([
        source.recording.into(),
        moment.into(),
        look.time.into(),
        Value::None,
        look.live.into(),
        look.internal_fragmentation.into(),
        look.external_fragmentation.into(),
        look.free_pages.into(),
        look.metadata.into(),
        look.rss.into(),
        look.before.into(),
        look.unrecorded.into(),
        look.not_heap.into(),
        look.unaccounted.into(),
        look.lazily_freed.into(),
        look.huge_pages.into(),
        look.live_not_resident.into(),
    ]);
}

fn part(
    source: &Source<'_>,
    rows: &mut Rows,
    (moment, look): (&str, &Breakdown),
    allocator: String,
    parts: &Parts,
) {
    rows.add([
        source.recording.into(),
        moment.into(),
        look.time.into(),
        allocator.into(),
        parts.live.into(),
        parts.internal_fragmentation.into(),
        parts.external_fragmentation.into(),
        parts.free_pages.into(),
        parts.metadata.into(),
        Value::None,
        Value::None,
        Value::None,
        Value::None,
        Value::None,
        Value::None,
        Value::None,
        Value::None,
    ]);
}
