//! The measurements of a candidate in replays, from all rounds that it took part in.

use crate::replay::trial::Results;
use crate::replay::{Ending, Measured};
use crate::statistics::Spread;
use crate::tune::goal::Objective;

/// The measurements so far.
#[derive(Clone, Debug, Default)]
pub struct Numbers {
    peak_rss: Vec<f64>,
    rss_after: Vec<f64>,
    purged: Vec<f64>,
    heap_ns: Vec<f64>,
    allocator_ns: Vec<f64>,
    tail_ns: Vec<f64>,
    /// Page faults of replays with pauses, and of those without.
    faults: [Vec<f64>; 2],
}

impl Numbers {
    /// Adds the measurements of another rung. If it replayed with longer pauses than the rungs before (`is_truer`), their memory
    /// after the load is discarded: pauses are compressed and work is not, so with shorter pauses an allocator that waits for a
    /// time returns pages to the system that it would keep in the program.
    pub(crate) fn add(&mut self, results: &Results, is_truer: bool) {
        if is_truer && results.timed.as_ref().is_some_and(|m| m.ending == Ending::Complete) {
            self.rss_after.clear();
            self.purged.clear();
            self.faults[0].clear();
        }
        let complete = |m: &&Measured| m.ending == Ending::Complete;
        let fast = || results.first.iter().chain(&results.rounds).filter(complete);
        self.peak_rss.extend(fast().map(|m| m.peak_rss.0 as f64));
        self.tail_ns.extend(fast().filter_map(tail));
        self.faults[1].extend(fast().map(|m| m.page_faults.0 as f64));
        self.heap_ns.extend(results.heap_rounds_ns.iter().copied());
        self.allocator_ns.extend(results.allocator_rounds_ns.iter().copied());
        for timed in results.timed.iter().filter(complete) {
            let (rss, lazily_freed) = timed.settled.unwrap_or((timed.end_rss, timed.end_lazily_freed));
            // What the kernel may take at any time does not count.
            self.rss_after.push(rss.0.saturating_sub(lazily_freed.0) as f64);
            self.faults[0].push(timed.page_faults.0 as f64);
            self.purged.extend(timed.purged.map(|rss| rss.0 as f64));
            if results.first.is_none() {
                self.peak_rss.push(timed.peak_rss.0 as f64);
            }
        }
    }

    /// Invented measurements.
    #[cfg(test)]
    pub(crate) fn made_up(all: &[(Objective, &[f64])]) -> Self {
        let mut numbers = Self::default();
        for (measure, values) in all {
            let list = match measure {
                Objective::PeakRss => &mut numbers.peak_rss,
                Objective::RssAfter => &mut numbers.rss_after,
                Objective::Cpu => &mut numbers.heap_ns,
                Objective::Latency => &mut numbers.tail_ns,
            };
            list.extend_from_slice(values);
        }
        numbers
    }

    /// A measure. CPU time is that for the heap, in the allocator and for its pages, in nanoseconds; latency is that of the slowest call in a thousand.
    pub fn of(&self, measure: Objective) -> Option<Spread> {
        Spread::of(self.all(measure).iter().copied())
    }

    /// Whether nothing was measured.
    pub fn is_empty(&self) -> bool {
        Objective::ALL.into_iter().all(|measure| self.all(measure).is_empty())
    }

    /// Nanoseconds in the allocator alone, without what the first writing to pages takes.
    pub fn in_allocator(&self) -> Option<Spread> {
        Spread::of(self.allocator_ns.iter().copied())
    }

    /// All measurements of a measure.
    pub fn all(&self, measure: Objective) -> &[f64] {
        match measure {
            Objective::PeakRss => &self.peak_rss,
            Objective::RssAfter => &self.rss_after,
            Objective::Cpu => &self.heap_ns,
            Objective::Latency => &self.tail_ns,
        }
    }

    /// Page faults: in replays with pauses, or without where there were none with.
    pub fn page_faults(&self) -> Option<f64> {
        let median = |list: &Vec<f64>| Spread::of(list.iter().copied()).map(|s| s.median);
        median(&self.faults[0]).or_else(|| median(&self.faults[1]))
    }

    /// With an invented number of page faults.
    #[cfg(test)]
    pub(crate) fn with_page_faults(mut self, faults: f64) -> Self {
        self.faults[0].push(faults);
        self
    }

    /// Resident memory in bytes after a call at the end that returns free pages to the system.
    pub fn purged(&self) -> Option<f64> {
        Spread::of(self.purged.iter().copied()).map(|s| s.median)
    }
}

/// How long the slowest thousandth of calls takes: of those that allocate blocks and those that free them, whichever is
/// longer.
fn tail(measured: &Measured) -> Option<f64> {
    let (allocate, free) = (measured.allocate.p999_ns?, measured.free.p999_ns.unwrap_or(0.0));
    Some(allocate.max(free))
}
