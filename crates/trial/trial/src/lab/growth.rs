//! How a time grows with the size of the work: the exponent *b* of *time = a · n^b*.
//!
//! In a picture with logarithmic axes that is a straight line, and least squares finds its slope. The distances of the points
//! from the line give the precision of the slope: the interval is that of Student's distribution, in which nineteen of twenty
//! lines would lie if the points were off by chance. Real programs bend a little where they outgrow a cache, which makes the
//! interval wider and is no error.

/// The exponent that fits best.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Growth {
    pub exponent: f64,
    /// Half of the interval in which it lies with a probability of 95 %. Not finite for two points, which always fit.
    pub plus_minus: f64,
    /// How many sizes it is from.
    pub points: usize,
}

/// So far from a whole number an exponent may be to be called by it: caches and tables that double bend any line.
const TOLERANCE: f64 = 0.25;
/// A wider interval is too imprecise to use.
const UNCLEAR: f64 = 0.5;

/// Fits sizes and times. `None` unless there are two different sizes, and nothing that is not positive.
pub fn growth(points: &[(f64, f64)]) -> Option<Growth> {
    if points.iter().any(|(n, time)| !(*n > 0.0 && *time > 0.0)) {
        return None;
    }
    let logs: Vec<(f64, f64)> = points.iter().map(|(n, time)| (n.ln(), time.ln())).collect();
    let count = logs.len() as f64;
    let mean_x = logs.iter().map(|p| p.0).sum::<f64>() / count;
    let mean_y = logs.iter().map(|p| p.1).sum::<f64>() / count;
    let xx: f64 = logs.iter().map(|p| (p.0 - mean_x).powi(2)).sum();
    let xy: f64 = logs.iter().map(|p| (p.0 - mean_x) * (p.1 - mean_y)).sum();
    if logs.len() < 2 || xx <= 0.0 {
        return None;
    }
    let exponent = xy / xx;
    let off: f64 = logs.iter().map(|p| (p.1 - mean_y - exponent * (p.0 - mean_x)).powi(2)).sum();
    let freedom = logs.len() - 2;
    let plus_minus = match freedom {
        0 => f64::INFINITY,
        _ => student(freedom) * (off / freedom as f64 / xx).sqrt(),
    };
    Some(Growth { exponent, plus_minus, points: logs.len() })
}

/// The quantile of 97.5 % of Student's distribution, from the usual tables.
fn student(freedom: usize) -> f64 {
    const TABLE: [f64; 10] = [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228];
    TABLE.get(freedom.saturating_sub(1)).copied().unwrap_or(2.0)
}

impl Growth {
    /// Whether the growth is linear, in words. If the interval reaches from one answer into the next one, none is given.
    pub fn words(&self) -> &'static str {
        let (b, low, high) =
            (self.exponent, self.exponent - self.plus_minus, self.exponent + self.plus_minus);
        let near = |n: f64| (b - n).abs() <= TOLERANCE;
        match b {
            _ if !self.plus_minus.is_finite() || self.plus_minus > UNCLEAR => "unclear",
            _ if near(1.0) => "O(n)",
            _ if near(2.0) => "O(n^2)",
            b if b < 1.0 && high < 1.0 - TOLERANCE => "below O(n)",
            b if b > 2.0 && low > 2.0 + TOLERANCE => "above O(n^2)",
            b if b > 1.0 && b < 2.0 && low > 1.0 + TOLERANCE && high < 2.0 - TOLERANCE => "above O(n)",
            _ => "unclear",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::random::Random;

    fn curve(exponent: f64, noise: f64) -> Vec<(f64, f64)> {
        let mut random = Random::new(7);
        let sizes = [62_500.0, 125_000.0, 250_000.0, 500_000.0, 1_000_000.0f64];
        sizes
            .map(|n| {
                let off = 1.0 + noise * (random.below(2001) as f64 / 1000.0 - 1.0);
                (n, 3e-9 * n.powf(exponent) * off)
            })
            .to_vec()
    }

    #[test]
    fn an_exact_curve_has_its_exponent_without_doubt() {
        for exponent in [0.5, 1.0, 1.5, 2.0, 3.0] {
            let found = growth(&curve(exponent, 0.0)).unwrap();
            assert!((found.exponent - exponent).abs() < 1e-9 && found.plus_minus < 1e-6, "{found:?}");
            assert_eq!(found.points, 5);
        }
    }

    #[test]
    fn noise_is_in_the_interval() {
        for exponent in [1.0, 2.0] {
            let found = growth(&curve(exponent, 0.2)).unwrap();
            assert!((found.exponent - exponent).abs() < found.plus_minus, "{found:?}");
            assert!(found.plus_minus > 0.01 && found.plus_minus < 0.5, "{found:?}");
        }
    }

    #[test]
    fn the_slope_and_its_error_are_those_of_the_textbook() {
        // y = 0, 1, 1 at x = 0, 1, 2: slope 1/2, residuals sum to 1/6, so its error is sqrt(1/6 / 1 / 2) = 0.2887.
        let e = std::f64::consts::E;
        let found = growth(&[(1.0, 1.0), (e, e), (e * e, e)]).unwrap();
        assert!((found.exponent - 0.5).abs() < 1e-12);
        assert!((found.plus_minus - 12.706 * 0.288_675).abs() < 1e-3, "{found:?}");
    }

    #[test]
    fn the_words_follow_the_exponent_unless_it_is_not_known() {
        let words = |exponent, plus_minus| Growth { exponent, plus_minus, points: 4 }.words();
        assert_eq!(words(1.12, 0.05), "O(n)");
        assert_eq!(words(1.2, 0.4), "O(n)");
        assert_eq!(words(1.3, 0.4), "unclear");
        assert_eq!(words(1.57, 0.21), "unclear");
        assert_eq!(words(1.5, 0.3), "unclear");
        assert_eq!(words(1.95, 0.1), "O(n^2)");
        assert_eq!(words(1.5, 0.1), "above O(n)");
        assert_eq!(words(0.3, 0.1), "below O(n)");
        assert_eq!(words(2.9, 0.1), "above O(n^2)");
        assert_eq!(words(1.0, 0.8), "unclear");
        assert_eq!(words(1.0, f64::INFINITY), "unclear");
    }

    #[test]
    fn too_little_is_no_line() {
        assert_eq!(growth(&[]), None);
        assert_eq!(growth(&[(1.0, 1.0)]), None);
        assert_eq!(growth(&[(2.0, 1.0), (2.0, 3.0)]), None);
        assert_eq!(growth(&[(2.0, 0.0), (4.0, 3.0)]), None);
        assert!(!growth(&[(1.0, 1.0), (2.0, 3.0)]).unwrap().plus_minus.is_finite());
    }
}
