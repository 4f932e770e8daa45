//! Conditions under which a change is not acceptable: `allocations+5%`, `peak_bytes+1MiB`, `allocations>100000`.
//!
//! `MEASURE+PERCENT%` and `MEASURE+AMOUNT` say by how much the newer recording may exceed the older one, and
//! `MEASURE>AMOUNT` which amount it may not exceed, whatever the older one had. All of them are exceeded only by more:
//! `allocations+0` accepts the same number. They are compared as whole numbers, without rounding.

use super::measure::{Change, OF_RUNS};
use bytesize::ByteSize;
use heapwise_analysis::Measure;
use std::fmt;
use std::str::FromStr;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Threshold<M = Measure> {
    /// As it was written.
    pub expression: String,
    /// On what.
    pub measure: M,
    /// What is accepted.
    pub limit: Limit,
}

/// What is accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// So many ten-thousandths of a percent more.
    Share(u64),
    Increase(u64),
    Amount(u64),
}

/// A condition that was not met.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exceeded {
    /// As it was written.
    pub expression: String,
    /// What there was and is.
    pub change: Change,
    /// The most that would have been accepted.
    pub limit: u64,
}

/// Why an expression is not a condition.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("threshold '{expression}': {reason}")]
pub struct BadThreshold {
    expression: String,
    reason: String,
}

const SCALE: u64 = 10_000;

impl Threshold {
    /// What exceeds it, given all amounts of the runs. What was not measured may be any amount, so it does.
    pub fn exceeded(&self, totals: &[Change]) -> Option<Exceeded> {
        let change = *totals.iter().find(|change| change.measure == self.measure)?;
        let limit = self.limit.most(change.old);
        let is_unknown = change.is_unmeasured(change.new)
            || (!matches!(self.limit, Limit::Amount(_)) && change.is_unmeasured(change.old));
        (change.new > limit || is_unknown).then(|| Exceeded {
            expression: self.expression.clone(),
            change,
            limit,
        })
    }
}

impl Limit {
    /// At most this many percent more.
    pub const fn percent(percent: u64) -> Self {
        Self::Share(percent * SCALE)
    }

    /// How many percent more are accepted, if that is what it says.
    pub fn as_percent(self) -> Option<f64> {
        if let Self::Share(share) = self { Some(share as f64 / SCALE as f64) } else { None }
    }

    /// The most that is accepted if the older recording had `old`.
    pub fn most(self, old: u64) -> u64 {
        match self {
            Self::Share(share) => {
                let more = u128::from(old) * u128::from(share) / u128::from(100 * SCALE);
                old.saturating_add(u64::try_from(more).unwrap_or(u64::MAX))
            }
            Self::Increase(more) => old.saturating_add(more),
            Self::Amount(most) => most,
        }
    }

    /// The same of means.
    pub fn most_of_mean(self, old: f64) -> f64 {
        match self {
            Self::Share(share) => old + old * share as f64 / (100 * SCALE) as f64,
            Self::Increase(more) => old + more as f64,
            Self::Amount(most) => most as f64,
        }
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Share(share) => write!(f, "{} %", *share as f64 / SCALE as f64),
            Self::Increase(more) => write!(f, "+{more}"),
            Self::Amount(most) => write!(f, "up to {most}"),
        }
    }
}

impl Threshold {
    /// What a condition may be on. How long a run took says little about the next one.
    pub fn measures() -> Vec<Measure> {
        OF_RUNS.into_iter().filter(|measure| *measure != Measure::DurationNs).collect()
    }
}

impl FromStr for Threshold {
    type Err = BadThreshold;

    fn from_str(expression: &str) -> Result<Self, Self::Err> {
        Self::parse(expression, &Self::measures(), Measure::name, Measure::is_bytes)
    }
}

impl<M: Copy> Threshold<M> {
    /// Reads a condition on one of these measures, which have names, and of which some are bytes.
    ///
    /// # Errors
    /// If it is not a condition: why, in one line.
    pub fn parse(
        expression: &str,
        known: &[M],
        name_of: fn(M) -> &'static str,
        is_bytes: fn(M) -> bool,
    ) -> Result<Self, BadThreshold> {
        let bad = |reason: String| BadThreshold { expression: expression.to_owned(), reason };
        let Some(at) = expression.find(['+', '>']) else {
            let hint = "expected MEASURE+PERCENT%, MEASURE+AMOUNT or 'MEASURE>AMOUNT' (in quotes: a shell takes > for \
                        itself)";
            return Err(bad(hint.into()));
        };
        let (name, rest) = expression.split_at(at);
        let measure = known.iter().copied().find(|measure| name_of(*measure) == name.trim());
        let measure = measure.ok_or_else(|| {
            let names: Vec<&str> = known.iter().copied().map(name_of).collect();
            bad(format!("unknown measure '{}'; there are {}", name.trim(), names.join(", ")))
        })?;
        let amount = |text| amount(is_bytes(measure), text);
        let value = rest[1..].trim();
        let limit = match (&rest[..1], value.strip_suffix('%')) {
            ("+", Some(percent)) => percent_of(percent.trim()).map(Limit::Share),
            ("+", None) => amount(value).map(Limit::Increase),
            (_, Some(_)) => Err("a percentage needs +, as in allocations+5%".into()),
            (_, None) => amount(value).map(Limit::Amount),
        };
        Ok(Self { expression: expression.to_owned(), measure, limit: limit.map_err(bad)? })
    }
}

