//! The schema `heapwise.replay/1`: field names are a contract, see docs/replay.md.

use super::Replay;
use super::facts::{after, last, main, per_call, trouble};
use super::tables::caller;
use heapwise_allocators::OwnStatistics;
use heapwise_analysis::Breakdown;
use heapwise_trial::replay::trial::{Results, Tried};
use heapwise_trial::replay::{CallTimes, Measured};
use heapwise_trial::statistics::Spread;
use serde_json::{Map, Value, json};

/// The value of the field `schema`.
pub const SCHEMA: &str = "heapwise.replay/1";

pub(super) fn value(replay: &Replay<'_>) -> Value {
    let (trial, analysis) = (replay.trial, replay.analysis);
    let process = analysis.processes.get(replay.process);
    let counts = &trial.counts;
    json!({
        "schema": SCHEMA,
        "command": analysis.meta.command,
        "process": process.map(|p| json!({ "pid": p.pid, "command": p.command, "allocator": p.allocator })),
        "machine": crate::machine::json(replay.machine),
        "script": {
            "allocations": counts.allocations,
            "deallocations": counts.deallocations,
            "reallocations": counts.reallocations,
            "threads": counts.threads,
            "peak_live_bytes": counts.peak_live_bytes.0,
            "live_at_end_bytes": counts.live_bytes.0,
            "live_at_end_blocks": counts.live_blocks,
            "large_blocks_with_unknown_touch": counts.untold_large_blocks,
            "skipped": counts.skipped,
            "duration_ns": trial.duration.0,
        },
        "harness_ns_per_call": trial.harness.map(|h| json!({ "timed": h.ns, "untimed": h.untimed_ns, "subtracted": h.bias_ns[0] })),
        "timed": trial.timed.map(|t| json!({
            "compression": t.compression,
            "settle_ns": t.settle.as_nanos() as u64,
        })),
        "candidates": trial.tried.iter().map(|tried| candidate(replay, tried)).collect::<Vec<_>>(),
        "is_interrupted": trial.is_interrupted,
        "caveats": super::conclusions::caveats(replay),
        "conclusion": super::conclusions::conclusion(replay),
    })
}

fn candidate(replay: &Replay<'_>, tried: &Tried) -> Value {
    let settings: Map<String, Value> =
        tried.candidate.settings().iter().map(|(name, value)| (name.to_owned(), value.into())).collect();
    let trouble = trouble(tried);
    let mut all = json!({
        "candidate": tried.candidate.to_string(),
        "allocator": tried.candidate.name(),
        "version": tried.version,
        "settings": settings,
        "outcome": trouble.as_ref().map_or("complete", |(word, _)| word),
        "trouble": trouble.map(|(_, words)| words),
    });
    // Who could not be tried has the same fields, without numbers.
    let nothing = Results::default();
    if let Value::Object(all) = &mut all {
        all.extend(numbers(replay, tried.results.as_ref().unwrap_or(&nothing)));
    }
    all
}

fn numbers(replay: &Replay<'_>, results: &Results) -> Map<String, Value> {
    let main = main(results);
    let after = after(results);
    let rounded =
        |s: Spread| json!({ "median": s.median.round(), "low": s.low.round(), "high": s.high.round() });
    let first = results.first.as_ref();
    let walls = Spread::of(results.rounds.iter().map(|m| m.wall.0 as f64));
    let slowest: Vec<Value> = first
        .iter()
        .flat_map(|m| &m.slowest)
        .map(|slow| json!({ "ns": slow.ns.round(), "caller": caller(replay, slow) }))
        .collect();
    let fields = json!({
        "peak_rss_bytes": results.peak_rss.map(|s| s.median as u64),
        "peak_rss_spread_bytes": results.peak_rss.map(rounded),
        "rss_at_end_bytes": main.map(|m| m.end_rss.0),
        "rss_after_bytes": after.map(|(rss, _)| rss),
        "rss_after_lazily_freed_bytes": after.map(|(_, lazy)| lazy),
        // Nanoseconds in the allocator, without what the replay itself takes.
        "cpu_ns": results.allocator_ns.map(rounded),
        "ns_per_call": per_call(results, replay.trial.counts.calls())
            .map(|s| json!({ "median": s.median, "low": s.low, "high": s.high })),
        "wall_ns": walls.map(rounded),
        "heap_cpu_ns": results.heap_ns.map(rounded),
        "latency_ns": first.map(|m| json!({
            "allocate": latency(&m.allocate), "free": latency(&m.free), "resize": latency(&m.resize),
        })),
        "slowest": slowest,
        "page_faults": main.map(|m| m.page_faults.0),
        "refused": results.all().map(|m| m.refused).max(),
        "at_peak": main.and_then(|m| m.at_peak).map(breakdown),
        "at_end": last(results).and_then(|m| m.at_end).map(breakdown),
        "own_statistics": last(results).and_then(|m| m.own).map(own),
        "timeline": timeline(results.timed.as_ref().or(main)),
    });
    match fields {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}

fn latency(times: &CallTimes) -> Value {
    json!({
        "timed": times.timed,
        "mean": times.mean_ns,
        "p50": times.p50_ns,
        "p99": times.p99_ns,
        "p999": times.p999_ns,
        "p9999": times.p9999_ns,
        "disturbed": times.disturbed,
    })
}

fn breakdown(b: Breakdown) -> Value {
    json!({
        "rss_bytes": b.rss.0,
        "live_bytes": b.live.0,
        "rounding_bytes": b.rounding.0,
        "holes_bytes": b.holes.0,
        "retained_bytes": b.retained.0,
        "metadata_bytes": b.metadata.0,
        "not_heap_bytes": b.not_heap.0,
        "unaccounted_bytes": b.unaccounted.0,
        "lazily_freed_bytes": b.lazily_freed.0,
        "huge_pages_bytes": b.huge_pages.0,
    })
}

fn own(own: OwnStatistics) -> Value {
    json!({
        "allocated_bytes": own.allocated_bytes,
        "active_bytes": own.active_bytes,
        "metadata_bytes": own.metadata_bytes,
        "resident_bytes": own.resident_bytes,
        "mapped_bytes": own.mapped_bytes,
        "retained_bytes": own.retained_bytes,
    })
}

fn timeline(measured: Option<&Measured>) -> Vec<[u64; 2]> {
    measured.map(|m| m.levels.iter().map(|l| [l.time.0, l.rss.0]).collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::super::testing::{failed, interrupted, replayed, with};
    use super::*;

    #[test]
    fn who_failed_has_the_same_fields_without_numbers() {
        let trial = with([replayed("glibc", 14, 13, 0), failed("./nix.so", "no"), interrupted("snmalloc")]);
        let all = trial.show(value);
        let candidates = all["candidates"].as_array().expect("candidates");
        let fields = |at: usize| candidates[at].as_object().expect("an object").keys().collect::<Vec<_>>();
        assert_eq!(fields(1), fields(0));
        assert_eq!(fields(2), fields(0));
        assert_eq!(candidates[0]["peak_rss_bytes"], 14 << 20);
        for candidate in &candidates[1..] {
            for (name, value) in candidate.as_object().expect("an object") {
                let is_number =
                    ["bytes", "ns", "call", "faults", "refused"].iter().any(|end| name.ends_with(end));
                assert!(!is_number || value.is_null(), "{name}: {value}");
            }
        }
    }
}
