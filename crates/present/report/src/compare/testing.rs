//! A made-up comparison: one candidate that is quick, and one that crashes and prints hostile text.

use heapwise_trial::compare::{
    Candidate, Comparison, Difference, EndSource, Finding, FindingKind, Memory, Outcome, Output, PeakSource,
    Point, RunMeasure, Sample, Setup, Standing, Timeline, Unavailable, Verdict, Winner,
};
use std::collections::BTreeMap;

fn sample(round: u32, cpu_ns: u64, outcome: Outcome) -> Sample {
    let mut timeline = Timeline::default();
    for at in 0..20 {
        timeline.add(Point { time_ns: at * 10_000_000, rss_bytes: at << 20 });
    }
    Sample {
        round,
        is_second: false,
        outcome,
        wall_ns: Some(1_100_000_000 + u64::from(round) * 1_000_000),
        cpu_ns: Some(cpu_ns),
        user_ns: cpu_ns,
        system_ns: 0,
        peak_rss_bytes: Some(20 << 20),
        peak_source: PeakSource::HighWaterMark,
        peak_tree_bytes: None,
        end: Some(Memory { rss_bytes: 10 << 20, lazily_freed_bytes: Some(1 << 20) }),
        end_source: EndSource::AtExit,
        minor_faults: 5000,
        major_faults: 1,
        voluntary_switches: 3,
        involuntary_switches: 4,
        processes: 1,
        executable: None,
        libraries: Vec::new(),
        in_use: Some(true),
        allocators_seen: Vec::new(),
        stdout: Output::default(),
        stderr: Output::default(),
        timeline,
        load: None,
        after_load: None,
        after_settle: None,
    }
}

fn standing(label: &str, cpu_ns: u64, outcome: &Outcome) -> Standing {
    let samples: Vec<Sample> = (0..6).map(|round| sample(round, cpu_ns, outcome.clone())).collect();
    let is_fine = *outcome == Outcome::Exited(0);
    Standing {
        candidate: Candidate {
            label: label.into(),
            allocator: label.into(),
            version: Some("1.2.3".into()),
            settings: vec![("delay".into(), "0".into())],
            environment: Vec::new(),
            library: (label != "default").then(|| "/lib/x.so".into()),
        },
        counted: if is_fine { (1..6).collect() } else { Vec::new() },
        samples,
        findings: Vec::new(),
        differences: BTreeMap::new(),
        left_out: None,
    }
}

pub(super) fn comparison() -> Comparison {
    let mut baseline = standing("default", 1_000_000_000, &Outcome::Exited(0));
    let second: Vec<Sample> =
        baseline.samples[1..].iter().map(|s| Sample { is_second: true, ..s.clone() }).collect();
    baseline.samples.extend(second);
    baseline.counted = (1..11).collect();
    let mut quick = standing("quick", 500_000_000, &Outcome::Exited(0));
    let difference = |verdict, ratio: f64| Difference {
        verdict,
        ratio,
        low: ratio * 0.95,
        high: ratio * 1.05,
        confidence: 0.9375,
        p: 0.0625,
        noise: 0.012,
        rounds: 5,
    };
    for measure in [RunMeasure::Wall, RunMeasure::PeakRss, RunMeasure::EndRss, RunMeasure::Faults] {
        quick.differences.insert(measure, difference(Verdict::WithinNoise, 1.001));
    }
    quick.differences.insert(RunMeasure::Cpu, difference(Verdict::Lower, 0.5));
    let mut broken = standing("broken", 1, &Outcome::Killed(11));
    broken.findings = vec![Finding {
        kind: FindingKind::Crashed,
        what: "killed by SIGSEGV, saying “\u{1b}[31m<b>|`x`”".into(),
        runs: 6,
        of: 6,
    }];
    let winner = |measure, best| Winner { measure, best, indistinguishable: Vec::new() };
    Comparison {
        setup: Setup {
            command: vec!["prog".into(), "--x".into(), "'\u{1b}<b>'".into()],
            stdin: None,
            is_server: false,
            load: None,
            settle_ns: None,
            rounds: 5,
            machine: Default::default(),
            began_unix: 1_790_000_000,
            took_ns: 23_000_000_000,
        },
        standings: vec![baseline, quick, broken],
        unavailable: vec![Unavailable {
            label: "absent".into(),
            allocator: "absent".into(),
            reason: "not installed".into(),
        }],
        winners: vec![
            winner(RunMeasure::Wall, None),
            winner(RunMeasure::Cpu, Some(1)),
            winner(RunMeasure::PeakRss, None),
        ],
        notes: vec!["the baseline ends with exit code 3".into()],
        is_interrupted: false,
    }
}
