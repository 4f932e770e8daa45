//! Numbers as text.

use heapwise_report::units::{self, count};

/// A mean: whole if it is, and with one decimal if not, so that small differences are seen.
pub(crate) fn mean(number: f64) -> String {
    let tenths = (number * 10.0).round();
    let whole = count((tenths / 10.0).trunc() as u64);
    match (tenths % 10.0) as u8 {
        0 => whole,
        decimal => format!("{whole}.{decimal}"),
    }
}

/// A difference with its sign.
pub(crate) fn signed(number: f64) -> String {
    units::signed(number < 0.0, mean(number.abs()))
}

/// A part of something as percent with its sign, with two digits that mean something.
pub(crate) fn percent(share: f64) -> String {
    let percent = (share * 100.0).abs();
    let amount = match percent {
        p if p >= 10.0 => count(p.round() as u64),
        p if p >= 0.995 => format!("{p:.1}"),
        p if p >= 0.01 => format!("{p:.2}"),
        _ => "<0.01".to_owned(),
    };
    units::signed(share < 0.0, format_args!("{amount} %"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_readable() {
        assert_eq!(
            [0.0, 1.0, 1.04, 1.25, 999.96, 12_345.5].map(mean),
            ["0", "1", "1", "1.3", "1,000", "12,345.5"]
        );
        assert_eq!([1.0, -2.5].map(signed), ["+1", "−2.5"]);
        let shares = [1.0, 0.123, 0.015, 0.0005, 0.000_001, -0.5, 1e9];
        assert_eq!(
            shares.map(percent),
            ["+100 %", "+12 %", "+1.5 %", "+0.05 %", "+<0.01 %", "−50 %", "+100,000,000,000 %"]
        );
    }
}
