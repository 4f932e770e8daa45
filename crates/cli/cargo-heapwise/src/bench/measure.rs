//! What of a benchmark is compared.
//!
//! Its names are those of the measures of recordings, but for requests, which are allocations and reallocations together.

use super::file::Counts;
use heapwise_report::export::Measure;

/// What is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BenchMeasure {
    /// Allocations and reallocations.
    Requests,
    /// Requested bytes of both.
    Bytes,
    /// The most bytes that were live at one time.
    Peak,
}

impl BenchMeasure {
    pub(crate) const ALL: [Self; 3] = [Self::Requests, Self::Bytes, Self::Peak];

    /// For people.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Requests => "requests",
            Self::Bytes => "bytes",
            Self::Peak => "peak",
        }
    }

    /// In thresholds and in JSON.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Requests => "requests",
            Self::Bytes => Measure::AllocatedBytes.name(),
            Self::Peak => Measure::PeakBytes.name(),
        }
    }

    /// The file has allocations and reallocations separately. The minimum of their sum in one iteration is not in it: the sum of
    /// the two minima is at most that, and the sum of the maxima at least the maximum, so every iteration lies within the range.
    pub(crate) fn whole(self, counts: &Counts<u64>) -> u64 {
        match self {
            Self::Requests => counts.allocations.saturating_add(counts.reallocations),
            Self::Bytes => counts.allocated_bytes,
            Self::Peak => counts.peak_live_bytes,
        }
    }

    pub(crate) fn mean(self, counts: &Counts<f64>) -> f64 {
        match self {
            Self::Requests => counts.allocations + counts.reallocations,
            Self::Bytes => counts.allocated_bytes,
            Self::Peak => counts.peak_live_bytes,
        }
    }
}
