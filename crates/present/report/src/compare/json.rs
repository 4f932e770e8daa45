//! Fills `heapwise.compare/1`.

use crate::schema::Spread;
use crate::schema::compare::{
    self as schema, Candidate, Difference, EndSource, Finding, Least, Load, Memory, Output, PeakSource, Run,
    Server, Unavailable, Verdict,
};
use crate::schema::report::Exit;
use heapwise_trial::compare::{self, Comparison, Outcome, RunMeasure, Sample, Standing};
use heapwise_trial::statistics;

pub(super) fn json(comparison: &Comparison) -> String {
    crate::schema::pretty(&contents(comparison))
}

/// The contents of the JSON, which the JSON of a search includes.
pub(crate) fn contents(comparison: &Comparison) -> schema::Comparison {
    let setup = &comparison.setup;
    let measures = comparison.measures();
    let label = |at: &usize| comparison.standings.get(*at).map(|s| s.candidate.label.clone());
    let least = comparison.winners.iter().map(|winner| {
        let least = Least {
            best: winner.best.as_ref().and_then(label),
            indistinguishable: winner.indistinguishable.iter().filter_map(label).collect(),
        };
        (winner.measure.id().to_owned(), least)
    });
    let baseline = comparison.standings.first().map_or(&[][..], |standing| &standing.samples);
    let candidates = comparison.standings.iter().enumerate();
    let unavailable = comparison.unavailable.iter().map(|u| Unavailable {
        allocator: u.allocator.clone(),
        label: u.label.clone(),
        reason: u.reason.clone(),
    });
    schema::Comparison {
        began_unix: setup.began_unix,
        candidates: candidates.map(|(at, s)| candidate(s, baseline, at == 0, &measures)).collect(),
        command: setup.command.clone(),
        interrupted: comparison.is_interrupted,
        least: least.collect(),
        machine: (&setup.machine).into(),
        notes: comparison.notes.clone(),
        rounds: setup.rounds,
        schema: schema::SCHEMA.to_owned(),
        server: setup.is_server.then(|| Server { load: setup.load.clone(), settle_ns: setup.settle_ns }),
        stdin: setup.stdin.clone(),
        took_ns: setup.took_ns,
        unavailable: unavailable.collect(),
    }
}

fn candidate(
    standing: &Standing,
    baseline: &[Sample],
    is_baseline: bool,
    measures: &[RunMeasure],
) -> Candidate {
    let candidate = &standing.candidate;
    let spread = |m: RunMeasure| standing.spread(m).map(Spread::whole);
    let median = |m: RunMeasure| spread(m).map(|s| s.median);
    let memory = |of: fn(&compare::Memory) -> u64| {
        let after = |s: &Sample| s.after_settle.or(s.after_load).or(s.end);
        let all = standing.counted().filter_map(|s| Some(of(&after(s)?) as f64));
        statistics::Spread::of(all).map(|s| Spread::whole(s).median)
    };
    let differences = standing.differences.iter().map(|(m, d)| (m.id().to_owned(), difference(d)));
    let findings = standing.findings.iter().map(|f| Finding {
        kind: f.kind.name().to_owned(),
        of: f.of,
        runs: f.runs,
        what: f.what.clone(),
    });
    // The first outcome that never occurs with the baseline, otherwise the last outcome.
    let is_known = |sample: &Sample| baseline.iter().any(|other| other.outcome == sample.outcome);
    let telling = standing.samples.iter().find(|sample| !is_known(sample)).or(standing.samples.last());
    let runs = standing.samples.iter().enumerate();
    Candidate {
        against_baseline: (!is_baseline).then(|| differences.collect()),
        allocator: candidate.allocator.clone(),
        allocators_seen: standing.allocators_seen().into_iter().map(str::to_owned).collect(),
        cpu_ns: spread(RunMeasure::Cpu),
        exit: telling.map(|s| exit(&s.outcome)),
        findings: findings.collect(),
        is_baseline,
        label: candidate.label.clone(),
        left_out: standing.left_out.clone(),
        measures: measures.iter().map(|m| (m.id().to_owned(), spread(*m))).collect(),
        outcome: telling.map(|s| s.outcome.name().to_owned()),
        page_faults: median(RunMeasure::Faults),
        peak_rss_bytes: median(RunMeasure::PeakRss),
        rss_after_bytes: memory(|m| m.rss_bytes),
        rss_after_held_bytes: memory(compare::Memory::held_bytes),
        runs: runs.map(|(at, s)| run(s, standing.counted.contains(&at))).collect(),
        runs_counted: standing.counted.len(),
        settings: candidate.settings.iter().cloned().collect(),
        version: candidate.version.clone(),
        wall_ns: spread(RunMeasure::Wall),
    }
}

