//! Numbers as people read them: the same in every format and in every crate.

use core::fmt::Display;

/// Bytes with a binary unit, three significant digits: `512 B`, `1.50 KiB`, `117 MiB`.
pub fn bytes(n: u64) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if n < 1024 {
        return format!("{n} B");
    }
    let mut value = n as f64 / 1024.0;
    let mut unit = 0;
    // Rounding must not show 1024 of a unit.
    while value >= 999.5 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    format!("{} {}", digits(value), UNITS[unit])
}

/// A number that is not negative, with three digits: `1.50`, `10.6`, `117`.
pub fn digits(x: f64) -> String {
    match x {
        x if x >= 99.95 => format!("{x:.0}"),
        x if x >= 9.995 => format!("{x:.1}"),
        x => format!("{x:.2}"),
    }
}

/// A count with separators: `10,697,388`.
pub fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(c);
    }
    out
}

/// A time: `870 ns`, `1.25 ms`, `12.3 s`, `4 min 10 s`.
pub fn time(ns: u64) -> String {
    let f = ns as f64;
    match ns {
        0..1_000 => format!("{ns} ns"),
        1_000..1_000_000 => format!("{:.1} µs", f / 1e3).replace(".0 ", " "),
        1_000_000..1_000_000_000 => format!("{:.1} ms", f / 1e6),
        1_000_000_000..120_000_000_000 => format!("{:.2} s", f / 1e9),
        _ => format!("{} min {} s", ns / 60_000_000_000, ns / 1_000_000_000 % 60),
    }
}

/// An estimated time, with the two digits that an estimate has: `940 µs`, `1.4 ms`, `140 ms`.
pub fn about(ns: u64) -> String {
    let step = 10_u64.pow(ns.checked_ilog10().unwrap_or(0).saturating_sub(1));
    let ns = (ns / step).saturating_mul(step) as f64;
    let (value, unit) = match ns {
        ns if ns >= 1e9 => (ns / 1e9, "s"),
        ns if ns >= 1e6 => (ns / 1e6, "ms"),
        ns => (ns / 1e3, "µs"),
    };
    let decimals = usize::from(value < 10.0);
    format!("{value:.decimals$} {unit}")
}

/// A part of something that was measured, in whole percent: `84 %`, `−11 %` if it became more. What rounds to nothing has no sign.
pub fn percent(part: f64) -> String {
    let whole = (part * 100.0).round();
    let text = format!("{:.0} %", whole.abs());
    if whole < 0.0 { signed(true, text) } else { text }
}

/// A share: `73 %`, `0.4 %`, `<0.1 %`.
pub fn share(part: u64, whole: u64) -> String {
    if whole == 0 {
        return "–".into();
    }
    let percent = part as f64 * 100.0 / whole as f64;
    match percent {
        0.0 => "0 %".into(),
        p if p < 0.1 => "<0.1 %".into(),
        p if p < 9.95 => format!("{p:.1} %"),
        p => format!("{p:.0} %"),
    }
}

/// An amount with the sign of a difference. Less has a minus as long as the plus is, and not a hyphen.
pub fn signed(is_less: bool, amount: impl Display) -> String {
    format!("{}{amount}", if is_less { '−' } else { '+' })
}

/// A share as a difference in percent: `+5 %`, `−14.3 %`. What is not all is never shown as 100 % less: `−99.6 %`, `−99.9 %`.
pub fn signed_percent(share: f64, decimals: usize) -> String {
    let percent = (share * 100.0).abs();
    let shown = format!("{percent:.decimals$}");
    let is_all = share <= -1.0 || shown.parse::<f64>().is_ok_and(|shown| shown < 100.0) || share > 0.0;
    match percent {
        _ if is_all => signed(share < 0.0, format_args!("{shown} %")),
        percent if percent < 99.95 => signed(true, format_args!("{percent:.1} %")),
        _ => signed(true, "99.9 %"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_all_is_a_hundred_percent_less() {
        let shown =
            [-1.0, -0.996_4, -0.999_99, -0.994, 1.0, 0.999, -0.05].map(|share| signed_percent(share, 0));
        assert_eq!(shown, ["−100 %", "−99.6 %", "−99.9 %", "−99 %", "+100 %", "+100 %", "−5 %"]);
        assert_eq!(signed_percent(-0.725, 1), "−72.5 %");
    }

    #[test]
    fn an_estimated_time_has_two_digits() {
        let shown = [1_000, 68_361, 949_999, 1_450_000, 68_361_568, 140_999_999, 2_345_678_901].map(about);
        assert_eq!(shown, ["1.0 µs", "68 µs", "940 µs", "1.4 ms", "68 ms", "140 ms", "2.3 s"]);
    }

    #[test]
    fn a_measured_part_may_be_below_nothing() {
        assert_eq!([0.843, 0.0, -0.004, -0.11].map(percent), ["84 %", "0 %", "0 %", "−11 %"]);
    }

    #[test]
    fn numbers_are_short_and_never_misleading() {
        let b: Vec<_> = [0, 1023, 1024, 1536, 1023 * 1024, 10 << 20, 122_683_392, u64::MAX].map(bytes).into();
        assert_eq!(
            b,
            ["0 B", "1023 B", "1.00 KiB", "1.50 KiB", "1.00 MiB", "10.0 MiB", "117 MiB", "16.0 EiB"]
        );
        assert_eq!([0, 999, 1000, 10_697_388].map(count), ["0", "999", "1,000", "10,697,388"]);
        assert_eq!(count(u64::MAX), "18,446,744,073,709,551,615");
        assert_eq!([1.0234, 9.994, 10.64, 99.94, 105.9].map(digits), ["1.02", "9.99", "10.6", "99.9", "106"]);
        assert_eq!([signed(true, count(1000)), signed(false, bytes(1024))], ["−1,000", "+1.00 KiB"]);
        assert_eq!([signed_percent(-0.1429, 1), signed_percent(0.5, 0)], ["−14.3 %", "+50 %"]);
        assert_eq!(
            [5, 1_500_000, 2_000_000_000, 250_000_000_000].map(time),
            ["5 ns", "1.5 ms", "2.00 s", "4 min 10 s"]
        );
        assert_eq!(
            [share(0, 5), share(1, 100_000), share(1, 3), share(0, 0)],
            ["0 %", "<0.1 %", "33 %", "–"]
        );
    }
}
