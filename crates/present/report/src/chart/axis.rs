//! From numbers to places, with marks at numbers that are easy to read.

use crate::units;

/// What numbers are, which determines how they are written and where marks are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    Bytes,
    Nanos,
    Count,
}

impl Unit {
    /// A number with its unit.
    pub(crate) fn words(self, number: f64) -> String {
        let whole = number.max(0.0).round() as u64;
        match self {
            Self::Bytes => units::bytes(whole),
            Self::Nanos => units::time(whole),
            Self::Count => units::count(whole),
        }
    }

    /// How much the unit is in which numbers up to `highest` are written, and its name.
    fn scale(self, highest: f64) -> (f64, &'static str) {
        let (step, names): (f64, &[&str]) = match self {
            Self::Bytes => (1024.0, &["B", "KiB", "MiB", "GiB", "TiB"]),
            Self::Nanos => (1000.0, &["ns", "µs", "ms", "s"]),
            Self::Count => (1000.0, &["", "k", "M", "G"]),
        };
        let mut scale = 1.0;
        let mut at = 0;
        while highest / scale >= step && at + 1 < names.len() {
            scale *= step;
            at += 1;
        }
        (scale, names[at])
    }
}

/// A range of numbers on a range of places.
#[derive(Clone, Copy, Debug)]
pub(super) struct Axis {
    unit: Unit,
    numbers: [f64; 2],
    places: [f64; 2],
}

impl Axis {
    /// For all these numbers, on these places. It begins at zero unless that would squeeze them into a corner.
    pub(super) fn new(
        unit: Unit,
        numbers: impl Iterator<Item = f64>,
        from_zero: bool,
        places: [f64; 2],
    ) -> Self {
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        for number in numbers.filter(|number| number.is_finite()) {
            (low, high) = (low.min(number), high.max(number));
        }
        if low > high {
            (low, high) = (0.0, 1.0);
        }
        if from_zero || low < (high - low) * 1.5 {
            low = 0.0;
        } else {
            let room = (high - low).max(high * 0.01) * 0.15;
            low = (low - room).max(0.0);
            high += room;
        }
        if high <= low {
            high = low + 1.0;
        }
        Self { unit, numbers: [low, high], places }
    }

    pub(super) fn place(&self, number: f64) -> f64 {
        let [low, high] = self.numbers;
        let [from, to] = self.places;
        from + (number - low) / (high - low) * (to - from)
    }

    /// Numbers for marks with their words: about `wanted` of them.
    pub(super) fn marks(&self, wanted: usize) -> Vec<(f64, String)> {
        let [low, high] = self.numbers;
        let (scale, name) = self.unit.scale(high);
        let rough = (high - low) / scale / wanted.max(1) as f64;
        let power = 10f64.powf(rough.log10().floor());
        let step =
            [1.0, 2.0, 5.0, 10.0].into_iter().map(|s| s * power).find(|s| *s >= rough).unwrap_or(power);
        let digits = if step >= 1.0 { 0 } else { (-step.log10().floor()) as usize };
        let first = (low / scale / step).ceil() as i64;
        let last = (high / scale / step + 1e-9).floor() as i64;
        (first..=last)
            .map(|n| {
                let number = n as f64 * step;
                let words = if n == 0 { "0".to_owned() } else { format!("{number:.digits$} {name}") };
                (number * scale, words.trim_end().to_owned())
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_round_in_the_unit_that_is_shown() {
        let axis = Axis::new(Unit::Bytes, [0.0, 118.0 * 1048576.0].into_iter(), true, [0.0, 100.0]);
        let words: Vec<String> = axis.marks(4).into_iter().map(|(_, words)| words).collect();
        assert_eq!(words, ["0", "50 MiB", "100 MiB"]);
        let axis = Axis::new(Unit::Nanos, [1.21e9, 1.29e9].into_iter(), false, [0.0, 100.0]);
        let words: Vec<String> = axis.marks(4).into_iter().map(|(_, words)| words).collect();
        assert_eq!(words, ["1.20 s", "1.25 s", "1.30 s"]);
    }

    #[test]
    fn places_follow_numbers_and_nothing_is_divided_by_zero() {
        let axis = Axis::new(Unit::Count, [0.0, 50.0].into_iter(), true, [10.0, 110.0]);
        assert!((axis.place(25.0) - 60.0).abs() < 1e-9);
        for numbers in [vec![], vec![0.0], vec![7.0, 7.0], vec![f64::NAN]] {
            let axis = Axis::new(Unit::Count, numbers.iter().copied(), false, [0.0, 1.0]);
            assert!(axis.place(7.0).is_finite() && axis.marks(4).len() < 20, "{numbers:?}");
        }
    }
}
