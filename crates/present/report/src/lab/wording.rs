//! Cells as words: short ones for a terminal, and whole ones.

use heapwise_diagnosis::units::{count, digits};
use heapwise_trial::lab::{Cell, Growth, Spread};

/// Whether a column of such cells is aligned to the right.
pub(super) fn is_number(cell: &Cell) -> bool {
    matches!(cell, Cell::Count(_) | Cell::Time(_))
}

/// The short form of a cell: of times the median only.
pub(super) fn short(cell: &Cell) -> String {
    match cell {
        Cell::Time(spread) => time(spread.median),
        _ => whole(cell),
    }
}

/// The complete form of a cell.
pub(super) fn whole(cell: &Cell) -> String {
    match cell {
        Cell::Nothing => "–".to_owned(),
        Cell::Text(text) => text.clone(),
        Cell::Count(n) => count(*n),
        Cell::Time(Spread { median, low, high }) => {
            format!("{} ({}..{})", time(*median), time(*low), time(*high))
        }
        Cell::Ratio(Spread { median, low, high }) => {
            format!("{} ({}..{})", digits(*median), digits(*low), digits(*high))
        }
        Cell::Growth(growth) => grows(growth),
    }
}

fn grows(growth: &Growth) -> String {
    if !growth.plus_minus.is_finite() {
        return format!("{:.2}  {}", growth.exponent, growth.words());
    }
    let decimals = if growth.plus_minus < 9.995 { 2 } else { 0 };
    format!("{:.2} ± {:.decimals$}  {}", growth.exponent, growth.plus_minus, growth.words())
}

/// Nanoseconds in a unit of a suitable size.
fn time(ns: f64) -> String {
    let (value, unit) = match ns {
        ns if ns >= 999.5e6 => (ns / 1e9, "s"),
        ns if ns >= 999.5e3 => (ns / 1e6, "ms"),
        ns => (ns / 1e3, "µs"),
    };
    format!("{} {unit}", digits(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_digits_and_a_unit() {
        let times = [250.0, 2.5e4, 1e6, 9.994e6, 52.75e9, 999.9e6].map(time);
        assert_eq!(times, ["0.25 µs", "25.0 µs", "1.00 ms", "9.99 ms", "52.8 s", "1.00 s"]);
        let spread = Spread { median: 105.7, low: 98.2, high: 112.0 };
        assert_eq!(whole(&Cell::Ratio(spread)), "106 (98.2..112)");
        assert_eq!(short(&Cell::Time(Spread { median: 5e6, low: 1e6, high: 9e6 })), "5.00 ms");
    }

    #[test]
    fn growth_is_a_number_and_a_word() {
        let growth = |plus_minus| Cell::Growth(Growth { exponent: 1.042, plus_minus, points: 3 });
        assert_eq!(whole(&growth(0.031)), "1.04 ± 0.03  O(n)");
        assert_eq!(whole(&growth(f64::INFINITY)), "1.04  unclear");
    }
}
