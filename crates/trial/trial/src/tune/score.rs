//! How much a candidate needs of what the goal minimises, compared with the baseline.

use crate::statistics::{MATTERS, Spread};
use crate::tune::goal::{Goal, Objective};
use crate::tune::numbers::Numbers;

/// The weighted geometric mean of ratios: 1 is the baseline, 0.5 half of it. With its range, by the extremes of all measurements.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Score {
    /// By medians.
    pub value: f64,
    /// At best.
    pub low: f64,
    /// At worst.
    pub high: f64,
}

/// Smaller differences do not count: replays of the same script differ by as much.
const SAME: f64 = 0.02;

impl Score {
    /// Compares. `other_ns` is the time that the program takes outside of the allocator, so that a faster allocator counts as much
    /// as it would in the program. `None` if a measure that counts was not made.
    pub(crate) fn of(goal: &Goal, candidate: &Numbers, baseline: &Numbers, other_ns: f64) -> Option<Self> {
        let (mut value, mut low, mut high) = (0.0, 0.0, 0.0);
        for &(measure, weight) in goal.weights() {
            let outside = if measure == Objective::Cpu { other_ns } else { 0.0 };
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

    /// Whether it is surely less than the baseline.
    pub fn is_better(&self) -> bool {
        self.high < 1.0 && self.value < 1.0 - SAME
    }

    /// Whether it needs so much less that it is advice.
    pub fn is_worth_a_change(&self) -> bool {
        self.value <= 1.0 - MATTERS
    }

    /// Whether the two cannot be distinguished.
    pub fn is_like(&self, other: &Self) -> bool {
        (self.value / other.value - 1.0).abs() < SAME || (self.low <= other.high && other.low <= self.high)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn score(
        goal: &str,
        its: &[(Objective, &[f64])],
        base: &[(Objective, &[f64])],
        other_ns: f64,
    ) -> Option<Score> {
        let goal: Goal = goal.parse().expect("a goal");
        Score::of(&goal, &Numbers::made_up(its), &Numbers::made_up(base), other_ns)
    }

    #[test]
    fn a_score_is_a_ratio_and_its_ends_are_those_of_all_rounds() {
        let its: &[(Objective, &[f64])] = &[(Objective::PeakRss, &[40.0, 50.0, 60.0])];
        let base: &[(Objective, &[f64])] = &[(Objective::PeakRss, &[80.0, 100.0, 120.0])];
        let score = score("rss", its, base, 0.0).expect("both were measured");
        let is = |a: f64, b: f64| (a - b).abs() < 1e-9;
        assert!(
            is(score.value, 0.5) && is(score.low, 40.0 / 120.0) && is(score.high, 60.0 / 80.0),
            "{score:?}"
        );
        assert!(score.is_better());
    }

    #[test]
    fn time_in_the_allocator_counts_as_much_as_in_the_program() {
        let (its, base): (&[_], &[_]) = (&[(Objective::Cpu, &[5.0][..])], &[(Objective::Cpu, &[10.0][..])]);
        let alone = score("cpu", its, base, 0.0).expect("measured").value;
        let within = score("cpu", its, base, 90.0).expect("measured").value;
        assert!((alone - 0.5).abs() < 1e-9 && (within - 0.95).abs() < 1e-9, "{alone} {within}");
    }

    #[test]
    fn weights_are_those_of_a_geometric_mean_and_what_is_missing_is_no_score() {
        let its: &[(Objective, &[f64])] = &[(Objective::PeakRss, &[25.0]), (Objective::Cpu, &[200.0])];
        let base: &[(Objective, &[f64])] = &[(Objective::PeakRss, &[100.0]), (Objective::Cpu, &[100.0])];
        let value = score("rss=1,cpu=2", its, base, 0.0).expect("measured").value;
        assert!((value - 1.0).abs() < 1e-9, "a quarter once and twice as much twice: {value}");
        assert_eq!(score("balanced", its, base, 0.0), None);
    }

    #[test]
    fn better_is_beyond_noise_and_like_is_within_it() {
        let of = |value, low, high| Score { value, low, high };
        assert!(!of(0.99, 0.98, 0.995).is_better(), "by less than replays differ");
        assert!(!of(0.9, 0.7, 1.1).is_better(), "not surely");
        assert!(of(0.9, 0.85, 0.95).is_better());
        assert!(of(0.9, 0.9, 0.9).is_like(&of(0.91, 0.91, 0.91)));
        assert!(of(0.8, 0.7, 0.9).is_like(&of(0.9, 0.85, 0.95)));
        assert!(!of(0.5, 0.5, 0.5).is_like(&of(0.9, 0.85, 0.95)));
    }
}
