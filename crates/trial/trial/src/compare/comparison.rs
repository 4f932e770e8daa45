//! What came out.

use crate::compare::{Candidate, Difference, Finding, RunMeasure, Sample, Spread, Unavailable, Verdict};
use heapwise_environment::MachineDescription;
use std::collections::BTreeMap;

/// A program under several allocators.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// What was done, and where.
    pub setup: Setup,
    /// One for each candidate, in the order in which they were given; the first one is the baseline.
    pub standings: Vec<Standing>,
    /// Allocators that were requested and could not take part.
    pub unavailable: Vec<Unavailable>,
    /// For each measure: the candidate that needs least.
    pub winners: Vec<Winner>,
    /// What makes the numbers less than they seem to be, in sentences.
    pub notes: Vec<String>,
    /// Whether it was ended early.
    pub is_interrupted: bool,
}

impl Comparison {
    /// The program unchanged.
    ///
    /// # Panics
    /// Never for what [`run`](crate::compare::run()) returns: the baseline is always there.
    pub fn baseline(&self) -> &Standing {
        &self.standings[0]
    }

    /// All but the baseline.
    pub fn candidates(&self) -> &[Standing] {
        self.standings.get(1..).unwrap_or_default()
    }

    /// Whether some candidate behaved differently from the baseline.
    pub fn has_findings(&self) -> bool {
        self.standings.iter().any(|standing| !standing.findings.is_empty())
    }

    /// The measures that some run has, in the order of reports.
    pub fn measures(&self) -> Vec<RunMeasure> {
        let has = |m: &RunMeasure| self.standings.iter().any(|s| s.spread(*m).is_some());
        // A server's memory when it was asked to end has no meaning if it was looked at after the load.
        let is_server = self.setup.is_server;
        RunMeasure::ALL.into_iter().filter(|m| !(is_server && *m == RunMeasure::EndRss)).filter(has).collect()
    }
}

/// What was done, and where.
#[derive(Clone, Debug)]
pub struct Setup {
    pub command: Vec<String>,
    /// What it read.
    pub stdin: Option<String>,
    /// Whether it was treated as a server.
    pub is_server: bool,
    /// What drove it.
    pub load: Option<String>,
    /// How long it was idle after that.
    pub settle_ns: Option<u64>,
    /// Rounds that count.
    pub rounds: u32,
    pub machine: MachineDescription,
    /// When it began, in seconds since 1970.
    pub began_unix: u64,
    /// How long all of it took.
    pub took_ns: u64,
}

/// A candidate with what it did.
#[derive(Clone, Debug)]
pub struct Standing {
    pub candidate: Candidate,
    /// All runs in the order in which they were made, with that of the first round, which does not count.
    pub samples: Vec<Sample>,
    /// Which of them count: those of rounds that count, with the allocator in use, which ended as the baseline's first run did, with
    /// the same load and the same output (unless the baseline's own outputs differ). Indices of `samples`.
    pub counted: Vec<usize>,
    /// What it did differently from the baseline.
    pub findings: Vec<Finding>,
    /// Compared with the baseline; empty for the baseline itself.
    pub differences: BTreeMap<RunMeasure, Difference>,
    /// Why it was not run to the end, if it was not.
    pub left_out: Option<String>,
}

impl Standing {
    /// The runs that count.
    pub fn counted(&self) -> impl Iterator<Item = &Sample> {
        self.counted.iter().filter_map(|at| self.samples.get(*at))
    }

    /// The numbers of the runs that count.
    pub fn numbers(&self, measure: RunMeasure) -> Vec<f64> {
        self.counted().filter_map(|sample| measure.of(sample)).collect()
    }

    /// Their middle and their ends.
    pub fn spread(&self, measure: RunMeasure) -> Option<Spread> {
        Spread::of(self.numbers(measure))
    }

    /// The verdict on a measure.
    pub fn verdict(&self, measure: RunMeasure) -> Option<Verdict> {
        self.differences.get(&measure).map(|difference| difference.verdict)
    }

    /// Allocators that were seen in the program, by the names of their libraries.
    pub fn allocators_seen(&self) -> Vec<&str> {
        let mut all: Vec<&str> =
            self.samples.iter().flat_map(|s| s.allocators_seen.iter().map(String::as_str)).collect();
        all.sort_unstable();
        all.dedup();
        all
    }
}

/// The candidate that needs least of something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Winner {
    pub measure: RunMeasure,
    /// The one with the lowest median among those that surely need less than the baseline; `None` if none does.
    pub best: Option<usize>,
    /// Others that cannot be distinguished from it.
    pub indistinguishable: Vec<usize>,
}
