//! Findings.

use super::RECORDING;
use crate::column::{Column, Kind, Value};
use crate::rows::Rows;
use crate::source::Source;
use crate::table::Table;

pub(super) static TABLE: Table = Table {
    name: "findings",
    about: "one row for each finding of the report, the most rewarding first",
    columns: &[
        RECORDING,
        Column::new("rank", Kind::Integer, "its place in the report, from 1"),
        Column::new("finding", Kind::Text, "which rule found it"),
        Column::new("severity", Kind::Text, "`low`, `medium` or `high`"),
        Column::new("certainty", Kind::Text, "`hint`, `likely` or `certain`"),
        Column::new("title", Kind::Text, "what is wrong, and where"),
        Column::optional("stack_id", Kind::Id, "the stack with the largest share in it"),
        Column::new("evidence", Kind::Texts, "what was seen, a sentence each"),
        Column::new("remedy", Kind::Text, "what to do"),
        Column::new("saves_requests", Kind::Integer, "allocations and reallocations that would not happen"),
        Column::new("saves_allocated_bytes", Kind::Integer, "requested bytes that would be saved"),
        Column::new("saves_peak_bytes", Kind::Integer, "bytes that would not be resident at the peak"),
        Column::new("saves_time_ns", Kind::Integer, "time that would be saved, in nanoseconds"),
    ],
    is_sparse: false,
    fill,
};

fn fill(source: &Source<'_>, rows: &mut Rows) {
    for (at, finding) in source.diagnosis.findings.iter().enumerate() {
        let estimate = &finding.estimate;
        rows.add([
            source.recording.into(),
            (at as u64 + 1).into(),
            finding.id.into(),
            finding.severity.id().into(),
            finding.certainty.id().into(),
            finding.title.as_str().into(),
            finding.site.and_then(|site| source.stacks.of_site(site)).into(),
            finding.evidence.iter().map(String::as_str).collect::<Value<'_>>(),
            finding.remedy.as_str().into(),
            estimate.requests().into(),
            estimate.allocated_bytes.into(),
            estimate.peak_bytes.into(),
            estimate.time.into(),
        ]);
    }
}
