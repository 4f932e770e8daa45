//! What a checking heap costs: the experiment of three articles about the debug heap of Windows.
//!
//! On Windows, a process that a debugger starts gets a heap that fills and checks, and can be hundreds of times slower. Linux has
//! similar heaps that have to be turned on. The experiment runs the articles' programs under each of them, unchanged, with what
//! heapwise recommends, and with an allocator that the checks do not reach. It measures the time of building up and of dropping
//! separately, and how both grow.

mod conclusion;
mod measure;
mod tables;

use crate::lab::conditions::{CONDITIONS, Condition, own_heap_variables};
use crate::lab::experiment::{Error, Experiment, Options};
use crate::lab::outcome::Outcome;
use crate::lab::workloads::{OF_CHECKING_HEAPS, Workload};
use crate::rounds::Step;
use heapwise_environment::MachineDescription;
use measure::{Plan, Series, measure};

pub(crate) struct DebugHeap;

/// Entries of the article's map, and what it takes to see that all works.
const SIZE: u64 = 1_000_000;
const QUICK_SIZE: u64 = 20_000;
/// How often sizes double, and rounds that count.
const STEPS: u32 = 5;
const QUICK_STEPS: u32 = 4;
const ROUNDS: u32 = 5;
const QUICK_ROUNDS: u32 = 2;

impl Experiment for DebugHeap {
    fn name(&self) -> &'static str {
        "debug-heap"
    }

    fn about(&self) -> &'static str {
        "what a checking heap costs, such as a debugger gives a program"
    }

    fn shows(&self) -> &'static str {
        "The same program, built once, runs under a heap that checks, and without: what that costs when data is built up and \
         when it is dropped, how it grows with the size, and that the recommended fix, or another allocator, undoes it."
    }

    fn run(&self, options: &Options, progress: &mut dyn FnMut(&Step)) -> Result<Outcome, Error> {
        let plan = plan(options)?;
        let machine = MachineDescription::look();
        let series = measure(&plan, options, progress)?;
        let mut caveats: Vec<String> =
            plan.conditions.iter().filter_map(|condition| condition.caveat()).collect();
        caveats.extend(plan.missing.iter().cloned());
        caveats.extend(series.caveats.iter().cloned());
        let own = own_heap_variables();
        if !own.is_empty() {
            caveats.push(format!(
                "this shell has {}, which the workers do not get: heapwise doctor says what that costs",
                own.join(", ")
            ));
        }
        if plan.rounds < 3 {
            caveats.push("so few rounds show that it works; the numbers are indicative only".to_owned());
        }
        Ok(Outcome {
            experiment: self.name(),
            shows: self.shows(),
            machine,
            is_interrupted: options.are_over(),
            setup: setup(&plan, &series),
            tables: tables::all(&plan, &series),
            caveats,
            conclusion: conclusion::conclusion(&plan, &series),
        })
    }
}

/// Decides what will be done.
fn plan(options: &Options) -> Result<Plan, Error> {
    if options.scale.is_some() {
        return Err(Error::Usage("debug-heap has sizes (--size), and no scale".to_owned()));
    }
    if options.size == Some(0) || options.runs == Some(0) {
        return Err(Error::Usage("a size, and a number of rounds, is at least 1".to_owned()));
    }
    let workloads = chosen("workload", OF_CHECKING_HEAPS, |w| w.name(), &options.workloads)?;
    // The plain condition is always there: without it there is no ratio.
    let wished = match options.conditions.as_slice() {
        [] => Vec::new(),
        some => [&["plain".to_owned()], some].concat(),
    };
    let all = chosen("condition", CONDITIONS, |c| c.name(), &wished)?;
    let mut conditions: Vec<&'static dyn Condition> = Vec::new();
    let mut missing = Vec::new();
    for condition in all {
        match condition.check() {
            Ok(()) => conditions.push(condition),
            Err(reason) => missing.push(format!("{} was not tried: {reason}", condition.name())),
        }
    }
    let size = options.size.unwrap_or(if options.quick { QUICK_SIZE } else { SIZE });
    let steps = if options.quick { QUICK_STEPS } else { STEPS };
    let sizes = |w: &&dyn Workload| doubling(w.scaled(size), steps);
    let sizes = workloads.iter().map(sizes).collect();
    let rounds = options.runs.unwrap_or(if options.quick { QUICK_ROUNDS } else { ROUNDS });
    Ok(Plan { workloads, sizes, conditions, rounds, missing })
}

