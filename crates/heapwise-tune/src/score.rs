//! How much of what is wanted to be little a candidate needs, beside what there is now.

use crate::goal::{Goal, Measure};
use crate::numbers::Numbers;
use heapwise_statistics::Spread;

/// The weighted geometric mean of ratios: 1 is what there is now, 0.5 half of it. With what it may be as well, by the extremes of
/// all measurements.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Score {
    /// By medians.
    pub value: f64,
    /// At best.
    pub low: f64,
    /// At worst.
    pub high: f64,
}

/// Differences below this are not told apart: replays of the same script differ by as much.
const SAME: f64 = 0.02;

impl Score {
    /// Compares. `other_ns` is the time that the program takes outside of the allocator, so that a faster allocator counts as much
    /// as it would in the program. `None` if a measure that counts was not made.
    pub(crate) fn of(goal: &Goal, candidate: &Numbers, baseline: &Numbers, other_ns: f64) -> Option<Self> {
        let (mut value, mut low, mut high) = (0.0, 0.0, 0.0);
        for &(measure, weight) in goal.weights() {
            let outside = if measure == Measure::Cpu { other_ns } else { 0.0 };
            let spread = |numbers: &Numbers| -> Option<Spread> {
                let Spread { median, low, high } = numbers.of(measure)?;
                // Never zero: a logarithm follows.
                let with = |x: f64| (x + outside).max(1.0);
                Some(Spread { median: with(median), low: with(low), high: with(high) })
            };
            let (its, base) = (spread(candidate)?, spread(baseline)?);
            value += weight * (its.median / base.median).ln();
            low += weight * (its.low / base.high).ln();
            high += weight * (its.high / base.low).ln();
        }
        Some(Self { value: value.exp(), low: low.exp(), high: high.exp() })
    }

    /// Whether it is surely less than what there is now.
    pub fn is_better(&self) -> bool {
        self.high < 1.0 && self.value < 1.0 - SAME
    }

    /// Whether the two cannot be told apart.
    pub fn is_like(&self, other: &Self) -> bool {
        (self.value / other.value - 1.0).abs() < SAME || (self.low <= other.high && other.low <= self.high)
    }
}
