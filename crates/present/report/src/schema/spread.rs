//! A figure and how far it spread over rounds.

use heapwise_trial::statistics;
use serde::{Deserialize, Serialize};

/// A median, and the interval in which it lies as far as the rounds say.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Spread<N> {
    /// The upper end.
    pub high: N,
    /// The lower end.
    pub low: N,
    /// The median.
    pub median: N,
}

impl Spread<u64> {
    /// Whole nanoseconds or bytes: what is behind the point says nothing.
    pub(crate) fn whole(spread: statistics::Spread) -> Self {
        let statistics::Spread { median, low, high } = spread;
        Self { high: high.round() as u64, low: low.round() as u64, median: median.round() as u64 }
    }
}

impl Spread<i64> {
    /// The same of what may also be less than nothing.
    pub(crate) fn signed(spread: statistics::Spread) -> Self {
        let statistics::Spread { median, low, high } = spread;
        Self { high: high.round() as i64, low: low.round() as i64, median: median.round() as i64 }
    }
}

impl Spread<f64> {
    /// Rounded as well, but written with a point.
    #[cfg(target_os = "linux")]
    pub(crate) fn rounded(spread: statistics::Spread) -> Self {
        let statistics::Spread { median, low, high } = spread;
        Self { high: high.round(), low: low.round(), median: median.round() }
    }

    /// As it was measured.
    pub(crate) fn exact(statistics::Spread { median, low, high }: statistics::Spread) -> Self {
        Self { high, low, median }
    }
}