/// Sizes that double, up to the largest; smallest first.
fn doubling(largest: u64, steps: u32) -> Vec<u64> {
    let mut sizes: Vec<u64> = (0..steps).rev().map(|step| largest >> step).filter(|size| *size > 0).collect();
    sizes.dedup();
    sizes
}

/// The entries of a registry that were named, in the order of the registry; all of them if none was.
fn chosen<T: ?Sized>(
    kind: &'static str,
    registry: &[&'static T],
    name_of: impl Fn(&T) -> &'static str,
    names: &[String],
) -> Result<Vec<&'static T>, Error> {
    if let Some(name) = names.iter().find(|name| !registry.iter().any(|item| name_of(item) == name.as_str()))
    {
        let known: Vec<_> = registry.iter().map(|item| name_of(item)).collect();
        return Err(Error::Unknown { kind, name: name.clone(), known: known.join(", ") });
    }
    let is_wished = |item: &&&'static T| names.is_empty() || names.iter().any(|name| name == name_of(item));
    Ok(registry.iter().filter(is_wished).copied().collect())
}

fn setup(plan: &Plan, series: &Series) -> Vec<String> {
    let times = if series.has_cpu_time { "processor time of the thread" } else { "wall time" };
    vec![
        format!(
            "{} after a warm-up round; in each, all conditions in turn, in random order, each run in a separate process. Times are {times}; numbers are medians with the least and the greatest.",
            if plan.rounds == 1 { "1 round".to_owned() } else { format!("{} rounds", plan.rounds) },
        ),
        "A ratio compares runs of the same round. Growth is the exponent b of time = a · n^b over the sizes, with an \
         interval of 95 %. Where data outgrows the caches each step takes longer, so it may be above 1 even plainly: \
         compare it with the plain one."
            .to_owned(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(workloads: &[&str], conditions: &[&str]) -> Options {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        Options { workloads: owned(workloads), conditions: owned(conditions), ..Options::testing("false") }
    }

    #[test]
    fn what_is_named_is_chosen_and_the_plain_condition_always() {
        let plan = plan(&options(&["vectors", "hash-map"], &["mimalloc"])).unwrap();
        assert_eq!(plan.workloads.iter().map(|w| w.name()).collect::<Vec<_>>(), ["hash-map", "vectors"]);
        assert_eq!(plan.conditions.iter().map(|c| c.name()).collect::<Vec<_>>(), ["plain", "mimalloc"]);
        assert_eq!(plan.sizes, [vec![2500, 5000, 10_000, 20_000], vec![1, 2, 4, 8]]);
    }

    #[test]
    fn an_unknown_name_is_refused_with_those_that_are_known() {
        let error = plan(&options(&["hashmap"], &[])).err().map(|e| e.to_string()).unwrap_or_default();
        assert!(error.contains("hashmap") && error.contains("hash-map"), "{error}");
        assert!(plan(&options(&[], &["nothing"])).is_err());
        assert!(plan(&Options { size: Some(0), ..options(&[], &[]) }).is_err());
    }

    #[test]
    fn sizes_double_and_none_is_zero() {
        assert_eq!(doubling(1000, 4), [125, 250, 500, 1000]);
        assert_eq!(doubling(2, 5), [1, 2]);
        assert_eq!(doubling(0, 3), [0u64; 0]);
    }

    #[test]
    fn a_worker_that_fails_is_an_error_and_no_result() {
        let found = DebugHeap.run(&options(&["hash-map"], &[]), &mut |_| {});
        assert!(matches!(found, Err(Error::Plain { workload: "hash-map", .. })), "{found:?}");
    }
}
