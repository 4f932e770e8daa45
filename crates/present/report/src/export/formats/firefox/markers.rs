//! The program's marks and spans, as markers: moments, and intervals from begin to end.

use super::builder::Builder;
use super::ms;
use crate::export::text;
use heapwise_analysis::{Analysis, MarkKind};
use serde_json::{Value, json};

/// Phases of the format.
const INSTANT: u8 = 0;
const INTERVAL: u8 = 1;
const BEGIN: u8 = 2;
const END: u8 = 3;

/// A table without markers.
pub(super) fn none() -> Value {
    json!({"data": [], "name": [], "startTime": [], "endTime": [], "phase": [], "category": [], "length": 0})
}

/// The table of all markers, by time. They have no payload, hence need no schema.
pub(super) fn markers(analysis: &Analysis, builder: &mut Builder<'_>) -> Value {
    let list = &analysis.marks.list;
    let (mut names, mut starts, mut ends, mut phases) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for mark in list {
        let name = if mark.name.is_empty() { "(no name)".into() } else { text::harmless(&mark.name) };
        names.push(builder.string(&name));
        let (at, end) = (ms(mark.at.time.0), mark.end.map(|end| ms(end.time.0)));
        let (start, end, phase) = match (mark.kind, end) {
            (MarkKind::Point, _) => (Some(at), None, INSTANT),
            (MarkKind::Begin, Some(end)) => (Some(at), Some(end), INTERVAL),
            (MarkKind::Begin, None) => (Some(at), None, BEGIN),
            (MarkKind::End, _) => (None, Some(at), END),
        };
        starts.push(start);
        ends.push(end);
        phases.push(phase);
    }
    json!({
        "data": vec![Value::Null; list.len()],
        "name": names,
        "startTime": starts,
        "endTime": ends,
        "phase": phases,
        "category": vec![0; list.len()],
        "length": list.len(),
    })
}