fn difference(difference: &compare::Difference) -> Difference {
    let compare::Difference { verdict, ratio, low, high, confidence, p, noise, rounds } = *difference;
    let verdict = match verdict {
        compare::Verdict::Lower => Verdict::Lower,
        compare::Verdict::Higher => Verdict::Higher,
        compare::Verdict::WithinNoise => Verdict::WithinNoise,
        compare::Verdict::TooFew => Verdict::TooFewRounds,
    };
    Difference { confidence, high, low, noise, p, ratio, rounds, verdict }
}

fn exit(outcome: &Outcome) -> Exit {
    Exit { code: outcome.code(), signal: outcome.signal() }
}

fn run(sample: &Sample, counts: bool) -> Run {
    Run {
        after_load: sample.after_load.map(memory),
        after_settle: sample.after_settle.map(memory),
        at_end: sample.end.map(memory),
        at_end_source: match sample.end_source {
            compare::EndSource::AtExit => EndSource::AtExit,
            compare::EndSource::LastSample => EndSource::LastSample,
        },
        counts,
        cpu_ns: sample.cpu_ns,
        executable: sample.executable.as_ref().map(|path| path.to_string_lossy().into_owned()),
        exit: exit(&sample.outcome),
        in_use: sample.in_use,
        involuntary_switches: sample.involuntary_switches,
        load: sample.load.as_ref().map(|load| Load {
            exit: exit(&load.outcome),
            outcome: load.outcome.name().to_owned(),
            stdout: output(&load.stdout),
            wall_ns: load.wall_ns,
        }),
        major_faults: sample.major_faults,
        minor_faults: sample.minor_faults,
        outcome: sample.outcome.name().to_owned(),
        peak_rss_bytes: sample.peak_rss_bytes,
        peak_source: match sample.peak_source {
            compare::PeakSource::HighWaterMark => PeakSource::HighWaterMark,
            compare::PeakSource::ResourceUsage => PeakSource::ResourceUsage,
            compare::PeakSource::Sampled => PeakSource::Sampled,
        },
        peak_tree_rss_bytes: sample.peak_tree_bytes,
        processes: sample.processes,
        round: sample.round,
        rss_over_time: sample.timeline.points().iter().map(|p| [p.time_ns, p.rss_bytes]).collect(),
        stderr: output(&sample.stderr),
        stdout: output(&sample.stdout),
        system_ns: sample.system_ns,
        user_ns: sample.user_ns,
        voluntary_switches: sample.voluntary_switches,
        wall_ns: sample.wall_ns,
    }
}

fn memory(memory: compare::Memory) -> Memory {
    Memory {
        held_bytes: memory.held_bytes(),
        lazily_freed_bytes: memory.lazily_freed_bytes,
        rss_bytes: memory.rss_bytes,
    }
}

fn output(output: &compare::Output) -> Output {
    let sha256 = output.hash.iter().map(|byte| format!("{byte:02x}")).collect();
    Output { bytes: output.bytes, sha256 }
}

#[cfg(test)]
mod tests {
    use super::super::testing::comparison;
    use super::*;
    use serde_json::{Value, json as value};

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
