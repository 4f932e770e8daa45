//! The one vocabulary of what a recording is measured by: the same names in differences, exports, thresholds and their JSON.

use crate::heap::{Interval, Variances, interval};
use crate::{Analysis, Numbers};

/// An amount of which less is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Measure {
    /// Blocks that were handed out.
    Allocations,
    /// Reallocations.
    Reallocations,
    /// Requested bytes of both.
    AllocatedBytes,
    /// Blocks that their thread freed before it allocated again.
    TemporaryAllocations,
    /// The most requested bytes that were live at one moment; of a site, its part of them at that moment.
    PeakBytes,
    /// Blocks that were live at that moment.
    PeakBlocks,
    /// Requested bytes that were live when their process ended; a sum over processes.
    LiveAtExitBytes,
    /// Blocks that were live when their process ended.
    LiveAtExitBlocks,
    /// The highest resident set. Sites have none.
    PeakRssBytes,
    /// How long it took, in nanoseconds. Sites have none.
    DurationNs,
}

impl Measure {
    /// Those that runs have.
    pub const ALL: [Self; 10] = [
        Self::Allocations,
        Self::Reallocations,
        Self::AllocatedBytes,
        Self::TemporaryAllocations,
        Self::PeakBytes,
        Self::PeakBlocks,
        Self::LiveAtExitBytes,
        Self::LiveAtExitBlocks,
        Self::PeakRssBytes,
        Self::DurationNs,
    ];
    /// Those that call sites have, too: the first of [`Measure::ALL`].
    pub const OF_SITES: [Self; 8] = *Self::ALL.first_chunk().expect("there are more in all");

    /// Its name on command lines, in thresholds and in reports for machines.
    pub fn name(self) -> &'static str {
        match self {
            Self::Allocations => "allocations",
            Self::Reallocations => "reallocations",
            Self::AllocatedBytes => "allocated_bytes",
            Self::TemporaryAllocations => "temporary_allocations",
            Self::PeakBytes => "peak_bytes",
            Self::PeakBlocks => "peak_blocks",
            Self::LiveAtExitBytes => "live_at_exit_bytes",
            Self::LiveAtExitBlocks => "live_at_exit_blocks",
            Self::PeakRssBytes => "peak_rss_bytes",
            Self::DurationNs => "duration_ns",
        }
    }

    /// What it is, in one line.
    pub fn about(self) -> &'static str {
        match self {
            Self::Allocations => "blocks that were handed out",
            Self::Reallocations => "blocks that were resized, in place or by moving",
            Self::AllocatedBytes => "requested bytes of allocations and reallocations",
            Self::TemporaryAllocations => "blocks that were freed before their thread allocated again",
            Self::PeakBytes => "bytes that were live when the live bytes were at their peak",
            Self::PeakBlocks => "blocks that were live at that moment",
            Self::LiveAtExitBytes => "bytes that were live when their process ended",
            Self::LiveAtExitBlocks => "blocks that were live when their process ended",
            Self::PeakRssBytes => "the highest resident set",
            Self::DurationNs => "how long it took",
        }
    }

    /// The measure of that name.
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|measure| measure.name() == name)
    }

    /// Whether it is an amount of memory.
    pub fn is_bytes(self) -> bool {
        matches!(self, Self::AllocatedBytes | Self::PeakBytes | Self::LiveAtExitBytes | Self::PeakRssBytes)
    }

    /// The amount of a whole run.
    pub fn of_run(self, analysis: &Analysis) -> u64 {
        let totals = &analysis.totals;
        match self {
            Self::Allocations => totals.allocations,
            Self::Reallocations => totals.reallocations,
            Self::AllocatedBytes => totals.allocated_bytes.0,
            Self::TemporaryAllocations => totals.temporary_allocations,
            Self::PeakBytes => totals.peak_live_bytes.0,
            Self::PeakBlocks => totals.peak_live_blocks,
            Self::LiveAtExitBytes => totals.never_freed_bytes.0,
            Self::LiveAtExitBlocks => totals.never_freed_blocks,
            Self::PeakRssBytes => analysis.memory.peak_rss.0,
            Self::DurationNs => analysis.duration.0,
        }
    }

    /// The variance of an estimate of it; 0 for what a sample says nothing of.
    pub fn variance(self, of: &Variances) -> f64 {
        match self {
            Self::Allocations => of.allocations,
            Self::Reallocations => of.reallocations,
            Self::AllocatedBytes => of.allocated_bytes,
            Self::PeakBytes => of.peak_bytes,
            Self::PeakBlocks => of.peak_blocks,
            Self::LiveAtExitBytes => of.live_at_exit_bytes,
            Self::LiveAtExitBlocks => of.live_at_exit_blocks,
            Self::TemporaryAllocations | Self::PeakRssBytes | Self::DurationNs => 0.0,
        }
    }

    /// Between which bounds an amount of it is, if that was estimated.
    pub fn interval(self, of: &Variances, estimate: u64) -> Interval {
        interval(self.variance(of), estimate)
    }

    /// The amount of a call site, or of several; 0 for what sites do not have.
    pub fn of(self, numbers: &Numbers) -> u64 {
        match self {
            Self::Allocations => numbers.allocations,
            Self::Reallocations => numbers.reallocations,
            Self::AllocatedBytes => numbers.allocated_bytes,
            Self::TemporaryAllocations => numbers.temporary_allocations,
            Self::PeakBytes => numbers.peak_bytes,
            Self::PeakBlocks => numbers.peak_blocks,
            Self::LiveAtExitBytes => numbers.live_at_exit_bytes,
            Self::LiveAtExitBlocks => numbers.live_at_exit_blocks,
            Self::PeakRssBytes | Self::DurationNs => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_measures_of_sites_are_the_first_of_all() {
        assert_eq!(Measure::ALL[..Measure::OF_SITES.len()], Measure::OF_SITES);
        for (i, measure) in Measure::ALL.into_iter().enumerate() {
            assert_eq!(measure as usize, i, "{measure:?}");
        }
    }

    #[test]
    fn names_lead_back_to_what_they_name() {
        assert!(Measure::ALL.iter().all(|m| Measure::of_name(m.name()) == Some(*m)));
        assert_eq!(Measure::of_name("rss"), None);
        let in_bytes = Measure::ALL.into_iter().filter(|measure| measure.is_bytes());
        assert!(in_bytes.into_iter().all(|measure| measure.name().ends_with("_bytes")));
    }
}
