//! Cells as words: short ones for a terminal, and whole ones.

use heapwise_diagnosis::units::{bytes, count, digits, percent};
use heapwise_trial::lab::{Cell, Growth, Spread};

/// Whether a column of such cells is aligned to the right.
pub(super) fn is_number(cell: &Cell) -> bool {
    matches!(
        cell,
        Cell::Count(_)
            | Cell::Number(_)
            | Cell::Time(_)
            | Cell::Bytes(_)
            | Cell::PerSecond(_)
            | Cell::Share(_)
    )
}

/// The short form of a cell: of times the median only.
pub(super) fn short(cell: &Cell) -> String {
    match cell {
        Cell::Time(spread) => time(spread.median),
        Cell::Bytes(spread) => amount(spread.median),
        Cell::PerSecond(spread) => rate(spread.median),
        Cell::Share(spread) => percent(spread.median),
        _ => whole(cell),
    }
}

/// The complete form of a cell.
pub(super) fn whole(cell: &Cell) -> String {
    match cell {
        Cell::Nothing => "–".to_owned(),
        Cell::Text(text) => text.clone(),
        Cell::Count(n) => count(*n),
        Cell::Number(n) => signed(*n < 0, count(n.unsigned_abs())),
        Cell::Time(spread) => range(spread, time),
        Cell::Bytes(spread) => range(spread, amount),
        Cell::PerSecond(spread) => range(spread, rate),
        Cell::Share(spread) => range(spread, percent),
        Cell::Ratio(spread) => range(spread, digits),
        Cell::Growth(growth) => grows(growth),
    }
}

/// A median with the least and the greatest, if there is more than one number.
fn range(spread: &Spread, words: impl Fn(f64) -> String) -> String {
    let Spread { median, low, high } = spread;
    match low == high {
        true => words(*median),
        false => format!("{} ({}..{})", words(*median), words(*low), words(*high)),
    }
}

fn signed(is_negative: bool, words: String) -> String {
    if is_negative { format!("-{words}") } else { words }
}

/// Bytes.
fn amount(number: f64) -> String {
    signed(number <= -0.5, bytes(number.abs() as u64))
}

/// So many in a second.
fn rate(number: f64) -> String {
    match number {
        n if n >= 999.5e3 => format!("{} M/s", digits(n / 1e6)),
        n if n >= 999.5 => format!("{} k/s", digits(n / 1e3)),
        n => format!("{}/s", digits(n)),
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
    let (value, unit) = match ns.abs() {
        ns if ns >= 999.5e6 => (ns / 1e9, "s"),
        ns if ns >= 999.5e3 => (ns / 1e6, "ms"),
        ns => (ns / 1e3, "µs"),
    };
    signed(ns < 0.0, format!("{} {unit}", digits(value)))
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
