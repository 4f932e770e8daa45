//! What changed since the baseline, and what of it counts.
//!
//! A measure is *worse* if no iteration of the new run needed as little as the baseline's worst one, and if the mean rose by more
//! than the threshold. So an iteration that now and then grows a table is not taken for a change, and in benchmarks whose iterations
//! are all alike, which is nearly all of them, one allocation more is seen. Zero is a result like any other: a rise from it is beyond
//! every threshold, and has no percentage.

use super::file::Bench;
use super::folder::Found;
use super::measure::BenchMeasure;
use super::threshold::Thresholds;
use heapwise_report::diff::Limit;
pub(crate) use heapwise_report::schema::bench_diff::{Level, Verdict};
use std::collections::BTreeMap;

impl BenchMeasure {
    /// What a benchmark needs of it.
    fn level(self, bench: &Bench) -> Level {
        Level {
            first: self.whole(&bench.first),
            max: self.whole(&bench.max),
            mean: self.mean(&bench.mean),
            min: self.whole(&bench.min),
        }
    }
}

/// A measure before and now.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pair {
    pub(crate) measure: BenchMeasure,
    pub(crate) old: Option<Level>,
    pub(crate) new: Option<Level>,
    pub(crate) verdict: Verdict,
}

impl Pair {
    /// How much more there is now.
    pub(crate) fn change(&self) -> Option<f64> {
        Some(self.new?.mean - self.old?.mean)
    }

    /// The first iterations before and now, if they differ and at least one of them is outside the range of its later iterations.
    pub(crate) fn first_change(&self) -> Option<[u64; 2]> {
        let (old, new) = (self.old?, self.new?);
        let is_special = old.is_first_special() || new.is_first_special();
        (is_special && old.first != new.first).then_some([old.first, new.first])
    }

    /// The change as a part of what there was, if there was anything.
    pub(crate) fn share(&self) -> Option<f64> {
        let old = self.old?.mean;
        self.change().filter(|_| old > 0.0).map(|change| change / old)
    }
}

/// A benchmark before and now.
#[derive(Clone, Debug)]
pub(crate) struct Row<'a> {
    pub(crate) target: &'a str,
    pub(crate) id: &'a str,
    /// Iterations before and now.
    pub(crate) iterations: [Option<u64>; 2],
    pub(crate) pairs: [Pair; 3],
    pub(crate) verdict: Verdict,
}

impl Row<'_> {
    /// What first iterations needed before and now, where that changed.
    pub(crate) fn first_changes(&self) -> impl Iterator<Item = (BenchMeasure, [u64; 2])> {
        self.pairs.iter().filter_map(|pair| Some((pair.measure, pair.first_change()?)))
    }
}

/// All benchmarks.
#[derive(Clone, Debug)]
pub(crate) struct Comparison<'a> {
    /// Name of the baseline, if there is one.
    pub(crate) baseline: Option<&'a str>,
    pub(crate) thresholds: Thresholds,
    /// In the order of their names.
    pub(crate) rows: Vec<Row<'a>>,
}

impl<'a> Comparison<'a> {
    /// Compares what was measured with a baseline, or with nothing.
    pub(crate) fn new(
        baseline: Option<&'a str>,
        old: Option<&'a [Found]>,
        new: &'a [Found],
        thresholds: Thresholds,
    ) -> Self {
        let mut both: BTreeMap<(&str, &str), [Option<&Bench>; 2]> = BTreeMap::new();
        for (at, side) in [old.unwrap_or_default(), new].into_iter().enumerate() {
            for found in side {
                both.entry(found.key()).or_default()[at] = Some(&found.bench);
            }
        }
        let rows = both.into_iter().map(|((target, id), [old, new])| {
            let mut verdict = match (old, new) {
                (Some(_), None) => Verdict::Vanished,
                _ if baseline.is_none() => Verdict::Measured,
                (None, _) => Verdict::New,
                (Some(_), Some(_)) => Verdict::Same,
            };
            let pairs = BenchMeasure::ALL.map(|measure| {
                let level = |bench: Option<&Bench>| bench.map(|bench| measure.level(bench));
                let (old, new) = (level(old), level(new));
                let verdict = match (&old, &new) {
                    (Some(old), Some(new)) => judge(old, new, thresholds.of(measure)),
                    _ => verdict,
                };
                Pair { measure, old, new, verdict }
            });
            if verdict == Verdict::Same {
                // A benchmark that is worse in one measure and better in another counts as worse.
                let order = [Verdict::Worse, Verdict::Better, Verdict::Varies];
                let seen = |wanted: &Verdict| pairs.iter().any(|pair| pair.verdict == *wanted);
                verdict = order.into_iter().find(seen).unwrap_or(Verdict::Same);
            }
            let iterations = [old, new].map(|bench| bench.map(|bench| bench.iterations));
            Row { target, id, iterations, pairs, verdict }
        });
        Self { baseline, thresholds, rows: rows.collect() }
    }

