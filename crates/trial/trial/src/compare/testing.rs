//! Runs that never were, for the tests.

use crate::compare::{Candidate, EndSource, Memory, Outcome, Output, PeakSource, Sample, Standing, Timeline};
use std::collections::BTreeMap;

/// A run with this CPU time.
pub(crate) fn sample(round: u32, cpu_ns: f64, outcome: Outcome) -> Sample {
    Sample {
        round,
        is_second: false,
        outcome,
        wall_ns: Some(cpu_ns as u64),
        cpu_ns: Some(cpu_ns as u64),
        user_ns: 0,
        system_ns: 0,
        peak_rss_bytes: Some(10 << 20),
        peak_source: PeakSource::HighWaterMark,
        peak_tree_bytes: None,
        end: Some(Memory::default()),
        end_source: EndSource::AtExit,
        minor_faults: 100,
        major_faults: 0,
        voluntary_switches: 0,
        involuntary_switches: 0,
        processes: 1,
        executable: None,
        libraries: Vec::new(),
        in_use: Some(true),
        allocators_seen: Vec::new(),
        stdout: Output::default(),
        stderr: Output::default(),
        timeline: Timeline::default(),
        load: None,
        after_load: None,
        after_settle: None,
    }
}

/// A candidate with these CPU times, one for each round; the baseline has each twice, a little apart.
pub(crate) fn standing(cpu_ns: &[f64], is_baseline: bool) -> Standing {
    let mut samples = Vec::new();
    for (round, number) in (1..).zip(cpu_ns) {
        samples.push(sample(round, *number, Outcome::Exited(0)));
        if is_baseline {
            let apart = if round % 2 == 0 { 1.008 } else { 0.993 };
            samples.push(Sample { is_second: true, ..sample(round, number * apart, Outcome::Exited(0)) });
        }
    }
    Standing {
        candidate: Candidate::default(),
        counted: (0..samples.len()).collect(),
        samples,
        findings: Vec::new(),
        differences: BTreeMap::new(),
        left_out: None,
    }
}
