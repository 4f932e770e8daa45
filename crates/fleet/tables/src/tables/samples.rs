//! Memory over time.

use super::RECORDING;
use crate::column::{Column, Kind};
use crate::rows::Rows;
use crate::source::Source;
use crate::table::Table;

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
    ],
    fill,
};

fn fill(source: &Source<'_>, rows: &mut Rows) {
    for sample in source.analysis.memory.samples(MOST_POINTS) {
        rows.add([source.recording.into(), sample.time.into(), sample.live.into(), sample.rss.into()]);
    }
}
