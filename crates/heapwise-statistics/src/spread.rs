//! The middle of some numbers, and how far they lie apart.

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
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_in_the_middle_and_the_ends_are_kept() {
        assert_eq!(Spread::of([9.0, 1.0, 2.0]), Some(Spread { median: 2.0, low: 1.0, high: 9.0 }));
        assert_eq!(Spread::of([4.0, 1.0, 2.0, 9.0]).unwrap().median, 3.0);
        assert_eq!(Spread::of([]), None);
    }

    #[test]
    fn one_disturbed_run_does_not_move_it() {
        let calm = Spread::of([1.0, 1.1, 0.9, 1.0, 1.05]).unwrap().median;
        let disturbed = Spread::of([1.0, 50.0, 0.9, 1.0, 1.05]).unwrap().median;
        assert!((calm - disturbed).abs() < 0.1);
    }
}
