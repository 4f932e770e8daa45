//! Between which bounds an estimate lies.

use std::ops::AddAssign;

/// The variances of the sums of a sample. Sums of several sites have the sums of their variances, since each block was recorded
/// or not whatever became of the others. All are 0 where every block was recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Variances {
    pub(crate) allocations: f64,
    pub(crate) reallocations: f64,
    pub(crate) allocated_bytes: f64,
    pub(crate) peak_bytes: f64,
    pub(crate) peak_blocks: f64,
    pub(crate) live_at_exit_bytes: f64,
    pub(crate) live_at_exit_blocks: f64,
}

impl AddAssign for Variances {
    fn add_assign(&mut self, other: Self) {
        self.allocations += other.allocations;
        self.reallocations += other.reallocations;
        self.allocated_bytes += other.allocated_bytes;
        self.peak_bytes += other.peak_bytes;
        self.peak_blocks += other.peak_blocks;
        self.live_at_exit_bytes += other.live_at_exit_bytes;
        self.live_at_exit_blocks += other.live_at_exit_blocks;
    }
}

/// Bounds between which the truth is 19 times out of 20, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interval {
    pub low: u64,
    pub high: u64,
}

impl Interval {
    /// How far the bounds are from the estimate, as in `± 6.3 %` or `-91 to +258 %`; `None` if it is exact.
    pub fn around(self, estimate: u64) -> Option<String> {
        if self.low == self.high {
            return None;
        }
        let part = |bound: u64| (bound as f64 - estimate as f64) / estimate.max(1) as f64 * 100.0;
        let (below, above) = (-part(self.low), part(self.high));
        Some(match above {
            ..10.0 => format!("± {:.1} %", (below + above) / 2.0),
            ..30.0 => format!("± {:.0} %", (below + above) / 2.0),
            _ => format!("-{below:.0} to +{above:.0} %"),
        })
    }
}

/// Between which bounds an amount is that was estimated with a variance.
///
/// How many blocks of a place are recorded is a count of rare events. Its exact bounds are quantiles of gamma distributions, which
/// hold for sums of blocks that stand for different numbers, too, with the shape and scale that give the sum its mean and variance
/// (Fay and Feuer, Statistics in Medicine 16, 1997). With many samples they are the estimate and two standard errors.
pub(crate) fn interval(variance: f64, estimate: u64) -> Interval {
    let mean = estimate as f64;
    if variance <= 0.0 || mean <= 0.0 {
        return Interval { low: estimate, high: estimate };
    }
    // What one more sample would have added.
    let one = variance / mean;
    let low = gamma_quantile(mean, variance, -NORMAL_95);
    let high = gamma_quantile(mean + one, variance + one * one, NORMAL_95);
    Interval { low: low.floor() as u64, high: high.ceil() as u64 }
}

/// 95 % of a normal distribution are at most so many standard deviations from its mean.
const NORMAL_95: f64 = 1.959_964;

/// The quantile of a gamma distribution of this mean and variance that is a normal distribution's at `z`, by the cube root of Wilson
/// and Hilferty (1931); its lower ones are a little too low for shapes around 1.
fn gamma_quantile(mean: f64, variance: f64, z: f64) -> f64 {
    let shape = mean * mean / variance;
    let root = 1.0 - 1.0 / (9.0 * shape) + z / (3.0 * shape.sqrt());
    mean * root.max(0.0).powi(3)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(samples: u64, weight: u64) -> Interval {
        interval(samples as f64 * (weight as f64 - 1.0) * weight as f64, samples * weight)
    }

    #[test]
    fn what_was_counted_exactly_has_no_width() {
        assert_eq!(interval(0.0, 7), Interval { low: 7, high: 7 });
        assert_eq!(of(5, 1), Interval { low: 5, high: 5 });
    }

    #[test]
    fn a_single_sample_says_hardly_anything_and_many_say_two_standard_errors() {
        // A Poisson count of 1 is from a mean between 0.025 and 5.57, one of 10,000 from one between 9805 and 10198.
        let one = of(1, 100_000);
        assert!(one.low <= 2_500 && (550_000..565_000).contains(&one.high), "{one:?}");
        let many = of(10_000, 1_000);
        assert!(many.low.abs_diff(9_805_000) < 3_000 && many.high.abs_diff(10_198_000) < 3_000, "{many:?}");
    }

    #[test]
    fn bounds_that_are_not_alike_are_told_apart() {
        let text = |samples| of(samples, 100).around(samples * 100).unwrap_or_default();
        assert_eq!((text(10_000).as_str(), text(100).as_str()), ("± 2.0 %", "± 20 %"));
        assert_eq!(text(2), "-89 to +260 %");
        assert_eq!(of(3, 1).around(3), None);
    }

    #[test]
    fn intervals_hold_the_truth_19_times_out_of_20() {
        let weight = 4096;
        for mean in [1.0f64, 2.0, 3.5, 7.0, 16.0, 50.0, 200.0] {
            let truth = (mean * weight as f64) as u64;
            let (mut covered, mut probability) = (0.0, (-mean).exp());
            for samples in 0..600u64 {
                if samples > 0 {
                    probability *= mean / samples as f64;
                    let Interval { low, high } = of(samples, weight);
                    covered += if (low..=high).contains(&truth) { probability } else { 0.0 };
                } else {
                    // A place without a sample is in no report.
                    covered += probability;
                }
            }
            assert!((0.95..1.0).contains(&covered), "{covered} of a mean of {mean}");
        }
    }
}
