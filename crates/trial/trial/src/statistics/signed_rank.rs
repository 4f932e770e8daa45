//! Wilcoxon's signed-rank test with its exact distribution, and the interval that belongs to it.
//!
//! The test decides whether differences within pairs lie around zero. Under that assumption each difference could as well have
//! the other sign, so that all 2^n signs of the ranks are equally likely; how often a sum of ranks comes out can be counted, and
//! nothing has to be assumed about how the numbers are distributed. Equal differences share the mean of their ranks, and
//! differences of zero are left out; the count is made for the ranks at hand, so it stays exact with both.
//!
//! The estimate is that of Hodges and Lehmann, the median of the means of all pairs of differences, and its interval consists
//! of the values that the test does not refuse. So the two never contradict each other: the interval excludes zero exactly
//! where the test finds a difference.

/// From so many differences on, the distribution is approximated by the normal one: its largest error is then below 0.001.
const MOST_EXACT: usize = 60;

/// The chance, if differences lie around zero, of sums of ranks at least as far from their middle as the one found.
/// 1 if there is no difference at all.
pub fn p_value(differences: &[f64]) -> f64 {
    let doubled = doubled_ranks(differences);
    let n = doubled.len();
    if n == 0 {
        return 1.0;
    }
    let positive: usize = doubled.iter().filter(|(_, sign)| *sign).map(|(rank, _)| rank).sum();
    let all: usize = doubled.iter().map(|(rank, _)| rank).sum();
    let least = positive.min(all - positive);
    let ranks: Vec<usize> = doubled.iter().map(|(rank, _)| *rank).collect();
    (2.0 * at_most(&ranks, least)).min(1.0)
}

/// Twice the rank of each difference that is not zero, by its size, and whether it is positive. Doubled, since equal
/// differences have halves.
fn doubled_ranks(differences: &[f64]) -> Vec<(usize, bool)> {
    let mut sizes: Vec<(f64, bool)> =
        differences.iter().filter(|d| **d != 0.0).map(|d| (d.abs(), *d > 0.0)).collect();
    sizes.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut ranked = Vec::with_capacity(sizes.len());
    for equal in sizes.chunk_by(|a, b| a.0 == b.0) {
        // Ranks first+1 ..= first+len have the mean first + (len + 1) / 2.
        let doubled = 2 * ranked.len() + equal.len() + 1;
        ranked.extend(equal.iter().map(|(_, sign)| (doubled, *sign)));
    }
    ranked
}

/// The chance of a sum of at most `limit` if each of the ranks counts or does not, as a coin falls.
fn at_most(ranks: &[usize], limit: usize) -> f64 {
    let all: usize = ranks.iter().sum();
    if ranks.len() > MOST_EXACT {
        let mean = all as f64 / 2.0;
        let deviation = (ranks.iter().map(|r| (r * r) as f64).sum::<f64>() / 4.0).sqrt();
        // Sums are whole, and with doubled ranks mostly even: one is half a step.
        return normal((limit as f64 + 1.0 - mean) / deviation);
    }
    let mut chances = vec![0.0; all + 1];
    chances[0] = 1.0;
    let mut highest = 0;
    for rank in ranks {
        for sum in (0..=highest).rev() {
            let half = chances[sum] / 2.0;
            chances[sum] = half;
            chances[sum + rank] += half;
        }
        highest += rank;
    }
    chances[..=limit.min(all)].iter().sum()
}

/// The normal distribution below `x`, by the approximation of Abramowitz and Stegun 26.2.17, whose error is below 1e-7.
fn normal(x: f64) -> f64 {
    let t = 1.0 / (1.0 + 0.231_641_9 * x.abs());
    let factors = [0.319_381_530, -0.356_563_782, 1.781_477_937, -1.821_255_978, 1.330_274_429];
    let tail = (-x * x / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt()
        * factors.iter().rev().fold(0.0, |sum, factor| (sum + factor) * t);
    if x > 0.0 { 1.0 - tail } else { tail }
}

/// Where differences lie, with an interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Location {
    /// The estimate of Hodges and Lehmann.
    pub estimate: f64,
    /// The least value that the test does not refuse.
    pub low: f64,
    /// The greatest.
    pub high: f64,
    /// How often an interval made in this way holds the true value: at least 0.95 from six differences on. Fewer cannot
    /// reach that; then it is the highest that they can, 0.9375 for five.
    pub confidence: f64,
}

