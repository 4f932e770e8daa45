//! The middle of some numbers, and how far they lie apart.

use std::fmt;

/// Median, least and greatest. Means are of no use here: one disturbed run out of five would move them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Spread {
    pub(crate) median: f64,
    pub(crate) least: f64,
    pub(crate) greatest: f64,
}

impl Spread {
    /// `None` for no numbers.
    pub(crate) fn of(mut numbers: Vec<f64>) -> Option<Self> {
        numbers.sort_by(f64::total_cmp);
        let (&least, &greatest) = (numbers.first()?, numbers.last()?);
        let half = numbers.len() / 2;
        let median =
            if numbers.len() % 2 == 1 { numbers[half] } else { (numbers[half - 1] + numbers[half]) / 2.0 };
        Some(Self { median, least, greatest })
    }
}

/// `1.50 (1.20..1.90)`, with as many decimals as the format asks for.
impl fmt::Display for Spread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let decimals = f.precision().unwrap_or(2);
        // What rounds to nothing has no sign.
        let shown = |x: f64| if x.abs() < 0.5 * 0.1f64.powi(decimals as i32) { 0.0 } else { x };
        let (median, least, greatest) = (shown(self.median), shown(self.least), shown(self.greatest));
        write!(f, "{median:.decimals$} ({least:.decimals$}..{greatest:.decimals$})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_in_the_middle() {
        assert_eq!(Spread::of(vec![9.0, 1.0, 2.0]).unwrap().median, 2.0);
        assert_eq!(Spread::of(vec![4.0, 1.0, 2.0, 9.0]).unwrap().median, 3.0);
        assert_eq!(Spread::of(Vec::new()), None);
    }

    #[test]
    fn the_spread_is_shown_behind_the_median() {
        let spread = Spread::of(vec![1.26, 0.5, 3.0]).unwrap();
        assert_eq!(format!("{spread:.1}"), "1.3 (0.5..3.0)");
        let nothing = Spread { median: -0.01, least: -0.2, greatest: 0.0 };
        assert_eq!(format!("{nothing:.1}"), "0.0 (-0.2..0.0)");
    }
}
