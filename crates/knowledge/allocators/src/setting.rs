//! An allocator's settings, and which values they take.
//!
//! Within its range a value does what the setting's name promises; some allocators accept others silently, and then do something
//! else.

/// One setting of an allocator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setting {
    /// What it is called on heapwise's command line, and by its allocator without a prefix.
    pub name: &'static str,
    /// What it does, in one sentence without a full stop.
    pub meaning: &'static str,
    /// Which values it takes.
    pub kind: Kind,
    /// Its value if it is not set; in words where the allocator computes it.
    pub default: &'static str,
    /// Values that are worth a try for a program of which nothing is known, besides the default.
    pub worth_trying: &'static [&'static str],
}

/// Which values a setting takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// `true` or `false`.
    Switch,
    /// A whole number within a range, both ends of it included.
    Number {
        /// The smallest one.
        least: i64,
        /// The largest one.
        most: i64,
        /// What it counts.
        unit: Unit,
    },
    /// One of these words.
    Choice(&'static [&'static str]),
}

/// What a number counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unit {
    /// Things.
    Count,
    /// Bytes.
    Bytes,
    /// Units of 1024 bytes.
    Kibibytes,
    /// Milliseconds. A replay that is faster than the program was has to divide them.
    Milliseconds,
    /// Bytes in a second. Such a replay has to multiply them.
    BytesPerSecond,
}

impl Unit {
    /// The unit as it follows a number; empty for things that are counted.
    pub fn suffix(self) -> &'static str {
        match self {
            Self::Count => "",
            Self::Bytes => "bytes",
            Self::Kibibytes => "KiB",
            Self::Milliseconds => "ms",
            Self::BytesPerSecond => "bytes per second",
        }
    }
}

impl Setting {
    /// Whether it is a time for which the allocator waits, as for decay or purging.
    pub fn is_time(&self) -> bool {
        matches!(self.kind, Kind::Number { unit: Unit::Milliseconds, .. })
    }

    /// Its value where time goes by faster by this factor: times are divided, and what is done in a second is multiplied,
    /// within the range. `None` if that changes nothing; what is not 0 does not become 0, for that means something else.
    #[cfg(feature = "candidates")]
    pub(crate) fn scaled(&self, value: &str, divisor: u32) -> Option<String> {
        let Kind::Number { most, unit, .. } = self.kind else { return None };
        let number: i64 = value.parse().ok().filter(|n| *n > 0 && divisor > 1)?;
        let divisor = i64::from(divisor);
        match unit {
            Unit::Milliseconds => Some((number / divisor).max(1).to_string()),
            Unit::BytesPerSecond => Some(number.saturating_mul(divisor).min(most).to_string()),
            _ => None,
        }
    }

    /// The canonical form of a value; `None` if the setting does not take it.
    pub fn accept(&self, value: &str) -> Option<String> {
        match self.kind {
            Kind::Switch => match value {
                "true" | "1" | "on" | "yes" => Some("true".into()),
                "false" | "0" | "off" | "no" => Some("false".into()),
                _ => None,
            },
            Kind::Number { least, most, .. } => {
                let number: i64 = value.parse().ok()?;
                (least..=most).contains(&number).then(|| number.to_string())
            }
            Kind::Choice(words) => words.iter().find(|w| **w == value).map(|w| (*w).to_owned()),
        }
    }

    /// The values that it takes, in words: "a number from 0 to 10000 ms".
    pub fn range(&self) -> String {
        match self.kind {
            Kind::Switch => "true or false".into(),
            Kind::Number { least, most, unit } => {
                format!("a whole number from {least} to {most} {}", unit.suffix()).trim_end().to_owned()
            }
            Kind::Choice(words) => words.join(", "),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DELAY: Setting = Setting {
        name: "delay",
        meaning: "",
        kind: Kind::Number { least: -1, most: 100, unit: Unit::Milliseconds },
        default: "10",
        worth_trying: &[],
    };

    #[test]
    fn values_have_one_form_and_a_range() {
        assert_eq!(DELAY.accept("+7").as_deref(), Some("7"));
        assert_eq!(DELAY.accept("-1").as_deref(), Some("-1"));
        for bad in ["101", "-2", "", "1.5", "7ms", "99999999999999999999"] {
            assert_eq!(DELAY.accept(bad), None, "{bad}");
        }
        assert_eq!(DELAY.range(), "a whole number from -1 to 100 ms");
        assert!(DELAY.is_time());
        let switch = Setting { kind: Kind::Switch, ..DELAY };
        assert_eq!((switch.accept("on"), switch.accept("maybe")), (Some("true".into()), None));
    }
}