    /// How many benchmarks came out like this.
    pub(crate) fn count(&self, verdict: Verdict) -> usize {
        self.rows.iter().filter(|row| row.verdict == verdict).count()
    }

    /// How many benchmarks need more.
    pub(crate) fn worse(&self) -> usize {
        self.count(Verdict::Worse)
    }
}

fn judge(old: &Level, new: &Level, limit: Limit) -> Verdict {
    if (old.mean, old.min, old.max) == (new.mean, new.min, new.max) {
        return Verdict::Same;
    }
    let change = new.mean - old.mean;
    // A threshold of 1 % of 100 is 1, whatever the fractions of binary numbers make of it. Less is better by as much as more is worse;
    // below an amount that is accepted anyway, by anything.
    let allowed = match limit {
        Limit::Amount(most) if change > 0.0 => most as f64 - old.mean,
        Limit::Amount(_) => 0.0,
        _ => limit.most_of_mean(old.mean) - old.mean,
    };
    let is_beyond = change.abs() > allowed + old.mean * 1e-11;
    if is_beyond && change > 0.0 && new.min > old.max {
        Verdict::Worse
    } else if is_beyond && change < 0.0 && new.max < old.min {
        Verdict::Better
    } else {
        Verdict::Varies
    }
}

#[cfg(test)]
pub(crate) mod testing {
    use super::super::file::testing::bench;
    use super::*;

    /// A benchmark as it was found.
    pub(crate) fn found(target: &str, id: &str, counts: [u64; 3]) -> Found {
        let bench = bench(target, id, counts);
        Found { bench, place: ["t".into(), "x.json".into()], bytes: Vec::new() }
    }

    /// One of each kind: worse, better, the same, varying, new and vanished.
    pub(crate) fn sides() -> [Vec<Found>; 2] {
        let old = [
            found("contest", "grown", [0, 0, 0]),
            found("contest", "less", [2000, 40_000, 40_000]),
            found("contest", "same", [5, 64, 64]),
            found("contest", "slightly", [5, 1000, 64]),
            found("other", "gone | <b>", [1, 1, 1]),
        ];
        let new = [
            found("contest", "grown", [1, 48, 48]),
            found("contest", "less", [1500, 40_000, 30_000]),
            found("contest", "same", [5, 64, 64]),
            found("contest", "slightly", [5, 1009, 64]),
            found("other", "new\u{1b}[31m", [7, 70, 70]),
        ];
        [old.into(), new.into()]
    }
}

#[cfg(test)]
mod tests {
    use super::testing::{found, sides};
    use super::*;
    use Verdict::{Better, New, Same, Vanished, Varies, Worse};

    fn level(min: u64, max: u64) -> Level {
        Level { first: 0, mean: (min + max) as f64 / 2.0, min, max }
    }

