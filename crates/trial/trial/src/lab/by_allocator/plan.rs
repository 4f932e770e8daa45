//! How much is done.

use super::ByAllocator;
use crate::compare::Candidate;
use crate::lab::conditions::own_heap_variables;
use crate::lab::experiment::{Error, Options};

/// Rounds that count, to see that it works.
const QUICK_ROUNDS: u32 = 1;
/// What it takes to see that all works.
const QUICK_SCALE: f64 = 0.02;
/// How long a worker waits to see what is left later: longer than the ten seconds after which jemalloc gives pages back.
const WAIT_MS: u64 = 12_000;
const QUICK_WAIT_MS: u64 = 200;
/// As many threads as the article's examples for a few cores, or two for each core.
const LEAST_THREADS: u64 = 8;
const MOST_THREADS: u64 = 32;

/// The sizes of an experiment, of which a variant makes the numbers for a worker.
#[derive(Clone, Copy, Debug)]
pub(in crate::lab) struct Sizes {
    scale: f64,
    pub(in crate::lab) threads: u64,
    /// How long to wait after a drop.
    pub(in crate::lab) wait_ms: u64,
}

impl Sizes {
    /// So much of the article's number, at least one.
    pub(in crate::lab) fn of(&self, articles: u64) -> u64 {
        ((articles as f64 * self.scale) as u64).max(1)
    }

    /// Whether so little is done that the figures of the article cannot be expected.
    pub(super) fn are_small(&self) -> bool {
        self.scale < 0.5
    }

    /// For the first run, which does not count: nothing is waited for.
    pub(super) fn of_warm_up(&self) -> Self {
        Self { wait_ms: 0, ..*self }
    }
}

pub(super) struct Plan {
    pub(super) sizes: Sizes,
    pub(super) rounds: u32,
}

/// Decides what will be done.
pub(super) fn plan(experiment: &ByAllocator, options: &Options) -> Result<Plan, Error> {
    if options.runs == Some(0) {
        return Err(Error::Usage("a number of rounds is at least 1".to_owned()));
    }
    if options.size.is_some() || !options.workloads.is_empty() || !options.conditions.is_empty() {
        let sentence = format!(
            "{} has allocators (--with) and a scale (--scale), and no sizes, workloads or conditions",
            experiment.name
        );
        return Err(Error::Usage(sentence));
    }
    let scale = options.scale.unwrap_or(if options.quick { QUICK_SCALE } else { 1.0 });
    if !(scale.is_finite() && scale > 0.0 && scale <= 100.0) {
        return Err(Error::Usage("a scale is above 0 and at most 100".to_owned()));
    }
    let cores = std::thread::available_parallelism().map_or(1, usize::from) as u64;
    let sizes = Sizes {
        scale,
        threads: (cores * 2).clamp(LEAST_THREADS, MOST_THREADS),
        wait_ms: if options.quick { QUICK_WAIT_MS } else { WAIT_MS },
    };
    Ok(Plan {
        sizes,
        rounds: options.runs.unwrap_or(if options.quick { QUICK_ROUNDS } else { experiment.rounds }),
    })
}

impl Plan {
    pub(super) fn setup(&self, experiment: &ByAllocator, candidates: &[Candidate]) -> Vec<String> {
        let rounds = if self.rounds == 1 { "1 round".to_owned() } else { format!("{} rounds", self.rounds) };
        let mut lines = vec![format!(
            "{rounds} after a warm-up round; in each, all in turn, in random order, each run in a separate process. \
             Numbers are medians with the least and the greatest."
        )];
        let described = experiment.variants.iter().map(|variant| {
            let numbers: Vec<String> = (variant.numbers)(&self.sizes).iter().map(u64::to_string).collect();
            format!("{}: {} ({} {})", variant.name, variant.about, variant.workload, numbers.join(" "))
        });
        lines.extend(described);
        let versions = candidates.iter().filter_map(|candidate| {
            // jemalloc's has the commit behind it.
            let version = candidate.version.as_deref()?;
            Some(format!("{} is {}", candidate.label, version.split("-0-g").next().unwrap_or(version)))
        });
        let versions: Vec<String> = versions.collect();
        if !versions.is_empty() {
            lines.push(versions.join(", "));
        }
        lines
    }

    pub(super) fn caveats(&self, options: &Options) -> Vec<String> {
        let missing = options.unavailable.iter();
        let mut all: Vec<String> =
            missing.map(|who| format!("{} was not tried: {}", who.label, who.reason)).collect();
        let own = own_heap_variables();
        if !own.is_empty() {
            all.push(format!(
                "this shell has {}, which the workers do not get: heapwise doctor says what that costs",
                own.join(", ")
            ));
        }
        if self.rounds < 3 {
            all.push("so few rounds show that it works; the numbers are indicative only".to_owned());
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::super::found::tests::EXPERIMENT;
    use super::*;

    #[test]
    fn a_scale_is_of_the_articles_numbers() {
        let numbers = |options: &Options| {
            let plan = plan(&EXPERIMENT, options).expect("it is possible");
            ((EXPERIMENT.variants[0].numbers)(&plan.sizes), plan.rounds)
        };
        let usual = Options { quick: false, ..Options::testing("true") };
        assert_eq!(numbers(&usual), (vec![1000, 12_000], 3));
        assert_eq!(
            numbers(&Options { scale: Some(0.5), runs: Some(7), ..usual.clone() }),
            (vec![500, 12_000], 7)
        );
        assert_eq!(numbers(&Options { quick: true, ..usual.clone() }), (vec![20, 200], 1));
        assert_eq!(numbers(&Options { scale: Some(0.000_1), ..usual }), (vec![1, 12_000], 3));
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        let refused = |options: Options| plan(&EXPERIMENT, &options).err().map(|error| error.to_string());
        let usual = Options::testing("true");
        for scale in [0.0, -1.0, 101.0, f64::NAN] {
            let said = refused(Options { scale: Some(scale), ..usual.clone() });
            assert!(said.is_some_and(|said| said.contains("above 0")), "{scale}");
        }
        assert!(refused(Options { runs: Some(0), ..usual.clone() }).is_some());
        let said = refused(Options { size: Some(5), ..usual.clone() });
        assert!(said.is_some_and(|said| said.contains("made-up has allocators")));
        assert_eq!(refused(usual), None);
    }
}
