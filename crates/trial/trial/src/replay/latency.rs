//! Durations in classes whose width grows with them: eight for each doubling, so each is exact to an eighth of itself.
//!
//! Short ones have a separate class for each tick.

use crate::replay::shared::CLASSES;
use heapwise_analysis::buckets::{bucket, smallest};

const BITS: u32 = 3;

/// The class of a duration in ticks.
#[inline(always)]
pub(crate) fn class(ticks: u64) -> usize {
    bucket::<BITS>(ticks | 1).min(CLASSES - 1)
}

/// The middle of a class, in ticks.
pub(crate) fn middle(class: usize) -> f64 {
    if class < 1 << BITS {
        return class as f64;
    }
    (smallest::<BITS>(class) + smallest::<BITS>(class + 1)) as f64 / 2.0
}

/// How many durations are in each class.
#[derive(Clone, Debug)]
pub(crate) struct Histogram {
    counts: Vec<u64>,
    total: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self { counts: vec![0; CLASSES], total: 0 }
    }
}

impl Histogram {
    pub(crate) fn add(&mut self, class: usize, count: u64) {
        self.counts[class] += count;
        self.total += count;
    }

    /// The mean without the longest `share`, in ticks; 0 if there are none. `sum` is that of all, to a tick: only of the longest do the
    /// middles of their classes stand for them.
    pub(crate) fn mean_without_longest(&self, share: f64, sum: u64) -> f64 {
        let wanted = (self.total as f64 * share) as u64;
        let (mut n, mut longest) = (0, 0.0);
        for (class, &count) in self.counts.iter().enumerate().rev() {
            let taken = count.min(wanted - n);
            n += taken;
            longest += taken as f64 * middle(class);
        }
        (sum as f64 - longest).max(0.0) / (self.total - n).max(1) as f64
    }

    /// The duration that a share of all does not exceed, in ticks; `None` if there are too few to distinguish it from the
    /// longest.
    pub(crate) fn quantile(&self, share: f64) -> Option<f64> {
        let beyond = self.total as f64 * (1.0 - share);
        if self.total == 0 || beyond < 1.0 {
            return None;
        }
        let wanted = (self.total as f64 * share).ceil() as u64;
        let mut sum = 0;
        let found = self.counts.iter().position(|count| {
            sum += count;
            sum >= wanted
        });
        found.map(middle)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_ascend_and_are_narrow() {
        let mut last = 0;
        for ticks in (1..100_000u64).chain((17..40).map(|n| (1u64 << n) + 12345)) {
            let class = class(ticks);
            assert!(class >= last, "{ticks}");
            assert!(class < CLASSES - 1);
            last = class;
            let error = (middle(class) - ticks as f64).abs() / ticks as f64;
            assert!(error <= 1.0 / 8.0 + 0.51, "{ticks}: {error}");
            if ticks > 16 {
                assert!(error <= 1.0 / 14.0, "{ticks}: {}", middle(class));
            }
        }
        assert_eq!(class(u64::MAX), CLASSES - 1);
    }

    #[test]
    fn quantiles_are_reported_where_there_are_enough() {
        let mut histogram = Histogram::default();
        (1..=1000u64).for_each(|ticks| histogram.add(class(ticks), 1));
        let near = |share, ticks: f64| {
            let found = histogram.quantile(share).expect("enough");
            assert!((found - ticks).abs() < ticks / 8.0, "{share}: {found}");
        };
        near(0.5, 500.0);
        near(0.99, 990.0);
        assert_eq!(histogram.quantile(0.9999), None, "a thousand calls have no slowest ten-thousandth");
        assert_eq!(Histogram::default().quantile(0.5), None);
    }

    #[test]
    fn the_longest_are_not_in_the_mean() {
        // A clock in steps of 26 ticks, and an interrupt or a wait in a hundredth.
        let mut histogram = Histogram::default();
        histogram.add(class(26), 495);
        histogram.add(class(52), 495);
        histogram.add(class(4000), 10);
        let mean = histogram.mean_without_longest(0.01, 495 * (26 + 52) + 10 * 4000);
        assert!((mean - 39.0).abs() < 3.0, "{mean}");
        assert_eq!(histogram.mean_without_longest(0.0, 1000), 1.0);
        assert_eq!(Histogram::default().mean_without_longest(0.01, 0), 0.0);
    }
}
