//! The pictures of a trial.

use super::Replay;
use super::facts::{after, last, main, measured};
use crate::chart::Unit;
use crate::document::{Figure, Numbers, Picture};
use crate::report::resident::{NOT_HEAP, PARTS, UNRECORDED};
use heapwise_analysis::Breakdown;
use heapwise_trial::replay::trial::{Results, Tried};
use heapwise_trial::replay::{Ending, Measured};

/// The pictures for which there are numbers.
pub(super) fn figures(replay: &Replay<'_>) -> Vec<Figure> {
    let peaks = |results: &Results| -> Vec<f64> {
        complete(results.first.iter().chain(&results.rounds)).map(|m| m.peak_rss.0 as f64).collect()
    };
    let times = |results: &Results| -> Vec<f64> {
        let harness = replay.trial.harness.as_ref();
        let of = |m| harness.map(|harness| harness.allocator_ns(m, &replay.trial.counts));
        complete(results.rounds.iter()).filter_map(of).collect()
    };
    let afters = |results: &Results| after(results).map(|(rss, _)| rss as f64).into_iter().collect();
    let strips = [
        ("Peak RSS in every round; the bar is the median", Unit::Bytes, rows(replay, &peaks)),
        ("Time in the allocator in every round that counts", Unit::Nanos, rows(replay, &times)),
        ("RSS after load", Unit::Bytes, rows(replay, &afters)),
    ];
    let strips = strips.into_iter().filter_map(|(caption, unit, rows)| {
        let picture = Picture::Strips { unit, rows };
        figure(caption, picture)
    });
    let mut all: Vec<Figure> = strips.collect();
    all.extend(both(replay));
    let levels = |results: &Results| {
        let shown = last(results);
        let levels = shown.iter().flat_map(|m| &m.levels);
        levels.map(|level| [level.time.0 as f64, level.rss.0 as f64]).collect()
    };
    let units = [Unit::Nanos, Unit::Bytes];
    let pace = if replay.trial.timed.is_some() { "with pauses" } else { "without pauses" };
    let picture = Picture::Lines { units, rows: rows(replay, &levels) };
    all.extend(figure(&format!("RSS over time, {pace}"), picture));
    all.extend(parts(replay, "What the heap's RSS consists of at the peak", |r| main(r)?.at_peak));
    let end = format!("What the heap's RSS consists of at the end, {pace}");
    all.extend(parts(replay, &end, |r| last(r)?.at_end));
    all
}

fn complete<'a>(all: impl Iterator<Item = &'a Measured>) -> impl Iterator<Item = &'a Measured> {
    all.filter(|m| m.ending == Ending::Complete)
}

/// A row for each candidate with numbers. The colour is the candidate's, so it is the same in all pictures.
fn rows<T>(replay: &Replay<'_>, numbers: &dyn Fn(&Results) -> Vec<T>) -> Vec<Numbers<T>> {
    let row = |(series, tried): (usize, &Tried)| {
        let numbers = numbers(tried.results.as_ref().ok()?);
        (!numbers.is_empty()).then(|| Numbers { label: tried.candidate.to_string(), series, numbers })
    };
    replay.trial.tried.iter().enumerate().filter_map(row).collect()
}

/// `None` if there is nothing to see.
fn figure(caption: &str, picture: Picture) -> Option<Figure> {
    let is_empty = match &picture {
        Picture::Strips { rows, .. } | Picture::Bars { rows, .. } => rows.is_empty(),
        Picture::Lines { rows, .. } | Picture::Scatter { rows, .. } => rows.is_empty(),
        Picture::Flame(root) => root.bytes == 0,
    };
    (!is_empty).then(|| Figure { caption: caption.to_owned(), picture })
}

/// Time and memory together, if at least two have both.
fn both(replay: &Replay<'_>) -> Option<Figure> {
    let has_after = measured(&replay.trial.tried).any(|(_, results)| after(results).is_some());
    let numbers = |results: &Results| {
        let memory = match has_after {
            true => after(results).map(|(rss, lazy)| (rss - lazy.min(rss)) as f64),
            false => results.peak_rss.map(|spread| spread.median),
        };
        let time = results.allocator_ns.map(|spread| spread.median);
        time.zip(memory).map(|(time, memory)| [time, memory]).into_iter().collect()
    };
    let rows = rows(replay, &numbers);
    let memory = if has_after { "RSS after load, without what is lazily freed" } else { "peak RSS" };
    let titles = ["time in the allocator".to_owned(), memory.to_owned()];
    let caption = "None is better in both than those on the dashed line; the noise is not drawn";
    let legend =
        rows.iter().map(|row| Numbers { label: row.label.clone(), series: row.series, numbers: vec![] });
    let picture = Picture::Scatter {
        titles,
        units: [Unit::Nanos, Unit::Bytes],
        legend: legend.collect(),
        rows,
        emphasis: Vec::new(),
    };
    figure(caption, picture)
        .filter(|figure| matches!(&figure.picture, Picture::Scatter { rows, .. } if rows.len() > 1))
}

fn parts(replay: &Replay<'_>, caption: &str, moment: fn(&Results) -> Option<Breakdown>) -> Option<Figure> {
    // Without the memory that is not heap: it belongs to the replay's own code. A replay has one allocator, and records it.
    let parts = || PARTS.iter().filter(|(name, _, _)| ![NOT_HEAP, UNRECORDED].contains(name));
    let numbers = |results: &Results| {
        let Some(b) = moment(results) else { return Vec::new() };
        parts().map(|(_, part, _)| part(&b).0 as f64).collect()
    };
    let picture = Picture::Bars {
        unit: Unit::Bytes,
        parts: parts().map(|(name, _, _)| (*name).to_owned()).collect(),
        rows: rows(replay, &numbers),
    };
    figure(caption, picture)
}
