//! What a trial means, and what it does not.

use super::Replay;
use super::facts::{after, measured, trouble};
use crate::units::{bytes, share};
use heapwise_statistics::Spread;

/// A share of the program's time. What would change by less is not told: programs themselves differ by as much from run to run,
/// and what an allocator does to caches and page faults outside of its calls may be as much.
pub(crate) const SEEN: f64 = 0.05;
/// Differences of memory below this share are nobody's business: the same replay differs by as much from run to run.
const SAME_MEMORY: f64 = 0.03;

pub(super) fn caveats(replay: &Replay<'_>) -> Vec<String> {
    let trial = replay.trial;
    let mut caveats: Vec<String> = replay.analysis.warnings.iter().map(ToString::to_string).collect();
    for tried in &trial.tried {
        if let Some((_, words)) = trouble(tried) {
            caveats.push(format!("{}: {words}", tried.candidate));
        }
    }
    let counts = &trial.counts;
    if counts.untold_large_blocks > 0 {
        caveats.push(format!(
            "It is not recorded what part was touched of {} of {} large blocks: they are touched as a whole, and memory \
             may come out too high.",
            counts.untold_large_blocks,
            counts.untold_large_blocks + counts.told_large_blocks
        ));
    }
    if counts.skipped > 0 {
        caveats.push(format!(
            "{} calls concern blocks from before the recording or of a parent process and are left out.",
            counts.skipped
        ));
    }
    for (tried, results) in measured(&trial.tried) {
        let wrong = results
            .all()
            .filter(|m| m.ending == heapwise_replay::Ending::Complete && m.refused == 0)
            .any(|m| m.live != (counts.live_blocks, counts.live_bytes));
        if wrong {
            caveats
                .push(format!("{}: the replay did not end with the recorded live blocks", tried.candidate));
        }
    }
    if trial.is_interrupted {
        caveats.push("Interrupted: what was measured until then is what there is.".to_owned());
    }
    caveats
}

pub(super) fn conclusion(replay: &Replay<'_>) -> Vec<String> {
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

/// Which candidates have least, and whether that is much less than the first one has.
fn memory(
    replay: &Replay<'_>,
    what: &str,
    of: fn(&heapwise_replay::trial::Results) -> Option<f64>,
) -> Option<String> {
    let mut all: Vec<(String, f64)> = measured(&replay.trial.tried)
        .filter(|(tried, _)| trouble(tried).is_none())
        .filter_map(|(tried, results)| Some((tried.candidate.to_string(), of(results)?)))
        .collect();
    let (first, base) = all.first()?.clone();
    if all.len() < 2 {
        return None;
    }
    all.sort_by(|a, b| a.1.total_cmp(&b.1));
    let least = all[0].1;
    let best: Vec<&str> =
        all.iter().take_while(|(_, v)| *v <= least * (1.0 + SAME_MEMORY)).map(|(n, _)| n.as_str()).collect();
    Some(if best.contains(&first.as_str()) {
        let others = best.iter().filter(|name| **name != first).copied().collect::<Vec<_>>();
        let beside =
            if others.is_empty() { String::new() } else { format!(" (as have {})", others.join(", ")) };
        format!("{what}: stay with {first}, which has the least{beside}: {}.", bytes(base as u64))
    } else {
        format!(
            "{what}: {} has {} instead of {} with {first} ({:+.0} %).",
            best.join(" or "),
            bytes(least as u64),
            bytes(base as u64),
            (least / base - 1.0) * 100.0
        )
    })
}

/// Times in the allocator, as far as they can be told apart.
fn time(replay: &Replay<'_>) -> Option<String> {
    let all: Vec<(String, Spread)> = measured(&replay.trial.tried)
        .filter(|(tried, _)| trouble(tried).is_none())
        .filter_map(|(tried, results)| Some((tried.candidate.to_string(), results.allocator_ns?)))
        .collect();
    let (first, base) = all.first()?.clone();
    let best = all.iter().min_by(|a, b| a.1.median.total_cmp(&b.1.median))?;
    let duration = replay.trial.duration.0.max(1);
    let of_all = format!(
        "{first} takes {}, {} of the {} that the recorded program ran",
        crate::units::time(base.median as u64),
        share(base.median as u64, duration),
        crate::units::time(duration),
    );
    if best.1.high >= base.low || base.median - best.1.median < duration as f64 * SEEN {
        return Some(format!(
            "Time in the allocator: {of_all}; no other one is faster by so much that it would be seen in the program."
        ));
    }
    let apart: Vec<&str> =
        all.iter().filter(|(_, s)| s.low <= best.1.high).map(|(name, _)| name.as_str()).collect();
    // The prototype's predictions were between 0.6 and 2.7 times of what came out in real programs, which have caches to
    // share and threads that do something in between.
    let (low, high) = ((base.low - best.1.high) * 0.6, (base.high - best.1.low) * 1.7);
    let rest = if apart.len() > 1 {
        format!(" {} cannot be told apart by this.", apart.join(", "))
    } else {
        String::new()
    };
    Some(format!(
        "Time in the allocator: {of_all}. With {} the program would take between {} and {} less.{rest}",
        best.0,
        crate::units::time(low.max(0.0) as u64),
        crate::units::time(high as u64)
    ))
}
