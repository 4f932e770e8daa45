//! Made-up searches and comparisons, for tests of what is made of them.

use crate::compare::{self, Comparison, Difference, RunMeasure, Setup, Standing, Verdict};
use crate::tune::goal::{Goal, Objective};
use crate::tune::numbers::Numbers;
use crate::tune::on_program::OnProgram;
use crate::tune::score::Score;
use crate::tune::search::{Found, Ranked};
use heapwise_allocators::Candidate;
use heapwise_environment::MachineDescription;

/// A candidate with two equal measurements each: peak in bytes and time in the allocator in nanoseconds.
pub(crate) fn ranked(candidate: &str, peak: f64, allocator_ns: f64) -> Ranked {
    Ranked {
        version: "1".to_owned(),
        candidate: Candidate::parse(candidate).expect("a candidate"),
        numbers: Numbers::made_up(&[
            (Objective::PeakRss, &[peak, peak]),
            (Objective::Cpu, &[allocator_ns, allocator_ns]),
        ]),
        score: None,
        rung: 0,
        trouble: None,
        is_on_front: false,
    }
}

/// A search with these candidates; the first one is the baseline.
pub(crate) fn found(goal: &str, candidates: &[(&str, f64, f64)]) -> Found {
    let goal: Goal = goal.parse().expect("a goal");
    let mut all: Vec<Ranked> = candidates.iter().map(|(name, peak, cpu)| ranked(name, *peak, *cpu)).collect();
    let (now, base) = (all[0].candidate.clone(), all[0].numbers.clone());
    for ranked in &mut all {
        ranked.score = Score::of(&goal, &ranked.numbers, &base, 0.0);
    }
    let value = |r: &Ranked| r.score.map_or(f64::INFINITY, |s| s.value);
    all.sort_by(|a, b| value(a).total_cmp(&value(b)));
    let baseline = all.iter().position(|r| r.candidate == now).expect("it is there");
    Found {
        goal,
        ranked: all,
        baseline,
        front_of: [Objective::PeakRss, Objective::Cpu],
        counts: crate::replay::Counts::default(),
        other_ns: 0.0,
        rungs: vec![candidates.len()],
        timed: None,
        harness: None,
        is_interrupted: false,
    }
}

/// A candidate on the program itself, with ratios, their lower ends and their upper ends.
pub(crate) fn standing(label: &str, measures: &[(RunMeasure, Verdict, (f64, f64, f64))]) -> Standing {
    let difference = |&(real, verdict, (ratio, low, high)): &(RunMeasure, Verdict, (f64, f64, f64))| {
        (real, Difference { verdict, ratio, low, high, confidence: 0.9, p: 0.05, noise: 0.01, rounds: 5 })
    };
    Standing {
        candidate: compare::Candidate { label: label.to_owned(), ..compare::Candidate::default() },
        samples: Vec::new(),
        counted: Vec::new(),
        findings: Vec::new(),
        differences: measures.iter().map(difference).collect(),
        left_out: None,
    }
}

/// A comparison of these candidates with the baseline, which comes first.
pub(crate) fn on_program(candidates: Vec<Standing>) -> OnProgram {
    let standings: Vec<Standing> = std::iter::once(standing("default", &[])).chain(candidates).collect();
    let candidate = |standing: &Standing| Candidate::parse(&standing.candidate.label).expect("a candidate");
    let candidates = standings.iter().map(candidate).collect();
    let comparison = Comparison {
        setup: Setup {
            command: Vec::new(),
            stdin: None,
            is_server: true,
            load: None,
            settle_ns: None,
            rounds: 5,
            machine: MachineDescription::look(),
            began_unix: 0,
            took_ns: 0,
        },
        standings,
        unavailable: Vec::new(),
        winners: Vec::new(),
        notes: Vec::new(),
        is_interrupted: false,
    };
    OnProgram { comparison, candidates, missing: Vec::new() }
}
