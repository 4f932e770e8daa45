//! Made-up trials, for tests of their reports.

use super::Replay;
use heapwise_allocators::Candidate;
use heapwise_analysis::{Analysis, Bytes, Nanos, analyze};
use heapwise_environment::MachineDescription;
use heapwise_trace::file::records::Meta;
use heapwise_trace::file::{Reader, Writer};
use heapwise_trial::replay::trial::{Results, Timed, Trial, Tried};
use heapwise_trial::replay::{CallTimes, Counts, Ending, Measured, Overlap};
use heapwise_trial::statistics::Spread;
use std::time::Duration;

/// A trial with all that a report of it needs.
pub(super) struct MadeUp {
    trial: Trial,
    analysis: Analysis,
}

impl MadeUp {
    /// The same, of which so much was live, and so much might be in another run, in MiB.
    pub(super) fn overlapping(mut self, peak: u64, together: u64) -> Self {
        let overlap = Overlap { threads: 4, live_bytes: Bytes(together << 20) };
        self.trial.counts.peak_live_bytes = Bytes(peak << 20);
        self.trial.counts.overlap = Some(overlap);
        self
    }

    pub(super) fn show<T>(&self, how: impl FnOnce(&Replay<'_>) -> T) -> T {
        let machine = MachineDescription::default();
        let now = Candidate::parse("glibc").expect("a candidate");
        let (trial, analysis) = (&self.trial, &self.analysis);
        how(&Replay { trial, analysis, process: 0, now: &now, machine: &machine })
    }
}

/// A trial with pauses of these candidates.
pub(super) fn with(tried: impl IntoIterator<Item = Tried>) -> MadeUp {
    let written = Writer::new(Vec::new(), &Meta::default()).expect("memory").into_inner();
    let reader = Reader::new(written.as_slice()).expect("a recording");
    let timed = Timed { compression: 1, settle: Duration::from_secs(1) };
    let trial = Trial {
        counts: Counts { allocations: 1000, threads: 1, ..Counts::default() },
        duration: Nanos(1_000_000),
        harness: None,
        timed: Some(timed),
        tried: tried.into_iter().collect(),
        is_interrupted: false,
    };
    MadeUp { trial, analysis: analyze(reader, &Default::default(), |_| {}).expect("a recording") }
}

/// A candidate with its peak, what is left after the load, and how much of that is lazily freed, in MiB.
pub(super) fn replayed(name: &str, peak: u64, after: u64, lazy: u64) -> Tried {
    let [peak, after, lazy] = [peak, after, lazy].map(|n| n << 20);
    let measured = Measured {
        ending: Ending::Complete,
        peak_rss: Bytes(peak),
        end_rss: Bytes(after),
        end_lazily_freed: Bytes(lazy),
        settled: Some((Bytes(after), Bytes(lazy))),
        purged: None,
        own: None,
        levels: Vec::new(),
        at_peak: None,
        at_end: None,
        wall: Nanos(1_000_000),
        cpu: Nanos(1_000_000),
        page_faults: (peak >> 12, 0),
        calls: 1000,
        refused: 0,
        live: (0, Bytes(0)),
        allocate: CallTimes::default(),
        free: CallTimes::default(),
        reallocate: CallTimes::default(),
        slowest: Vec::new(),
    };
    results(name, Ok(Results { timed: Some(measured.clone()), ..of(vec![measured]) }))
}

/// One that could not be tried.
pub(super) fn failed(name: &str, why: &str) -> Tried {
    results(name, Err(why.to_owned()))
}

/// One that was not reached.
pub(super) fn interrupted(name: &str) -> Tried {
    results(name, Ok(of(Vec::new())))
}

fn results(name: &str, results: Result<Results, String>) -> Tried {
    let candidate = Candidate::parse(name).expect("a candidate");
    Tried { version: candidate.version(), candidate, results }
}

fn of(measured: Vec<Measured>) -> Results {
    let times = || measured.iter().map(|m| m.cpu.0 as f64);
    Results {
        peak_rss: Spread::of(measured.iter().map(|m| m.peak_rss.0 as f64)),
        allocator_rounds_ns: times().collect(),
        allocator_ns: Spread::of(times()),
        heap_rounds_ns: times().collect(),
        heap_ns: Spread::of(times()),
        first: measured.first().cloned(),
        rounds: measured,
        timed: None,
    }
}
