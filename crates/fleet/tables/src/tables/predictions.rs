//! What other allocators would have needed.

use super::RECORDING;
use crate::column::{Column, Kind, Value};
use crate::rows::Rows;
use crate::source::Source;
use crate::table::Table;

pub(super) static TABLE: Table = Table {
    name: "predictions",
    about: "one row for each allocator that a recording was replayed with; only some recordings are",
    columns: &[
        RECORDING,
        Column::new("allocator", Kind::Text, "the allocator, as `heapwise replay` has it"),
        Column::new("settings", Kind::Texts, "its settings, as `name=value`"),
        Column::optional("version", Kind::Text, "its version, as it says itself"),
        Column::new("is_recorded", Kind::Truth, "whether it stands for what the program had"),
        Column::new(
            "outcome",
            Kind::Text,
            "`complete`, or what went wrong: `killed`, `hung`, `unavailable`, …",
        ),
        Column::optional(
            "peak_rss_bytes",
            Kind::Integer,
            "the highest resident anonymous memory of the process that allocated most, the median of the replays",
        ),
        Column::optional("peak_rss_low_bytes", Kind::Integer, "the least of the replays"),
        Column::optional("peak_rss_high_bytes", Kind::Integer, "the most of the replays"),
        Column::optional("rss_at_end_bytes", Kind::Integer, "the same at the end"),
        Column::optional("allocator_cpu_ns", Kind::Integer, "processor time in the allocator, a median"),
        Column::optional(
            "heap_cpu_ns",
            Kind::Integer,
            "the same with what the first writing to pages takes, a median",
        ),
    ],
    is_sparse: true,
    fill,
};

fn fill(source: &Source<'_>, rows: &mut Rows) {
    for prediction in source.predictions {
        let settings = prediction.settings.iter().map(|(name, value)| format!("{name}={value}"));
        rows.add([
            source.recording.into(),
            prediction.allocator.as_str().into(),
            settings.collect::<Value<'_>>(),
            prediction.version.as_deref().into(),
            prediction.is_recorded.into(),
            prediction.outcome.as_str().into(),
            prediction.peak_rss.into(),
            prediction.peak_rss_range.map(|range| range.0).into(),
            prediction.peak_rss_range.map(|range| range.1).into(),
            prediction.rss_at_end.into(),
            prediction.allocator_cpu.into(),
            prediction.heap_cpu.into(),
        ]);
    }
}
