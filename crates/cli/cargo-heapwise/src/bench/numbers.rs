//! Numbers as text.

/// A whole number in groups of three digits.
pub(crate) fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

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
    let sign = if number < 0.0 { "−" } else { "+" };
    format!("{sign}{}", mean(number.abs()))
}

/// A part of something as percent with its sign, with two digits that mean something.
pub(crate) fn percent(share: f64) -> String {
    let percent = (share * 100.0).abs();
    let sign = if share < 0.0 { "−" } else { "+" };
    if percent >= 10.0 {
        format!("{sign}{} %", count(percent.round() as u64))
    } else if percent >= 0.995 {
        format!("{sign}{percent:.1} %")
    } else if percent >= 0.01 {
        format!("{sign}{percent:.2} %")
    } else {
        format!("{sign}<0.01 %")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_readable() {
        assert_eq!([0, 12, 999, 1000, 1_234_567].map(count), ["0", "12", "999", "1,000", "1,234,567"]);
        assert_eq!(count(u64::MAX), "18,446,744,073,709,551,615");
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
