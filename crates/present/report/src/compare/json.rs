//! The schema `heapwise.compare/1`: field names are a contract, see docs/compare.md.

use heapwise_trial::compare::{
    Comparison, Difference, EndSource, Memory, Output, PeakSource, RunMeasure, Sample, Spread, Standing,
    Verdict,
};
use serde_json::{Map, Value, json as value};

/// The value of the field `schema`.
pub const SCHEMA: &str = "heapwise.compare/1";

pub(super) fn json(comparison: &Comparison) -> String {
    let setup = &comparison.setup;
    let machine = &setup.machine;
    let measures = comparison.measures();
    let label = |at: &usize| comparison.standings.get(*at).map(|s| s.candidate.label.clone());
    let winners: Map<String, Value> = comparison
        .winners
        .iter()
        .map(|winner| {
            let others: Vec<_> = winner.not_told_apart.iter().filter_map(label).collect();
            let best = winner.best.as_ref().and_then(label);
            (winner.measure.id().to_owned(), value!({"best": best, "not_told_apart": others}))
        })
        .collect();
    let baseline = comparison.standings.first().map_or(&[][..], |standing| &standing.samples);
    let all = value!({
        "schema": SCHEMA,
        "command": setup.command,
        "stdin": setup.stdin,
        "server": setup.is_server.then(|| value!({"load": setup.load, "settle_ns": setup.settle_ns})),
        "rounds": setup.rounds,
        "began_unix": setup.began_unix,
        "took_ns": setup.took_ns,
        "interrupted": comparison.is_interrupted,
        "machine": crate::machine::json(machine),
        "candidates": comparison.standings.iter().enumerate().map(|(at, s)| candidate(s, baseline, at == 0, &measures)).collect::<Vec<_>>(),
        "unavailable": comparison.unavailable.iter().map(|u| value!({
            "label": u.label, "allocator": u.allocator, "reason": u.reason,
        })).collect::<Vec<_>>(),
        "least": winners,
        "notes": comparison.notes,
    });
    crate::escape::terminal::json(&format!("{all:#}\n")).into_owned()
}

fn candidate(standing: &Standing, baseline: &[Sample], is_baseline: bool, measures: &[RunMeasure]) -> Value {
    let candidate = &standing.candidate;
    let median = |m: RunMeasure| standing.spread(m).map(|s| s.median.round() as u64);
    let memory = |of: fn(&Memory) -> u64| {
        let after = |s: &Sample| s.after_settle.or(s.after_load).or(s.end);
        Spread::of(standing.counted().filter_map(|s| Some(of(&after(s)?) as f64)))
            .map(|s| s.median.round() as u64)
    };
    let settings: Map<String, Value> =
        candidate.settings.iter().map(|(name, setting)| (name.clone(), value!(setting))).collect();
    let spreads: Map<String, Value> =
        measures.iter().map(|m| (m.id().to_owned(), spread(standing.spread(*m)))).collect();
    let differences: Map<String, Value> =
        standing.differences.iter().map(|(m, d)| (m.id().to_owned(), difference(d))).collect();
    // How it ended when it did not end as the program as it is ever does, else how it ended last.
    let is_known = |sample: &Sample| baseline.iter().any(|other| other.outcome == sample.outcome);
    let telling = standing.samples.iter().find(|sample| !is_known(sample)).or(standing.samples.last());
    value!({
        "label": candidate.label,
        "allocator": candidate.allocator,
        "version": candidate.version,
        "settings": settings,
        "is_baseline": is_baseline,
        "allocators_seen": standing.allocators_seen(),
        "runs_counted": standing.counted.len(),
        "peak_rss_bytes": median(RunMeasure::PeakRss),
        "rss_after_bytes": memory(|m| m.rss_bytes),
        "rss_after_held_bytes": memory(Memory::held_bytes),
        "cpu_ns": spread(standing.spread(RunMeasure::Cpu)),
        "wall_ns": spread(standing.spread(RunMeasure::Wall)),
        "page_faults": median(RunMeasure::Faults),
        "outcome": telling.map(|s| s.outcome.name()),
        "exit": telling.map(|s| value!({"code": s.outcome.code(), "signal": s.outcome.signal()})),
        "findings": standing.findings.iter().map(|f| value!({
            "kind": f.kind.name(), "what": f.what, "runs": f.runs, "of": f.of,
        })).collect::<Vec<_>>(),
        "left_out": standing.left_out,
        "measures": spreads,
        "against_baseline": (!is_baseline).then_some(differences),
        "runs": standing.samples.iter().enumerate().map(|(at, s)| run(s, standing.counted.contains(&at))).collect::<Vec<_>>(),
    })
}

fn spread(spread: Option<Spread>) -> Value {
    spread.map_or(Value::Null, |Spread { median, low, high }| {
        value!({"median": median.round() as u64, "low": low.round() as u64, "high": high.round() as u64})
    })
}

