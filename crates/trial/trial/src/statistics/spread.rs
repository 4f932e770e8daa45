//! The middle of some numbers, and how far they lie apart.

use std::fmt;

/// Median, least and greatest. Means are of no use here: one disturbed run out of five would move them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// The number in the middle.
    pub median: f64,
    /// The least.
    pub low: f64,
    /// The greatest.
    pub high: f64,
}

impl Spread {
    /// `None` for no numbers.
    pub fn of(numbers: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut numbers: Vec<f64> = numbers.into_iter().collect();
        numbers.sort_by(f64::total_cmp);
        let (&low, &high) = (numbers.first()?, numbers.last()?);
        let half = numbers.len() / 2;
        let median =
            if numbers.len() % 2 == 1 { numbers[half] } else { (numbers[half - 1] + numbers[half]) / 2.0 };
        Some(Self { median, low, high })
    }

    /// Of one number.
    pub const fn one(number: f64) -> Self {
        Self { median: number, low: number, high: number }
    }

    /// The median, and a range that holds the true one whatever the distribution (the interval of the sign test): with a
    /// confidence of 87.5 % or more from four numbers on, of three with 75 %. Of fewer than seven it is that of all of them; it
    /// does not grow with more, as that of all does.
    pub fn of_median(numbers: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut sorted: Vec<f64> = numbers.into_iter().collect();
        sorted.sort_by(f64::total_cmp);
        let all = Self::of(sorted.iter().copied())?;
        let n = sorted.len();
        // Ends are left out as long as at most one in sixteen has so few numbers on one side of the true median.
        let (mut ends, mut exactly) = (0, 0.5f64.powi(n as i32));
        let mut at_most = exactly;
        while 2 * (ends + 1) < n {
            exactly *= (n - ends) as f64 / (ends + 1) as f64;
            at_most += exactly;
            if at_most > 1.0 / 16.0 {
                break;
            }
            ends += 1;
        }
        Some(Self { low: sorted[ends], high: sorted[n - 1 - ends], ..all })
    }
}

/// `1.50 (1.20..1.90)`, with as many decimals as the format asks for.
impl fmt::Display for Spread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let decimals = f.precision().unwrap_or(2);
        // What rounds to nothing has no sign.
        let shown = |x: f64| if x.abs() < 0.5 * 0.1f64.powi(decimals as i32) { 0.0 } else { x };
        let (median, low, high) = (shown(self.median), shown(self.low), shown(self.high));
        write!(f, "{median:.decimals$} ({low:.decimals$}..{high:.decimals$})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_spread_is_shown_behind_the_median() {
        let spread = Spread::of([1.26, 0.5, 3.0]).unwrap();
        assert_eq!(format!("{spread:.1}"), "1.3 (0.5..3.0)");
        let nothing = Spread { median: -0.01, low: -0.2, high: 0.0 };
        assert_eq!(format!("{nothing:.1}"), "0.0 (-0.2..0.0)");
    }

    #[test]
    fn the_median_is_in_the_middle_and_the_ends_are_kept() {
        assert_eq!(Spread::of([9.0, 1.0, 2.0]), Some(Spread { median: 2.0, low: 1.0, high: 9.0 }));
        assert_eq!(Spread::of([4.0, 1.0, 2.0, 9.0]).unwrap().median, 3.0);
        assert_eq!(Spread::of([]), None);
    }

    #[test]
    fn the_range_of_a_median_leaves_ends_out_once_there_are_enough() {
        let ends = |n: i32| {
            let spread = Spread::of_median((1..=n).map(f64::from)).unwrap();
            (spread.low, spread.high)
        };
        // 2 (1 + 7) / 2^7 is an eighth, and 2 (1 + 6) / 2^6 is more.
        assert_eq!([ends(1), ends(3), ends(6)], [(1.0, 1.0), (1.0, 3.0), (1.0, 6.0)]);
        assert_eq!([ends(7), ends(9), ends(10)], [(2.0, 6.0), (2.0, 8.0), (3.0, 8.0)]);
        assert_eq!(Spread::of_median([]), None);
        // How often a median of nothing but chance is in it.
        let mut random = crate::statistics::random::Random::new(3);
        let held = (0..4000).filter(|_| {
            let spread = Spread::of_median((0..9).map(|_| random.unit())).unwrap();
            (spread.low..=spread.high).contains(&0.5)
        });
        let held = held.count() as f64 / 4000.0;
        assert!((0.94..0.98).contains(&held), "{held}: it should be 96 %");
    }

    #[test]
    fn one_disturbed_run_does_not_move_it() {
        let calm = Spread::of([1.0, 1.1, 0.9, 1.0, 1.05]).unwrap().median;
        let disturbed = Spread::of([1.0, 50.0, 0.9, 1.0, 1.05]).unwrap().median;
        assert!((calm - disturbed).abs() < 0.1);
    }
}