/// Where differences lie; `None` for none.
pub fn location(differences: &[f64]) -> Option<Location> {
    let n = differences.len();
    let mut means = Vec::with_capacity(n * (n + 1) / 2);
    for (at, first) in differences.iter().enumerate() {
        means.extend(differences[at..].iter().map(|second| (first + second) / 2.0));
    }
    means.sort_by(f64::total_cmp);
    let middle = means.len() / 2;
    let estimate = match means.len() {
        0 => return None,
        odd if odd % 2 == 1 => means[middle],
        _ => (means[middle - 1] + means[middle]) / 2.0,
    };
    let ranks: Vec<usize> = (1..=n).map(|rank| 2 * rank).collect();
    let refused = |sum: usize| 2.0 * at_most(&ranks, 2 * sum);
    // So many of the means are left out at either end.
    let mut left_out = 0;
    while left_out < middle && refused(left_out) <= 0.05 {
        left_out += 1;
    }
    // At least none: the interval is then from the least mean to the greatest.
    let cut = left_out.saturating_sub(1);
    let confidence = (1.0 - refused(cut)).max(0.0);
    Some(Location { estimate, low: means[cut], high: means[means.len() - 1 - cut], confidence })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-9
    }

    #[test]
    fn small_numbers_have_the_chances_of_the_tables() {
        // All of one sign: two of 2^n.
        for n in 1..=10 {
            let differences: Vec<f64> = (1..=n).map(f64::from).collect();
            assert!(near(p_value(&differences), 2.0 / f64::powi(2.0, n)), "{n}");
        }
        // Wilcoxon's table for n = 8: at most 3 has five subsets of 256 ({}, {1}, {2}, {3}, {1,2}), at most 4 has seven.
        let of = |negative: &[i32]| {
            let all: Vec<f64> =
                (1..=8).map(|r| if negative.contains(&r) { -f64::from(r) } else { f64::from(r) }).collect();
            p_value(&all)
        };
        assert!(near(of(&[3]), 2.0 * 5.0 / 256.0), "{}", of(&[3]));
        assert!(near(of(&[4]), 2.0 * 7.0 / 256.0));
        assert!(near(of(&[1, 8, 2, 7]), 1.0), "18 of 36 is the middle");
        // Darwin's maize, the usual textbook example: V = 96 of 120, p = 0.04126.
        let maize = [49., -67., 8., 16., 6., 23., 28., 41., 14., 29., 56., 24., 75., 60., -48.];
        assert!((p_value(&maize) - 0.04126).abs() < 1e-5, "{}", p_value(&maize));
    }

    #[test]
    fn equal_differences_and_zeros_are_counted_as_they_are() {
        // Three equal ones of four signs each: all positive is one of eight.
        assert!(near(p_value(&[2.0, 2.0, 2.0]), 0.25));
        assert!(near(p_value(&[2.0, 2.0, -2.0]), 1.0));
        assert!(near(p_value(&[0.0, 2.0, 2.0, 2.0, 0.0]), 0.25));
        assert!(near(p_value(&[0.0, 0.0]), 1.0) && near(p_value(&[]), 1.0));
    }

    #[test]
    fn many_differences_come_close_to_the_exact_chance() {
        let exact: Vec<usize> = (1..=MOST_EXACT).map(|r| 2 * r).collect();
        let sum: usize = exact.iter().sum();
        for limit in [sum * 3 / 10, sum * 4 / 10, sum / 2] {
            let limit = limit / 2 * 2;
            let mean = sum as f64 / 2.0;
            let deviation = (exact.iter().map(|r| (r * r) as f64).sum::<f64>() / 4.0).sqrt();
            let approximate = normal((limit as f64 + 1.0 - mean) / deviation);
            assert!((at_most(&exact, limit) - approximate).abs() < 1e-3);
        }
        let many: Vec<f64> = (1..=200).map(|i| f64::from(i) * if i % 2 == 0 { 1.0 } else { -1.0 }).collect();
        assert!(p_value(&many) > 0.5);
        let shifted: Vec<f64> = many.iter().map(|d| d + 100.0).collect();
        assert!(p_value(&shifted) < 1e-6);
    }

    #[test]
    fn the_interval_excludes_zero_where_the_test_does() {
        let mut random = crate::statistics::random::Random::new(7);
        for n in 6..=14 {
            for _ in 0..200 {
                let shift = random.unit() - 0.5;
                let all: Vec<f64> = (0..n).map(|_| random.unit() - 0.5 + shift).collect();
                let at = location(&all).unwrap();
                let refused = p_value(&all) <= 1.0 - at.confidence + 1e-12;
                assert_eq!(refused, at.low > 0.0 || at.high < 0.0, "{n}: {all:?} {at:?}");
                assert!(at.low <= at.estimate && at.estimate <= at.high && at.confidence >= 0.95);
            }
        }
    }

    #[test]
    fn few_differences_have_a_wide_interval_of_known_confidence() {
        let at = location(&[1.0, 2.0, 3.0, 4.0, 5.0]).unwrap();
        assert_eq!((at.low, at.estimate, at.high), (1.0, 3.0, 5.0));
        assert!(near(at.confidence, 0.9375));
        assert!(near(location(&[1.0, 2.0, 3.0]).unwrap().confidence, 0.75));
        // Six can leave nothing out but reach 0.96875.
        assert!(near(location(&[1., 2., 3., 4., 5., 6.]).unwrap().confidence, 0.96875));
        assert_eq!(location(&[]), None);
    }
}
