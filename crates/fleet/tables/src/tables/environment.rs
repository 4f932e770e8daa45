//! What slowed the heap from outside of the code.

use super::RECORDING;
use crate::column::{Column, Kind, Value};
use crate::rows::Rows;
use crate::source::Source;
use crate::table::Table;

pub(super) static TABLE: Table = Table {
    name: "environment",
    about: "one row for each thing outside of the code that slowed the heap, as `heapwise doctor` finds them",
    columns: &[
        RECORDING,
        Column::new("check_name", Kind::Text, "which check found it"),
        Column::new("severity", Kind::Text, "`low`, `medium` or `high`"),
        Column::new("title", Kind::Text, "what it is"),
        Column::new("evidence", Kind::Texts, "where it could be seen"),
        Column::new("cost", Kind::Text, "what it costs"),
        Column::new("remedy", Kind::Text, "what to do"),
    ],
    is_sparse: false,
    fill,
};

fn fill(source: &Source<'_>, rows: &mut Rows) {
    for finding in &source.analysis.environment {
        rows.add([
            source.recording.into(),
            finding.check.as_str().into(),
            finding.severity.as_str().into(),
            finding.title.as_str().into(),
            finding.evidence.iter().map(String::as_str).collect::<Value<'_>>(),
            finding.cost.as_str().into(),
            finding.remedy.as_str().into(),
        ]);
    }
}
