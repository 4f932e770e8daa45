//! Whether one thing differs from another, by how much, and when that cannot be decided.
//!
//! Per round there is one number of the candidate and two of the baseline. The test uses the logarithms of the ratios within
//! rounds. The two runs of the baseline differ by nothing but noise, so their ratios measure the noise, and a candidate differs
//! only if
//!
//! * the signed-rank interval of its ratios excludes 1, and the estimate is larger than what chance makes of the baseline's
//!   own ratios; this needs five rounds, with fewer the test cannot refuse anything; or
//! * every one of its ratios is larger than every one of the baseline's own, all to the same side. If nothing differs, that
//!   has a chance of 1/20 · 1/4 = 1.25 % with three rounds, 0.2 % with four; with two it is too likely to mean anything;
//!
//! and the difference is large enough to matter ([`Floor`]): memory of the same size to the page is no finding.

use crate::statistics::signed_rank::{Location, location};

/// Differences below this are nothing, however sure they are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Floor {
    /// As a share of the baseline: 0.01 is one percent.
    pub share: f64,
    /// In the unit of the numbers.
    pub amount: f64,
}

/// The conclusion about a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The candidate's numbers are lower.
    Lower,
    /// They are higher.
    Higher,
    /// No difference can be shown, or it does not matter.
    WithinNoise,
    /// There are too few rounds to distinguish a difference from noise.
    TooFew,
}

/// A candidate compared with the baseline.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Difference {
    /// The conclusion.
    pub verdict: Verdict,
    /// The candidate's numbers as a multiple of the baseline's, over the rounds: Hodges and Lehmann's estimate.
    pub ratio: f64,
    /// The least ratio that fits what was measured.
    pub low: f64,
    /// The greatest.
    pub high: f64,
    /// How often such an interval holds the true ratio, of 1.
    pub confidence: f64,
    /// The chance of ratios as far from 1 if nothing differed.
    pub p: f64,
    /// The ratio that noise alone makes, from the two runs of the baseline, minus 1: 0.02 is two percent.
    pub noise: f64,
    /// Rounds that were looked at.
    pub rounds: usize,
}

/// Compares numbers of the same rounds: the candidate's, and the baseline's two. Rounds in which one of them is not above
/// zero are left out. `None` if no round is left.
pub fn difference(candidate: &[f64], baseline: &[[f64; 2]], floor: Floor) -> Option<Difference> {
    let rounds: Vec<(f64, [f64; 2])> = candidate
        .iter()
        .copied()
        .zip(baseline.iter().copied())
        .filter(|(c, [a, b])| [c, a, b].iter().all(|x| x.is_finite() && **x > 0.0))
        .collect();
    // Compared with both runs of the baseline: their geometric mean is disturbed less than one of them.
    let ratios: Vec<f64> = rounds.iter().map(|(c, [a, b])| c.ln() - (a.ln() + b.ln()) / 2.0).collect();
    let own: Vec<f64> = rounds.iter().map(|(_, [a, b])| b.ln() - a.ln()).collect();
    let Location { estimate, low, high, confidence } = location(&ratios)?;
    let noise = noise(&own);
    let baseline = rounds.iter().map(|(_, [a, b])| (a * b).sqrt()).sum::<f64>() / rounds.len() as f64;
    let ratio = estimate.exp();
    let matters = (ratio - 1.0).abs() >= floor.share && (ratio - 1.0).abs() * baseline >= floor.amount;
    let tested = rounds.len() >= 5 && (low > 0.0 || high < 0.0) && estimate.abs() > noise;
    let verdict = match () {
        () if rounds.len() < 3 => Verdict::TooFew,
        () if !matters || !(tested || is_apart(&ratios, &own)) => Verdict::WithinNoise,
        () if estimate < 0.0 => Verdict::Lower,
        () => Verdict::Higher,
    };
    Some(Difference {
        verdict,
        ratio,
        low: low.exp(),
        high: high.exp(),
        confidence,
        p: crate::statistics::signed_rank::p_value(&ratios),
        noise: noise.exp() - 1.0,
        rounds: rounds.len(),
    })
}

/// Whether all ratios are to the same side, and further away than any of the baseline's own.
fn is_apart(ratios: &[f64], own: &[f64]) -> bool {
    let farthest = own.iter().map(|d| d.abs()).fold(0.0, f64::max);
    let same_side = ratios.iter().all(|d| *d > 0.0) || ratios.iter().all(|d| *d < 0.0);
    same_side && ratios.iter().all(|d| d.abs() > farthest)
}

