//! The conclusions from a trial, and their limits.

use super::Replay;
use super::facts::{after, measured, trouble};
use crate::report::together::together;
use crate::units::{bytes, share, signed_percent};
use heapwise_allocators::Candidate;
use heapwise_trial::statistics::{MATTERS, Spread};

/// A share of the program's time. Smaller changes are not reported: programs themselves differ by as much from run to run, and an
/// allocator's effects on caches and page faults outside of its calls may be as large.
pub(crate) const SEEN: f64 = 0.05;

pub(super) fn caveats(replay: &Replay<'_>) -> Vec<String> {
    let trial = replay.trial;
    let mut caveats: Vec<String> = replay.analysis.warnings.iter().map(ToString::to_string).collect();
    // What is much is the conclusion.
    let unseen = heapwise_diagnosis::unseen(replay.analysis).filter(|unseen| !unseen.is_much);
    caveats.extend(unseen.map(|unseen| format!("Only recorded blocks are replayed: {}.", unseen.sentence)));
    caveats.extend(together(replay.analysis, replay.process));
    for tried in &trial.tried {
        if let Some((_, words)) = trouble(tried) {
            caveats.push(format!("{}: {words}", tried.candidate));
        }
    }
    let counts = &trial.counts;
    if counts.large_blocks_with_unknown_touch > 0 {
        let so = match replay.analysis.memory.peak_rss.0 {
            0 => {
                "nor how much memory the program had: they are left untouched, and memory may come out too low"
            }
            _ => "and they are touched as a whole: memory may come out too high",
        };
        caveats.push(format!(
            "It is not recorded what part was touched of {} of {} large blocks, {so}.",
            counts.large_blocks_with_unknown_touch,
            counts.large_blocks_with_unknown_touch + counts.large_blocks_with_known_touch
        ));
    }
    if counts.skipped > 0 {
        caveats.push(format!(
            "{} calls concern blocks from before the recording or of a parent process and are left out.",
            counts.skipped
        ));
    }
    if let Some(overlap) = counts.overlap {
        caveats.push(format!(
            "How threads meet differs from run to run: at most {} were live in this recording, and it would be {} or more if {} threads that \
             lived less than a second each had its most at the same time. The peak of another run may be higher by as much.",
            bytes(counts.peak_live_bytes.0),
            bytes(overlap.live_bytes.0),
            overlap.threads
        ));
    }
    for (tried, results) in measured(&trial.tried) {
        let wrong = results
            .all()
            .filter(|m| m.ending == heapwise_trial::replay::Ending::Complete && m.refused == 0)
            .any(|m| m.live != (counts.live_blocks, counts.live_bytes));
        if wrong {
            caveats
                .push(format!("{}: the replay did not end with the recorded live blocks", tried.candidate));
        }
    }
    if !trial.tried.iter().any(|tried| tried.candidate == *replay.now) {
        caveats.push(format!(
            "The program had {}, which was not replayed: add it with `--with default`.",
            replay.now
        ));
    }
    if trial.is_interrupted {
        caveats.push("Interrupted: these are the results until then.".to_owned());
    }
    caveats
}

pub(super) fn conclusion(replay: &Replay<'_>) -> Vec<String> {
    if let Some(unseen) = heapwise_diagnosis::unseen(replay.analysis).filter(|unseen| unseen.is_much) {
        let why = unseen.sentence;
        return vec![format!(
            "The effect of another allocator is not judged, because only recorded blocks are replayed: {why}."
        )];
    }
    let mut sentences = Vec::new();
    sentences.extend(memory(replay, "Peak memory", |r| r.peak_rss.map(|s| s.median)));
    sentences.extend(memory(replay, "Memory after the load", |r| {
        after(r).map(|(rss, lazy)| (rss - lazy.min(rss)) as f64)
    }));
    sentences.extend(time(replay));
    if sentences.is_empty() {
        sentences.push("Nothing could be compared.".to_owned());
    }
    sentences
}

