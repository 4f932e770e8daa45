//! What a benchmark is run for, by the arguments that cargo and users start it with.
//!
//! The arguments are those of Criterion and divan, which have them from libtest.

use super::say;
use std::env;
use std::ffi::{OsStr, OsString};
use std::sync::Once;

/// The iterations that are measured after the first one, if `HEAPWISE_BENCH_ITERATIONS` does not say otherwise.
///
/// ```
/// assert!(heapwise::bench::ITERATIONS > 1);
/// ```
pub const ITERATIONS: u64 = 10;

/// What is to be done with a benchmark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// It is named, and not run.
    List,
    /// It is run once, to see whether it works.
    Test,
    /// It is measured.
    Measure { iterations: u64 },
}

impl Mode {
    /// Determined by the arguments and the variables of this process.
    pub(crate) fn now() -> Self {
        let variable = env::var_os("HEAPWISE_BENCH_ITERATIONS");
        match Self::of(env::args_os().skip(1)) {
            Self::Measure { .. } => Self::Measure { iterations: iterations(variable.as_deref()) },
            other => other,
        }
    }

    fn of(arguments: impl IntoIterator<Item = OsString>) -> Self {
        let (mut list, mut test, mut bench) = (false, false, false);
        for argument in arguments {
            match argument.to_str().unwrap_or_default() {
                "--list" => list = true,
                // Under a profiler, a routine must not run more often than the framework runs it.
                "--test" | "--profile-time" => test = true,
                "--bench" => bench = true,
                argument if argument.starts_with("--profile-time=") => test = true,
                _ => {}
            }
        }
        match (list, test, bench) {
            (true, _, _) => Self::List,
            (_, false, true) => Self::Measure { iterations: ITERATIONS },
            _ => Self::Test,
        }
    }
}

/// A value that is no number is reported once.
fn iterations(variable: Option<&OsStr>) -> u64 {
    static WARNED: Once = Once::new();
    let Some(value) = variable.filter(|value| !value.is_empty()) else { return ITERATIONS };
    number(value).unwrap_or_else(|| {
        let value = value.display();
        WARNED.call_once(|| {
            say(&format!(
                "HEAPWISE_BENCH_ITERATIONS is {value}, and not a whole number from 1: it is {ITERATIONS}"
            ));
        });
        ITERATIONS
    })
}

fn number(value: &OsStr) -> Option<u64> {
    value.to_str()?.parse().ok().filter(|iterations| *iterations > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_cargo_are_understood() {
        let of = |words: &str| Mode::of(words.split_whitespace().map(OsString::from));
        let measure = Mode::Measure { iterations: ITERATIONS };
        assert_eq!([of("--bench"), of("--bench v01 --noplot")], [measure; 2]);
        assert_eq!([of(""), of("--test"), of("--bench --test"), of("--nocapture v01")], [Mode::Test; 4]);
        assert_eq!([of("--bench --profile-time 5"), of("--bench --profile-time=5")], [Mode::Test; 2]);
        assert_eq!([of("--list"), of("--bench --list --format terse")], [Mode::List; 2]);
    }

    #[test]
    fn iterations_are_a_whole_number_from_one() {
        let of = |value: &str| iterations(Some(value.as_ref()));
        assert_eq!([of("1"), of("25"), of(""), iterations(None)], [1, 25, ITERATIONS, ITERATIONS]);
        assert_eq!([of("0"), of("-1"), of("many"), of("1.5")], [ITERATIONS; 4]);
    }
}