/// How far from zero the mean of such differences is by chance, in 19 of 20 cases: they could each have the other sign.
fn noise(own: &[f64]) -> f64 {
    /// Beyond this, signs are drawn instead of counted.
    const MOST_COUNTED: usize = 12;
    let n = own.len();
    let mut random = crate::statistics::random::Random::new(0x6e6f_6973_6500);
    let draws = if n <= MOST_COUNTED { 1u64 << n } else { 4096 };
    let mut means: Vec<f64> = (0..draws)
        .map(|draw| {
            let mut signs = if n <= MOST_COUNTED { draw } else { random.next() };
            let mut sum = 0.0;
            for (at, d) in own.iter().enumerate() {
                if at > 0 && at % 64 == 0 {
                    signs = random.next();
                }
                sum += if signs >> (at % 64) & 1 == 1 { *d } else { -d };
            }
            (sum / n as f64).abs()
        })
        .collect();
    means.sort_by(f64::total_cmp);
    let at = (means.len() as f64 * 0.95).ceil() as usize;
    means.get(at.saturating_sub(1)).copied().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::random::Random;

    const NONE: Floor = Floor { share: 0.0, amount: 0.0 };

    /// Two numbers as from a normal distribution (Box and Muller).
    fn normal(random: &mut Random) -> f64 {
        let (a, b) = (1.0 - random.unit(), random.unit());
        (-2.0 * a.ln()).sqrt() * (std::f64::consts::TAU * b).cos()
    }

    /// How many of 2000 comparisons find a difference, of runs with this noise; one in ten is disturbed.
    fn found(rounds: usize, noise: f64, effect: f64, seed: u64) -> usize {
        let mut random = Random::new(seed);
        let mut count = 0;
        for _ in 0..2000 {
            let mut run = |factor: f64| {
                let disturbed = if random.below(10) == 0 { 1.0 + 3.0 * noise } else { 1.0 };
                100.0 * factor * disturbed * (normal(&mut random) * noise).exp()
            };
            let baseline: Vec<[f64; 2]> = (0..rounds).map(|_| [run(1.0), run(1.0)]).collect();
            let candidate: Vec<f64> = (0..rounds).map(|_| run(effect)).collect();
            let verdict = difference(&candidate, &baseline, NONE).unwrap().verdict;
            count += usize::from(matches!(verdict, Verdict::Lower | Verdict::Higher));
        }
        count
    }

    #[test]
    fn the_same_beside_itself_is_within_the_noise_as_often_as_promised() {
        for (rounds, most) in [(3, 0.0125), (4, 0.01), (5, 0.0625), (8, 0.05), (15, 0.05)] {
            let wrong = found(rounds, 0.05, 1.0, 11 + rounds as u64) as f64 / 2000.0;
            // Three standard errors of 2000 tries at this rate.
            let slack = 3.0 * (most * (1.0 - most) / 2000.0_f64).sqrt();
            assert!(wrong <= most + slack, "{rounds} rounds: {wrong}");
        }
        assert_eq!(found(2, 0.05, 1.0, 3), 0, "two rounds never tell");
    }

    #[test]
    fn what_really_differs_is_found() {
        assert!(found(5, 0.02, 0.8, 1) > 1900, "{}", found(5, 0.02, 0.8, 1));
        assert!(found(3, 0.005, 1.3, 2) > 1900);
        assert!(found(10, 0.05, 1.15, 3) > 1700, "{}", found(10, 0.05, 1.15, 3));
    }

    #[test]
    fn ratios_have_their_sense_and_their_size() {
        let baseline = [[100.0, 101.0], [99.0, 100.0], [100.0, 100.5], [101.0, 100.0], [100.0, 99.5]];
        let lower = difference(&[50.0, 50.5, 49.5, 50.0, 50.2], &baseline, NONE).unwrap();
        assert_eq!(lower.verdict, Verdict::Lower);
        assert!((lower.ratio - 0.5).abs() < 0.01 && lower.low < lower.ratio && lower.ratio < lower.high);
        assert!((lower.confidence - 0.9375).abs() < 1e-9 && (lower.p - 0.0625).abs() < 1e-9);
        assert!(lower.noise > 0.001 && lower.noise < 0.02, "{}", lower.noise);
        let higher = difference(&[200.0; 5], &baseline, NONE).unwrap();
        assert_eq!(higher.verdict, Verdict::Higher);
    }

    #[test]
    fn what_does_not_matter_is_no_difference_and_too_few_is_said() {
        let baseline = [[1000.0, 1000.0]; 5];
        let floor = Floor { share: 0.01, amount: 64.0 };
        let verdict = |number: f64| difference(&[number; 5], &baseline, floor).unwrap().verdict;
        assert_eq!(verdict(1005.0), Verdict::WithinNoise);
        assert_eq!(verdict(1050.0), Verdict::WithinNoise);
        assert_eq!(verdict(1100.0), Verdict::Higher);
        assert_eq!(difference(&[5.0, 5.0], &baseline[..2], NONE).unwrap().verdict, Verdict::TooFew);
        assert_eq!(difference(&[5.0, 5.0, 5.0], &baseline[..3], NONE).unwrap().verdict, Verdict::Lower);
        assert_eq!(difference(&[0.0; 5], &baseline, NONE), None);
        assert_eq!(difference(&[], &[], NONE), None);
    }
}
