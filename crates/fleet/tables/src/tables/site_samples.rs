//! Memory of single sites over time.

use super::RECORDING;
use crate::column::{Column, Kind};
use crate::rows::Rows;
use crate::source::Source;
use crate::table::Table;
use heapwise_analysis::{Bytes, Nanos};

pub(super) static TABLE: Table = Table {
    name: "site_samples",
    about: "memory over time of the 64 stacks with most of it: 256 spans of equal length at most for each",
    columns: &[
        RECORDING,
        Column::new("stack_id", Kind::Id, "the stack, in `stacks`"),
        Column::new("time_ns", Kind::Integer, "where the span begins, since the start, in nanoseconds"),
        Column::new("live_bytes", Kind::Integer, "the most live bytes of that stack in the span"),
    ],
    is_sparse: false,
    fill,
};

fn fill(source: &Source<'_>, rows: &mut Rows) {
    let Some(follower) = source.histories else { return };
    for history in &follower.histories {
        for (at, &level) in history.levels.iter().enumerate() {
            let time = Nanos((at as u64).saturating_mul(follower.width.0));
            rows.add([source.recording.into(), history.stack.into(), time.into(), Bytes(level).into()]);
        }
    }
}
