//! A comparison of allocators, in which a program says things that would be markup.

use heapwise_trial::compare::{
    Candidate, Comparison, EndSource, Finding, FindingKind, Memory, Outcome, Output, PeakSource, Point,
    RunMeasure, Sample, Setup, Standing, Timeline, Winner,
};

const HOSTILE: &str = "</title><img src=x onerror=alert(1)>\"'&<script>alert(2)</script>";

pub(crate) fn hostile() -> Comparison {
    let names = ["default", "jemalloc:dirty_decay_ms=0", "mimalloc", HOSTILE];
    let standings = names.iter().zip(1..).map(|(name, number)| standing(name, number)).collect();
    Comparison {
        setup: Setup {
            command: vec!["server".into(), HOSTILE.into()],
            stdin: None,
            is_server: true,
            load: Some(HOSTILE.into()),
            settle_ns: Some(12_000_000_000),
            rounds: 5,
            machine: Default::default(),
            began_unix: 0,
            took_ns: 60_000_000_000,
        },
        standings,
        unavailable: Vec::new(),
        winners: vec![Winner { measure: RunMeasure::Cpu, best: None, indistinguishable: Vec::new() }],
        notes: vec![HOSTILE.into()],
        is_interrupted: false,
    }
}

fn standing(name: &str, number: u64) -> Standing {
    let samples: Vec<Sample> = (0..6).map(|round| sample(round, number)).collect();
    let finding = Finding { kind: FindingKind::Crashed, what: HOSTILE.into(), runs: 1, of: 6 };
    Standing {
        candidate: Candidate {
            label: name.into(),
            version: Some(HOSTILE.into()),
            library: (number > 1).then(|| "/lib/x.so".into()),
            ..Candidate::default()
        },
        samples,
        counted: (1..6).collect(),
        findings: if number == 4 { vec![finding] } else { Vec::new() },
        differences: Default::default(),
        left_out: None,
    }
}

fn sample(round: u32, number: u64) -> Sample {
    let mut timeline = Timeline::default();
    for at in 0..200 {
        timeline.add(Point { time_ns: at * 5_000_000, rss_bytes: ((at % 50) * number) << 18 });
    }
    let memory = Memory { rss_bytes: number << 23, lazily_freed_bytes: Some(1 << 20) };
    Sample {
        round,
        is_second: false,
        outcome: Outcome::Exited(0),
        wall_ns: Some(900_000_000 + number * 50_000_000 + u64::from(round) * 7_000_000),
        cpu_ns: Some(800_000_000 - number * 50_000_000 + u64::from(round) * 3_000_000),
        user_ns: 0,
        system_ns: 0,
        peak_rss_bytes: Some(number << 24),
        peak_source: PeakSource::HighWaterMark,
        peak_tree_bytes: None,
        end: Some(memory),
        end_source: EndSource::AtExit,
        minor_faults: 10_000 * number,
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
        timeline,
        load: None,
        after_load: Some(memory),
        after_settle: Some(memory),
    }
}