/// Which candidates need the least memory, and whether that is much less than the recorded program's allocator needs, or else the
/// first candidate.
fn memory(
    replay: &Replay<'_>,
    what: &str,
    of: fn(&heapwise_trial::replay::trial::Results) -> Option<f64>,
) -> Option<String> {
    let all: Vec<(&Candidate, f64)> = measured(&replay.trial.tried)
        .filter(|(tried, _)| trouble(tried).is_none())
        .filter_map(|(tried, results)| Some((&tried.candidate, of(results)?)))
        .collect();
    let (base, its) = *base(replay, &all)?;
    if all.len() < 2 {
        return None;
    }
    let least = all.iter().map(|(_, value)| *value).reduce(f64::min)?;
    let mut best: Vec<_> = all.iter().filter(|(_, value)| *value <= least / (1.0 - MATTERS)).collect();
    best.sort_by(|a, b| a.1.total_cmp(&b.1));
    let names = |except: Option<&Candidate>| {
        let names = best.iter().map(|(name, _)| *name).filter(|name| Some(*name) != except);
        names.map(ToString::to_string).collect::<Vec<_>>()
    };
    if best.iter().any(|(name, _)| *name == base) {
        let others = names(Some(base)).join(", ");
        let beside = if others.is_empty() { String::new() } else { format!(" (as have {others})") };
        let stay = if base == replay.now { format!("stay with {base}, which") } else { base.to_string() };
        return Some(format!("{what}: {stay} has the least{beside}: {}.", bytes(its as u64)));
    }
    Some(format!(
        "{what}: {} has {} instead of {} with {base} ({}).",
        names(None).join(" or "),
        bytes(least as u64),
        bytes(its as u64),
        signed_percent(least / its - 1.0, 0)
    ))
}

/// What the others are compared with: the recorded program's allocator, or else the first candidate that was measured.
fn base<'a, T>(replay: &Replay<'_>, all: &'a [(&Candidate, T)]) -> Option<&'a (&'a Candidate, T)> {
    all.iter().find(|(candidate, _)| *candidate == replay.now).or(all.first())
}

/// The least number of rounds for a meaningful range.
const ENOUGH_ROUNDS: usize = 3;

/// Processor time for the heap, as far as the candidates differ significantly.
fn time(replay: &Replay<'_>) -> Option<String> {
    let all: Vec<(&Candidate, &heapwise_trial::replay::trial::Results)> = measured(&replay.trial.tried)
        .filter(|(tried, results)| trouble(tried).is_none() && results.heap_ns.is_some())
        .map(|(tried, results)| (&tried.candidate, results))
        .collect();
    let (name, its) = *base(replay, &all)?;
    let (calls, heap) = (its.allocator_ns?, its.heap_ns?);
    let outside = replay.analysis.time_outside_allocator(replay.process);
    let whole = outside.map_or(replay.trial.duration.0.max(1), |o| o.time.0 + calls.median as u64);
    let what = match outside {
        None => "that the recorded program ran",
        Some(outside) if outside.is_at_most => "of processor time that the program took at most",
        Some(_) => "of processor time",
    };
    let of_all = format!(
        "Time in the allocator: {name} takes {}, {} of the {} {what}",
        crate::units::time(calls.median as u64),
        share(calls.median as u64, whole),
        crate::units::time(whole),
    );
    if all.iter().any(|(_, results)| results.allocator_rounds_ns.len() < ENOUGH_ROUNDS) {
        return Some(format!(
            "{of_all}; whether another one takes less needs --runs {ENOUGH_ROUNDS} or more."
        ));
    }
    // The comparison includes writing to pages: an allocator that takes new pages all the time makes the program pay for them.
    let spreads: Vec<(&Candidate, Spread)> =
        all.iter().filter_map(|(name, results)| Some((*name, results.heap_ns?))).collect();
    let (best, least) = *spreads.iter().min_by(|a, b| a.1.median.total_cmp(&b.1.median))?;
    if least.high >= heap.low || heap.median - least.median < whole as f64 * SEEN {
        return Some(format!("{of_all}; no other candidate is measurably faster in the program."));
    }
    let apart: Vec<String> =
        spreads.iter().filter(|(_, s)| s.low <= least.high).map(|(name, _)| name.to_string()).collect();
    // The gains of real programs were between 0.6 and 1.7 times of what replays predicted (docs/replay.md), and no candidate
    // saves more than the whole.
    let (low, high) = ((heap.low - least.high) * 0.6, ((heap.high - least.low) * 1.7).min(heap.median));
    let rest = if apart.len() > 1 {
        format!(" {} cannot be distinguished by this.", apart.join(", "))
    } else {
        String::new()
    };
    Some(format!(
        "{of_all}. With {best} the program would take between {} and {} less, page faults included.{rest}",
        crate::units::time(low.max(0.0) as u64),
        crate::units::time(high as u64)
    ))
}
