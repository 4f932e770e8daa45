//! Fills `heapwise.replay/1`.

use super::Replay;
use super::facts::{after, last, main, outcome, per_call, trouble};
use super::tables::caller;
use crate::schema::Spread;
use crate::schema::replay::{
    self as schema, Breakdown, CallTimes, Candidate, Harness, Latency, OwnStatistics, Process, Script,
    SlowCall, Timed,
};
use heapwise_analysis as analysis;
use heapwise_trial::replay::Measured;
use heapwise_trial::replay::trial::{Results, Tried};
use heapwise_trial::{replay, statistics};

pub(super) fn json(replay: &Replay<'_>) -> String {
    let (trial, analysis) = (replay.trial, replay.analysis);
    let counts = &trial.counts;
    crate::schema::pretty(&schema::Replay {
        candidates: trial.tried.iter().map(|tried| candidate(replay, tried)).collect(),
        caveats: super::conclusions::caveats(replay),
        command: analysis.meta.command.clone(),
        conclusion: super::conclusions::conclusion(replay),
        harness_ns_per_call: trial.harness.map(|h| Harness {
            subtracted: h.bias_ns[0],
            timed: h.ns,
            untimed: h.untimed_ns,
        }),
        is_interrupted: trial.is_interrupted,
        machine: replay.machine.into(),
        process: analysis.processes.get(replay.process).map(|p| Process {
            allocator: analysis.called_main(p).to_owned(),
            command: p.command.clone(),
            pid: p.pid,
        }),
        schema: schema::SCHEMA.to_owned(),
        script: Script {
            allocations: counts.allocations,
            deallocations: counts.deallocations,
            duration_ns: trial.duration.0,
            large_blocks_with_unknown_touch: counts.large_blocks_with_unknown_touch,
            live_at_end_blocks: counts.live_blocks,
            live_at_end_bytes: counts.live_bytes.0,
            peak_live_bytes: counts.peak_live_bytes.0,
            peak_live_if_together_bytes: counts.overlap.map(|overlap| overlap.live_bytes.0),
            reallocations: counts.reallocations,
            skipped: counts.skipped,
            threads: counts.threads,
        },
        timed: trial
            .timed
            .map(|t| Timed { compression: t.compression, settle_ns: t.settle.as_nanos() as u64 }),
    })
}

fn candidate(replay: &Replay<'_>, tried: &Tried) -> Candidate {
    // Candidates that could not be tried have the same fields, without numbers.
    let nothing = Results::default();
    let results = tried.results.as_ref().unwrap_or(&nothing);
    let first = results.first.as_ref();
    let (main, last) = (main(results), last(results));
    let slowest = first
        .iter()
        .flat_map(|m| &m.slowest)
        .map(|slow| SlowCall { caller: caller(replay, slow), ns: slow.ns.round() });
    let settings = tried.candidate.settings().iter();
    Candidate {
        allocator: tried.candidate.name().to_owned(),
        at_end: last.and_then(|m| m.at_end).map(breakdown),
        at_peak: main.and_then(|m| m.at_peak).map(breakdown),
        candidate: tried.candidate.to_string(),
        cpu_ns: results.allocator_ns.map(Spread::rounded),
        heap_cpu_ns: results.heap_ns.map(Spread::rounded),
        latency_ns: first.map(|m| Latency {
            allocate: latency(&m.allocate),
            free: latency(&m.free),
            reallocate: latency(&m.reallocate),
        }),
        ns_per_call: per_call(results, replay.trial.counts.calls()).map(Spread::exact),
        outcome: outcome(tried).to_owned(),
        own_statistics: last.and_then(|m| m.own).map(own),
        page_faults: main.map(|m| m.page_faults.0),
        peak_rss_bytes: results.peak_rss.map(|s| s.median as u64),
        peak_rss_spread_bytes: results.peak_rss.map(Spread::rounded),
        refused: results.all().map(|m| m.refused).max(),
        rss_after_bytes: after(results).map(|(rss, _)| rss),
        rss_after_lazily_freed_bytes: after(results).map(|(_, lazy)| lazy),
        rss_at_end_bytes: main.map(|m| m.end_rss.0),
        settings: settings.map(|(name, value)| (name.to_owned(), value.to_owned())).collect(),
        slowest: slowest.collect(),
        timeline: timeline(results.timed.as_ref().or(main)),
        trouble: trouble(tried).map(|(_, words)| words),
        version: tried.version.clone(),
        wall_ns: statistics::Spread::of(results.rounds.iter().map(|m| m.wall.0 as f64)).map(Spread::rounded),
    }
}

fn latency(times: &replay::CallTimes) -> CallTimes {
    CallTimes {
        disturbed: times.disturbed,
        mean: times.mean_ns,
        p50: times.p50_ns,
        p99: times.p99_ns,
        p999: times.p999_ns,
        p9999: times.p9999_ns,
        timed: times.timed,
    }
}

fn breakdown(b: analysis::Breakdown) -> Breakdown {
    Breakdown {
        external_fragmentation_bytes: b.external_fragmentation.0,
        free_pages_bytes: b.free_pages.0,
        huge_pages_bytes: b.huge_pages.0,
        internal_fragmentation_bytes: b.internal_fragmentation.0,
        lazily_freed_bytes: b.lazily_freed.0,
        live_bytes: b.live.0,
        metadata_bytes: b.metadata.0,
        not_heap_bytes: b.not_heap.0,
        rss_bytes: b.rss.0,
        unaccounted_bytes: b.unaccounted.0,
        unrecorded_bytes: b.unrecorded.0,
    }
}

fn own(own: heapwise_allocators::OwnStatistics) -> OwnStatistics {
    OwnStatistics {
        active_bytes: own.active_bytes,
        allocated_bytes: own.allocated_bytes,
        mapped_bytes: own.mapped_bytes,
        metadata_bytes: own.metadata_bytes,
        resident_bytes: own.resident_bytes,
        retained_bytes: own.retained_bytes,
    }
}

fn timeline(measured: Option<&Measured>) -> Vec<[u64; 2]> {
    measured.map(|m| m.levels.iter().map(|l| [l.time.0, l.rss.0]).collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::super::testing::{failed, interrupted, replayed, with};
    use super::json;
    use serde_json::Value;

    #[test]
    fn what_may_be_live_in_another_run_is_a_number_and_a_sentence() {
        let parsed = |trial: &super::super::testing::MadeUp| -> Value {
            serde_json::from_str(&trial.show(json)).expect("JSON")
        };
        let trial = with([replayed("glibc", 14, 13, 0)]);
        let all = parsed(&trial);
        assert!(all["script"]["peak_live_if_together_bytes"].is_null(), "{all}");
        assert!(!all["caveats"].to_string().contains("threads meet"), "{all}");
        let all = parsed(&trial.overlapping(50, 80));
        assert_eq!(all["script"]["peak_live_if_together_bytes"], 80 << 20);
        let caveats = all["caveats"].to_string();
        assert!(
            caveats.contains("50.0 MiB were live") && caveats.contains("80.0 MiB or more if 4 threads"),
            "{caveats}"
        );
    }

    #[test]
    fn who_failed_has_the_same_fields_without_numbers() {
        let trial = with([replayed("glibc", 14, 13, 0), failed("./nix.so", "no"), interrupted("snmalloc")]);
        let all: Value = serde_json::from_str(&trial.show(json)).expect("JSON");
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
