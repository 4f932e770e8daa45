//! Fills `heapwise.diff/1`.

use super::Diff;
use super::rows::site_of;
use crate::json::frames::Frames;
use crate::schema::diff::{self as schema, Change, Difference, Exceeded, OldNew, Recording, Warning};
use heapwise_diagnosis::Comparison;
use heapwise_diagnosis::compare::{self, Amounts, Caveat, Measure, Which};

pub(super) fn json(diff: &Diff<'_>) -> String {
    let comparison = diff.comparison;
    let mut frames = Frames::default();
    let sites = comparison.sites.iter().map(|one| site(diff, one, &mut frames)).collect();
    crate::schema::compact(&schema::Diff {
        schema: schema::SCHEMA.to_owned(),
        old: recording(&diff.old),
        new: recording(&diff.new),
        warnings: comparison.caveats.iter().map(caveat).collect(),
        same: comparison.is_same(),
        totals: comparison.totals.iter().map(|one| change(comparison, one)).collect(),
        n_same_sites: comparison.n_same_sites,
        sites,
        places: comparison.places.iter().map(|one| place(diff, one)).collect(),
        frames: frames.into_list(),
        failed: diff.exceeded.iter().map(exceeded).collect(),
    })
}

fn recording(recording: &super::Recording<'_>) -> Recording {
    let analysis = recording.analysis;
    Recording {
        file: recording.file.to_owned(),
        command: analysis.meta.command.clone(),
        duration_ns: analysis.duration.0,
        peak_rss_bytes: Some(analysis.memory.peak_rss.0).filter(|&bytes| bytes > 0),
        totals: (&analysis.totals).into(),
    }
}

fn caveat(caveat: &Caveat) -> Warning {
    let recording = caveat.which().map(|which| Which::id(which).to_owned());
    Warning { id: caveat.id().to_owned(), recording, what: caveat.to_string() }
}

fn change(comparison: &Comparison, change: &compare::Change) -> Change {
    let limited = change.amount().clamp(i128::from(i64::MIN), i128::from(i64::MAX));
    Change {
        measure: change.measure.name().to_owned(),
        old: change.old,
        new: change.new,
        change: i64::try_from(limited).unwrap_or_default(),
        share: change.share(),
        varies: comparison.varies(change.measure),
    }
}

/// A call site with its stack.
fn site<'a>(diff: &Diff<'a>, difference: &compare::Difference, frames: &mut Frames<'a>) -> Difference<'a> {
    let stack = site_of(diff, difference).map(|(analysis, site)| frames.add(analysis, site).indices);
    Difference { stack: Some(stack.unwrap_or_default()), ..sum(diff, difference) }
}

/// A place with its call sites.
fn place<'a>(diff: &Diff<'a>, place: &compare::PlaceDifference) -> Difference<'a> {
    Difference { sites: Some(place.sites.clone()), ..sum(diff, &place.sum) }
}

fn sum<'a>(diff: &Diff<'a>, difference: &compare::Difference) -> Difference<'a> {
    let site = site_of(diff, difference);
    let at = site.and_then(|(analysis, site)| {
        let at = site.user_frame?;
        analysis.innermost(site, at + 1).pop()
    });
    let both = |measure: Measure| {
        let get = |amounts: &Amounts| amounts.get(measure);
        OldNew { old: get(&difference.old), new: get(&difference.new) }
    };
    Difference {
        status: difference.status.id().to_owned(),
        function: at.as_ref().and_then(|frame| frame.function).map(Into::into),
        file: at.as_ref().and_then(|frame| frame.file).map(Into::into),
        line: at.and_then(|frame| frame.line),
        allocations: both(Measure::Allocations),
        reallocations: both(Measure::Reallocations),
        allocated_bytes: both(Measure::AllocatedBytes),
        temporary_allocations: both(Measure::TemporaryAllocations),
        peak_bytes: both(Measure::PeakBytes),
        live_at_exit_bytes: both(Measure::LiveAtExitBytes),
        live_at_exit_blocks: both(Measure::LiveAtExitBlocks),
        stack: None,
        sites: None,
    }
}

fn exceeded(exceeded: &compare::Exceeded) -> Exceeded {
    Exceeded {
        expression: exceeded.expression.clone(),
        measure: exceeded.change.measure.name().to_owned(),
        old: exceeded.change.old,
        new: exceeded.change.new,
        limit: exceeded.limit,
    }
}