    #[test]
    fn only_what_iterations_and_threshold_leave_no_doubt_about_counts() {
        let cases = [
            ((3, 3), (3, 3), 0.0, Same),
            ((3, 3), (4, 4), 0.0, Worse),
            ((3, 3), (2, 2), 0.0, Better),
            ((0, 0), (0, 0), 0.0, Same),
            ((0, 0), (1, 1), 0.0, Worse),
            ((0, 0), (1, 1), 1e9, Worse),
            ((1, 1), (0, 0), 0.0, Better),
            ((1, 1), (0, 0), 100.0, Varies),
            ((0, 0), (0, 2), 0.0, Varies),
            ((10, 20), (15, 40), 0.0, Varies),
            ((10, 20), (20, 40), 0.0, Varies),
            ((10, 20), (21, 40), 0.0, Worse),
            ((10, 20), (2, 9), 0.0, Better),
            ((100, 100), (101, 101), 1.0, Varies),
            ((100, 100), (102, 102), 1.0, Worse),
            ((1000, 1000), (1001, 1001), 0.1, Varies),
            ((3, 3), (2, 4), 0.0, Varies),
        ];
        for ((old_min, old_max), (new_min, new_max), percent, expected) in cases {
            let (old, new) = (level(old_min, old_max), level(new_min, new_max));
            let limit = Limit::Share((percent * 10_000.0) as u64);
            assert_eq!(judge(&old, &new, limit), expected, "{old:?} {new:?} {percent}");
        }
        let judged = |new: u64, limit| judge(&level(10, 10), &level(new, new), limit);
        assert_eq!([12, 13].map(|new| judged(new, Limit::Increase(2))), [Varies, Worse]);
        assert_eq!([7, 8].map(|new| judged(new, Limit::Increase(2))), [Better, Varies]);
        assert_eq!([9, 20, 21].map(|new| judged(new, Limit::Amount(20))), [Better, Varies, Worse]);
    }

    #[test]
    fn a_rise_from_nothing_has_no_share() {
        let pair = |old, new| Pair { measure: BenchMeasure::Bytes, old, new, verdict: Worse };
        assert_eq!(pair(Some(level(0, 0)), Some(level(1, 1))).share(), None);
        assert_eq!(pair(Some(level(0, 0)), Some(level(1, 1))).change(), Some(1.0));
        assert_eq!(pair(Some(level(4, 4)), Some(level(2, 2))).share(), Some(-0.5));
        assert_eq!(pair(None, Some(level(2, 2))).change(), None);
    }

    #[test]
    fn a_first_iteration_is_reported_if_it_changed_and_is_not_like_the_others() {
        let first = |old, new| {
            let level = |(first, n)| Some(Level { first, ..level(n, n) });
            let pair = Pair { measure: BenchMeasure::Bytes, old: level(old), new: level(new), verdict: Same };
            pair.first_change()
        };
        assert_eq!(first((5000, 0), (7000, 0)), Some([5000, 7000]));
        assert_eq!(first((0, 0), (1, 0)), Some([0, 1]));
        assert_eq!(first((5000, 0), (5000, 0)), None);
        assert_eq!(first((3, 3), (4, 4)), None, "all iterations changed alike");
    }

    #[test]
    fn benchmarks_are_found_again_by_name_and_executable() {
        let [old, new] = sides();
        let comparison = Comparison::new(Some("main"), Some(&old), &new, Thresholds::default());
        let verdicts: Vec<_> = comparison.rows.iter().map(|row| (row.id, row.verdict)).collect();
        let expected = [
            ("grown", Worse),
            ("less", Better),
            ("same", Same),
            ("slightly", Varies),
            ("gone | <b>", Vanished),
            ("new\u{1b}[31m", New),
        ];
        assert_eq!(verdicts, expected);
        assert_eq!(comparison.worse(), 1);
        let elsewhere = [found("another", "same", [9, 9, 9])];
        let comparison = Comparison::new(Some("main"), Some(&old[2..3]), &elsewhere, Thresholds::default());
        assert_eq!(comparison.rows.iter().map(|row| row.verdict).collect::<Vec<_>>(), [New, Vanished]);
    }

    #[test]
    fn requests_are_allocations_and_reallocations() {
        let mut found = found("t", "a", [3, 3, 3]);
        found.bench.max.reallocations = 4;
        found.bench.mean.reallocations = 2.0;
        let level = BenchMeasure::Requests.level(&found.bench);
        assert_eq!(level, Level { first: 3, mean: 5.0, min: 3, max: 7 });
        found.bench.max.reallocations = u64::MAX;
        assert_eq!(BenchMeasure::Requests.level(&found.bench).max, u64::MAX);
    }
}