/// A decimal number of percent, in ten-thousandths of one.
fn percent_of(text: &str) -> Result<u64, String> {
    let bad = || format!("invalid percentage '{text}': expected a number such as 5 or 2.5");
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let is_number = |part: &str| part.bytes().all(|b| b.is_ascii_digit());
    if whole.is_empty() || !is_number(whole) || !is_number(fraction) || fraction.len() > 4 {
        return Err(bad());
    }
    let parts: u64 = format!("{fraction:0<4}").parse().map_err(|_| bad())?;
    let whole: u64 = whole.parse().map_err(|_| bad())?;
    whole.checked_mul(SCALE).and_then(|n| n.checked_add(parts)).ok_or_else(bad)
}

fn amount(is_bytes: bool, text: &str) -> Result<u64, String> {
    let digits = text.replace('_', "");
    if is_bytes {
        let bytes = ByteSize::from_str(&digits).map(|size| size.as_u64());
        return bytes
            .map_err(|_| format!("invalid amount of bytes '{text}': expected one such as 4096 or 1MiB"));
    }
    if digits.bytes().all(|b| b.is_ascii_digit())
        && let Ok(n) = digits.parse()
    {
        return Ok(n);
    }
    Err(format!("invalid count '{text}': expected a whole number such as 100000"))
}

impl<M> fmt::Display for Threshold<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.expression)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exceeded(expression: &str, old: u64, new: u64) -> bool {
        let threshold: Threshold = expression.parse().unwrap_or_else(|e| panic!("{e}"));
        let totals = OF_RUNS.map(|measure| Change { measure, old, new });
        threshold.exceeded(&totals).is_some()
    }

    #[test]
    fn a_limit_is_exceeded_by_more_and_by_nothing_else() {
        let cases = [
            ("allocations+5%", 100, 105),
            ("allocations+0", 100, 100),
            ("allocations+0%", 0, 0),
            ("reallocations+0.1%", 1000, 1001),
            ("temporary_allocations + 12.5 %", 1000, 1125),
            ("allocated_bytes+1KiB", 1000, 2024),
            ("peak_bytes+1MiB", 0, 1 << 20),
            ("peak_rss_bytes>2kB", 9, 2000),
            ("live_at_exit_bytes>0", 9, 0),
            ("live_at_exit_blocks+3", 1, 4),
            ("allocations>100_000", 9, 100_000),
            ("allocations+100%", u64::MAX / 2, u64::MAX - 1),
        ];
        for (expression, old, limit) in cases {
            assert!(!exceeded(expression, old, limit), "{expression} with {old} and {limit}");
            assert!(exceeded(expression, old, limit + 1), "{expression} with {old} and {limit} + 1");
            assert!(!exceeded(expression, old, limit.saturating_sub(1)), "{expression}");
        }
        assert!(exceeded("peak_rss_bytes>1MiB", 1, 0), "the new run was not measured");
        assert!(exceeded("peak_rss_bytes+5%", 0, 1), "nor was the old one");
        assert!(!exceeded("peak_rss_bytes>1MiB", 0, 1), "which does not matter here");
        assert!(!exceeded("allocations+100%", u64::MAX, u64::MAX));
        assert!(exceeded("allocations+1000%", 0, 1), "more than nothing is any percentage more");
    }

    #[test]
    fn limits_are_the_same_of_means() {
        for (text, old, most) in [
            ("allocations+5%", 200, 210),
            ("allocations+2.5%", 200, 205),
            ("allocations+7", 200, 207),
            ("allocations>50", 200, 50),
        ] {
            let limit = text.parse::<Threshold>().unwrap().limit;
            assert_eq!((limit.most(old), limit.most_of_mean(old as f64)), (most, most as f64), "{text}");
        }
        let shown = |text: &str| text.parse::<Threshold>().unwrap().limit.to_string();
        assert_eq!(["allocations+2.5%", "allocations+7"].map(shown), ["2.5 %", "+7"]);
        assert_eq!(Limit::percent(1), Limit::Share(10_000));
    }

    #[test]
    fn what_is_exceeded_says_by_what() {
        let threshold: Threshold = "allocations+5%".parse().expect("it is one");
        let change = Change { measure: Measure::Allocations, old: 39, new: 41 };
        let exceeded = threshold.exceeded(&[change]).expect("it is exceeded");
        assert_eq!(
            (exceeded.expression.as_str(), exceeded.change, exceeded.limit),
            ("allocations+5%", change, 40)
        );
    }

    #[test]
    fn a_bad_expression_is_answered_in_one_line_that_says_what_is_expected() {
        let cases = [
            ("", "MEASURE+PERCENT%"),
            ("allocations", "in quotes"),
            ("allocations=5", "MEASURE+AMOUNT"),
            ("allocation+5%", "peak_bytes"),
            ("duration_ns+5%", "unknown measure 'duration_ns'"),
            ("+5%", "unknown measure ''"),
            ("allocations+", "whole number"),
            ("allocations+five", "whole number"),
            ("allocations+-5", "whole number"),
            ("allocations+5MiB", "whole number"),
            ("allocations+99999999999999999999", "whole number"),
            ("allocations+5.123456%", "percentage"),
            ("allocations+.5%", "percentage"),
            ("allocations+%", "percentage"),
            ("allocations+99999999999999999%", "percentage"),
            ("allocations>5%", "needs +"),
            ("peak_bytes+1 apple", "1MiB"),
            ("peak_bytes+", "1MiB"),
        ];
        for (expression, expected) in cases {
            let error = expression.parse::<Threshold>().expect_err(expression).to_string();
            assert!(error.contains(expected) && error.contains(expression), "{error}");
            assert_eq!(error.lines().count(), 1, "{error}");
        }
    }
}