fn difference(difference: &Difference) -> Value {
    let Difference { verdict, ratio, low, high, confidence, p, noise, rounds } = difference;
    let verdict = match verdict {
        Verdict::Lower => "lower",
        Verdict::Higher => "higher",
        Verdict::WithinNoise => "within-noise",
        Verdict::TooFew => "too-few-rounds",
    };
    value!({
        "verdict": verdict, "ratio": ratio, "low": low, "high": high, "confidence": confidence, "p": p, "noise": noise,
        "rounds": rounds,
    })
}

fn run(sample: &Sample, counts: bool) -> Value {
    value!({
        "round": sample.round,
        "counts": counts,
        "outcome": sample.outcome.name(),
        "exit": {"code": sample.outcome.code(), "signal": sample.outcome.signal()},
        "wall_ns": sample.wall_ns,
        "cpu_ns": sample.cpu_ns,
        "user_ns": sample.user_ns,
        "system_ns": sample.system_ns,
        "peak_rss_bytes": sample.peak_rss_bytes,
        "peak_source": match sample.peak_source {
            PeakSource::HighWaterMark => "high-water-mark",
            PeakSource::ResourceUsage => "resource-usage",
            PeakSource::Sampled => "sampled",
        },
        "peak_tree_rss_bytes": sample.peak_tree_bytes,
        "at_end": sample.end.map(memory),
        "at_end_source": match sample.end_source {
            EndSource::AtExit => "at-exit",
            EndSource::LastSample => "last-sample",
        },
        "minor_faults": sample.minor_faults,
        "major_faults": sample.major_faults,
        "voluntary_switches": sample.voluntary_switches,
        "involuntary_switches": sample.involuntary_switches,
        "processes": sample.processes,
        "executable": sample.executable.as_ref().map(|path| path.to_string_lossy()),
        "in_use": sample.in_use,
        "stdout": output(&sample.stdout),
        "stderr": output(&sample.stderr),
        "load": sample.load.as_ref().map(|load| value!({
            "outcome": load.outcome.name(),
            "exit": {"code": load.outcome.code(), "signal": load.outcome.signal()},
            "wall_ns": load.wall_ns,
            "stdout": output(&load.stdout),
        })),
        "after_load": sample.after_load.map(memory),
        "after_settle": sample.after_settle.map(memory),
        "rss_over_time": sample.timeline.points().iter().map(|p| value!([p.time_ns, p.rss_bytes])).collect::<Vec<_>>(),
    })
}

fn memory(memory: Memory) -> Value {
    value!({
        "rss_bytes": memory.rss_bytes,
        "lazily_freed_bytes": memory.lazily_freed_bytes,
        "held_bytes": memory.held_bytes(),
    })
}

fn output(output: &Output) -> Value {
    let hash: String = output.hash.iter().map(|byte| format!("{byte:02x}")).collect();
    value!({"bytes": output.bytes, "sha256": hash})
}

#[cfg(test)]
mod tests {
    use super::super::testing::comparison;
    use super::*;
    use heapwise_trial::compare::Outcome;

    #[test]
    fn the_fields_that_others_rely_on_are_there() {
        let all: Value = serde_json::from_str(&json(&comparison())).unwrap();
        assert_eq!(all["schema"], "heapwise.compare/1");
        let candidates = all["candidates"].as_array().unwrap();
        assert_eq!(candidates.len(), 3);
        let quick = &candidates[1];
        assert_eq!((&quick["allocator"], &quick["version"]), (&value!("quick"), &value!("1.2.3")));
        assert_eq!(quick["settings"]["delay"], "0");
        assert_eq!(quick["cpu_ns"]["median"], 500_000_000);
        assert_eq!(quick["against_baseline"]["cpu_ns"]["verdict"], "lower");
        assert_eq!(quick["against_baseline"]["wall_ns"]["verdict"], "within-noise");
        assert_eq!(quick["runs"].as_array().unwrap().len(), 6);
        assert!(quick["peak_rss_bytes"].is_u64() && quick["rss_after_bytes"].is_u64());
        assert_eq!(all["least"]["cpu_ns"]["best"], "quick");
        assert_eq!(candidates[2]["findings"][0]["kind"], "crashed");
        assert_eq!(candidates[2]["outcome"], "killed");
        // One crash is not hidden by the runs after it, whether it counts as the whole of the program or not.
        let mut once = comparison();
        once.standings[2].samples.iter_mut().skip(2).for_each(|s| s.outcome = Outcome::Exited(0));
        let all_of_once: Value = serde_json::from_str(&json(&once)).unwrap();
        let crashed = &all_of_once["candidates"][2];
        assert_eq!((&crashed["outcome"], &crashed["exit"]["signal"]), (&value!("killed"), &value!(11)));
        assert_eq!(all_of_once["candidates"][1]["exit"]["code"], 0);
        assert_eq!(candidates[0]["against_baseline"], Value::Null);
    }
}
