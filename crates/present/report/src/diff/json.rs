//! The schema `heapwise.diff/1`: field names are a contract, see the README.

use super::Diff;
use super::rows::site_of;
use crate::json::{JsonFrame, JsonTotals, frames};
use heapwise_diagnosis::Comparison;
use heapwise_diagnosis::compare::{Amounts, Caveat, Change, Difference, Exceeded, Measure, Which};
use serde::Serialize;

/// The value of the field `schema`.
pub const SCHEMA: &str = "heapwise.diff/1";

#[derive(Serialize)]
struct JsonDiff<'a> {
    schema: &'static str,
    old: JsonRecording<'a>,
    new: JsonRecording<'a>,
    warnings: Vec<JsonCaveat>,
    same: bool,
    totals: Vec<JsonChange>,
    n_same_sites: usize,
    sites: Vec<JsonDifference<'a>>,
    places: Vec<JsonDifference<'a>>,
    failed: Vec<JsonExceeded<'a>>,
}

#[derive(Serialize)]
struct JsonRecording<'a> {
    file: &'a str,
    command: &'a [String],
    duration_ns: u64,
    /// Null if it was not measured.
    peak_rss_bytes: Option<u64>,
    totals: JsonTotals,
}

#[derive(Serialize)]
struct JsonCaveat {
    id: &'static str,
    /// The recording that it is about, if it is one.
    recording: Option<&'static str>,
    what: String,
}

#[derive(Serialize)]
struct JsonChange {
    measure: &'static str,
    old: u64,
    new: u64,
    change: i64,
    /// The change as a part of `old`.
    share: Option<f64>,
    /// Whether two runs that do the same may differ in it.
    varies: bool,
}

#[derive(Serialize)]
struct JsonDifference<'a> {
    status: &'static str,
    function: Option<&'a str>,
    file: Option<&'a str>,
    line: Option<u32>,
    allocations: OldNew,
    reallocations: OldNew,
    allocated_bytes: OldNew,
    temporary_allocations: OldNew,
    peak_bytes: OldNew,
    live_at_exit_bytes: OldNew,
    live_at_exit_blocks: OldNew,
    #[serde(skip_serializing_if = "Option::is_none")]
    stack: Option<Vec<JsonFrame<'a>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sites: Option<&'a [usize]>,
}

#[derive(Serialize)]
struct OldNew {
    old: u64,
    new: u64,
}

#[derive(Serialize)]
struct JsonExceeded<'a> {
    expression: &'a str,
    measure: &'static str,
    old: u64,
    new: u64,
    limit: u64,
}

pub(super) fn json(diff: &Diff<'_>) -> String {
    let comparison = diff.comparison;
    let report = JsonDiff {
        schema: SCHEMA,
        old: recording(&diff.old),
        new: recording(&diff.new),
        warnings: comparison.caveats.iter().map(caveat).collect(),
        same: comparison.is_same(),
        totals: comparison.totals.iter().map(|one| change(comparison, one)).collect(),
        n_same_sites: comparison.n_same_sites,
        sites: comparison.sites.iter().map(|site| difference(diff, site, None)).collect(),
        places: comparison.places.iter().map(|p| difference(diff, &p.sum, Some(&p.sites))).collect(),
        failed: diff.exceeded.iter().map(exceeded).collect(),
    };
    let mut text = serde_json::to_string(&report).unwrap_or_default();
    text.push('\n');
    crate::escape::terminal::json(&text).into_owned()
}

fn recording<'a>(recording: &super::Recording<'a>) -> JsonRecording<'a> {
    let analysis = recording.analysis;
    JsonRecording {
        file: recording.file,
        command: &analysis.meta.command,
        duration_ns: analysis.duration.0,
        peak_rss_bytes: Some(analysis.memory.peak_rss.0).filter(|&bytes| bytes > 0),
        totals: (&analysis.totals).into(),
    }
}

fn caveat(caveat: &Caveat) -> JsonCaveat {
    JsonCaveat { id: caveat.id(), recording: caveat.which().map(Which::id), what: caveat.to_string() }
}

fn change(comparison: &Comparison, change: &Change) -> JsonChange {
    let limited = change.amount().clamp(i128::from(i64::MIN), i128::from(i64::MAX));
    JsonChange {
        measure: change.measure.name(),
        old: change.old,
        new: change.new,
        change: i64::try_from(limited).unwrap_or_default(),
        share: change.share(),
        varies: comparison.varies(change.measure),
    }
}

/// A call site with its stack, or a place with its sites.
fn difference<'a>(
    diff: &Diff<'a>,
    difference: &Difference,
    sites: Option<&'a [usize]>,
) -> JsonDifference<'a> {
    let site = site_of(diff, difference);
    let stack = site.map(|(analysis, site)| analysis.stack(site)).unwrap_or_default();
    let at = site.and_then(|(_, site)| site.user_frame).and_then(|i| stack.get(i));
    let both = |measure: Measure| {
        let get = |amounts: &Amounts| amounts.get(measure);
        OldNew { old: get(&difference.old), new: get(&difference.new) }
    };
    JsonDifference {
        status: difference.status.id(),
        function: at.and_then(|frame| frame.function),
        file: at.and_then(|frame| frame.file),
        line: at.and_then(|frame| frame.line),
        allocations: both(Measure::Allocations),
        reallocations: both(Measure::Reallocations),
        allocated_bytes: both(Measure::AllocatedBytes),
        temporary_allocations: both(Measure::TemporaryAllocations),
        peak_bytes: both(Measure::PeakBytes),
        live_at_exit_bytes: both(Measure::LiveAtExitBytes),
        live_at_exit_blocks: both(Measure::LiveAtExitBlocks),
        stack: sites.is_none().then(|| frames(&stack)),
        sites,
    }
}

fn exceeded(exceeded: &Exceeded) -> JsonExceeded<'_> {
    JsonExceeded {
        expression: &exceeded.expression,
        measure: exceeded.change.measure.name(),
        old: exceeded.change.old,
        new: exceeded.change.new,
        limit: exceeded.limit,
    }
}
