//! How many tests there were, in all test programs together.

use std::fmt;

/// The sums of cargo test's `test result:` lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Totals {
    programs: u64,
    passed: u64,
    failed: u64,
    ignored: u64,
}

impl Totals {
    /// Adds a line of output if it is one of a result.
    pub(crate) fn add(&mut self, line: &str) {
        let Some(result) = line.trim_start().strip_prefix("test result: ") else { return };
        let count = |name: &str| {
            let words: Vec<_> = result.split([' ', ';', '.']).collect();
            words.windows(2).find(|pair| pair[1] == name).and_then(|pair| pair[0].parse::<u64>().ok())
        };
        self.programs += 1;
        self.passed += count("passed").unwrap_or(0);
        self.failed += count("failed").unwrap_or(0);
        self.ignored += count("ignored").unwrap_or(0);
    }
}

impl fmt::Display for Totals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { programs, passed, failed, ignored } = self;
        write!(f, "{passed} tests passed, {failed} failed, {ignored} ignored, in {programs} programs")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_added_up_and_other_lines_are_not() {
        let mut totals = Totals::default();
        for line in [
            "test tests::a ... ok",
            "test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.20s",
            "test result: FAILED. 3 passed; 2 failed; 0 ignored; 0 measured; 7 filtered out; finished in 1.00s",
            "the test result: 5 passed",
        ] {
            totals.add(line);
        }
        assert_eq!(totals, Totals { programs: 2, passed: 15, failed: 2, ignored: 1 });
        assert_eq!(totals.to_string(), "15 tests passed, 2 failed, 1 ignored, in 2 programs");
    }
}
