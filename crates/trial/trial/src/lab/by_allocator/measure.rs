//! Has the workers work, and keeps what they answered.

use super::plan::Plan;
use super::{ByAllocator, Shown};
use crate::compare::Candidate;
use crate::lab::conditions::clean;
use crate::lab::experiment::{Error, Options};
use crate::lab::worker::{Answer, WorkerError, answer_of, run};
use crate::rounds::{Rounds, Step};
use crate::statistics::Spread;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

/// All answers that count.
pub(in crate::lab) struct Found {
    /// The names of the variants and of the allocators.
    pub(super) variants: Vec<&'static str>,
    pub(super) allocators: Vec<String>,
    columns: &'static [Shown],
    /// By variant, allocator and round.
    answers: BTreeMap<(usize, usize), BTreeMap<u32, Answer>>,
    pub(super) caveats: Vec<String>,
}

pub(super) fn measure(
    experiment: &ByAllocator,
    plan: &Plan,
    options: &Options,
    progress: &mut dyn FnMut(&Step),
) -> Result<Found, Error> {
    let candidates = &options.candidates;
    let jobs: Vec<(usize, usize)> = (0..experiment.variants.len())
        .flat_map(|variant| (0..candidates.len()).map(move |candidate| (variant, candidate)))
        .collect();
    let mut found = Found {
        variants: experiment.variants.iter().map(|variant| variant.name).collect(),
        allocators: candidates.iter().map(|candidate| candidate.label.clone()).collect(),
        columns: experiment.columns,
        answers: BTreeMap::new(),
        caveats: Vec::new(),
    };
    let mut checksums: BTreeMap<usize, u64> = BTreeMap::new();
    let mut rounds = Rounds::new(jobs.len(), plan.rounds, 1).in_groups_of(candidates.len());
    while let Some(turn) = rounds.next() {
        let (variant, who) = jobs[turn.who];
        let (way, candidate) = (&experiment.variants[variant], &candidates[who]);
        progress(&turn.step(format!("{} {}", way.name, candidate.label)));
        let sizes = if turn.counts() { plan.sizes } else { plan.sizes.of_warm_up() };
        let answer = ask(options, candidate, experiment.workload, &(way.numbers)(&sizes));
        // The worker may have ended by the same interrupt.
        if options.are_over() {
            break;
        }
        let answer = match answer {
            Err(error) if who == 0 => return Err(Error::Plain { workload: experiment.workload, error }),
            Err(error) => Err(error.to_string()),
            Ok(answer) if !is_in_place(candidate, &answer) => {
                Err("the process did not have this allocator, so the run does not count".to_owned())
            }
            Ok(answer) if *checksums.entry(variant).or_insert(answer.checksum) != answer.checksum => {
                Err("the result was different, so the run does not count".to_owned())
            }
            Ok(answer) => Ok(answer),
        };
        match answer {
            Ok(answer) if turn.counts() => {
                found.answers.entry((variant, who)).or_default().insert(turn.round, answer);
            }
            Ok(_) => {}
            Err(why) => {
                found.caveats.push(format!("{} under {}: {why}", way.name, candidate.label));
                rounds.leave_out(turn.who);
            }
        }
    }
    if options.are_over() && found.answers.is_empty() {
        return Err(Error::Interrupted);
    }
    Ok(found)
}

/// Has a worker do something under an allocator.
fn ask(
    options: &Options,
    candidate: &Candidate,
    workload: &str,
    numbers: &[u64],
) -> Result<Answer, WorkerError> {
    let mut command = Command::new(&options.worker);
    command.arg(workload).args(numbers.iter().map(u64::to_string));
    clean(&mut command);
    for (name, value) in &candidate.environment {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    answer_of(&run(&mut command)?, workload, numbers)
}

/// Whether the worker's `malloc` was that of the candidate's library.
fn is_in_place(candidate: &Candidate, answer: &Answer) -> bool {
    candidate.library.as_deref().is_none_or(|library| Path::new(&answer.heap.malloc) == library)
}

impl Found {
    /// A number of the runs of a variant under an allocator.
    pub(in crate::lab) fn spread(&self, variant: usize, who: usize, column: &Shown) -> Option<Spread> {
        let rounds = self.answers.get(&(variant, who))?.values();
        Spread::of(rounds.filter_map(column.of))
    }

    /// The same in proportion to another variant, in the same round.
    pub(super) fn factor(&self, variants: (usize, usize), who: usize, column: &Shown) -> Option<Spread> {
        let (base, other) = (self.answers.get(&(variants.0, who))?, self.answers.get(&(variants.1, who))?);
        Spread::of(base.iter().filter_map(|(round, base)| {
            let (base, other) = ((column.of)(base)?, (column.of)(other.get(round)?)?);
            (base > 0.0).then_some(other / base)
        }))
    }

    /// The median of a column by its name, of a variant, under the allocator of a name.
    pub(in crate::lab) fn median(&self, variant: usize, allocator: &str, column: &str) -> Option<f64> {
        let who = self.allocators.iter().position(|label| label == allocator)?;
        let column = self.columns.iter().find(|shown| shown.id == column)?;
        Some(self.spread(variant, who, column)?.median)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::{Unit, Variant};
    use super::*;
    use crate::lab::worker::{Heap, Memory, Moment};

    /// An experiment of two variants and one number.
    pub(in super::super) const EXPERIMENT: ByAllocator = ByAllocator {
        name: "made-up",
        about: "",
        shows: "",
        workload: "threads",
        with: "jemalloc",
        variants: &[
            Variant { name: "same thread", about: "", numbers: |sizes| vec![sizes.of(1000), sizes.wait_ms] },
            Variant { name: "another", about: "", numbers: |sizes| vec![sizes.of(1000), sizes.wait_ms] },
        ],
        columns: &[Shown {
            id: "peak_bytes",
            title: "peak",
            unit: Unit::Bytes,
            of: |answer| super::super::rss(answer, "full"),
            is_detail: false,
        }],
        against: Some((0, 1)),
        claims: &[],
    };

    /// Answers of three rounds with these bytes for variant, allocator and round.
    pub(in super::super) fn made_up(bytes: impl Fn(usize, usize, u32) -> u64) -> Found {
        let mut found = Found {
            variants: vec!["same thread", "another"],
            allocators: vec!["default".to_owned(), "jemalloc".to_owned()],
            columns: EXPERIMENT.columns,
            answers: BTreeMap::new(),
            caveats: Vec::new(),
        };
        for (variant, who, round) in
            (0..2).flat_map(|v| (0..2).flat_map(move |w| (1..=3).map(move |r| (v, w, r))))
        {
            let memory = Memory { rss_bytes: bytes(variant, who, round), ..Memory::default() };
            let full =
                Moment { name: "full".into(), wall_ns: 1, cpu_ns: None, memory: Some(memory), own: None };
            let answer = Answer {
                protocol: 2,
                workload: "threads".into(),
                n: 1,
                checksum: 1,
                allocations: None,
                phases: Vec::new(),
                moments: vec![full],
                heap: Heap::default(),
            };
            found.answers.entry((variant, who)).or_default().insert(round, answer);
        }
        found
    }

    #[test]
    fn numbers_are_medians_and_factors_are_those_of_the_same_round() {
        // The second variant needs twice as much, and more from round to round.
        let found =
            made_up(|variant, who, round| 100 * u64::from(round) * (1 + variant as u64) * (1 + who as u64));
        assert_eq!(found.median(0, "jemalloc", "peak_bytes"), Some(400.0));
        assert_eq!(found.median(1, "default", "peak_bytes"), Some(400.0));
        assert_eq!(
            (found.median(0, "mimalloc", "peak_bytes"), found.median(0, "default", "end")),
            (None, None)
        );
        let factor = found.factor((0, 1), 1, &EXPERIMENT.columns[0]);
        assert_eq!(factor, Some(Spread { median: 2.0, low: 2.0, high: 2.0 }));
    }

    #[test]
    fn a_worker_with_another_malloc_does_not_count() {
        let mut answer = made_up(|_, _, _| 1).answers[&(0, 0)][&1].clone();
        let named = Candidate { library: Some("/x/libjemalloc.so".into()), ..Candidate::default() };
        answer.heap.malloc = "/lib/libc.so.6".into();
        assert!(!is_in_place(&named, &answer) && is_in_place(&Candidate::default(), &answer));
        answer.heap.malloc = "/x/libjemalloc.so".into();
        assert!(is_in_place(&named, &answer));
    }

    #[test]
    fn a_worker_that_fails_under_the_systems_allocator_is_an_error_and_no_result() {
        let options = Options::testing("false");
        let plan = super::super::plan::plan(&EXPERIMENT, &options).expect("usual options");
        let found = measure(&EXPERIMENT, &plan, &options, &mut |_| {});
        assert!(matches!(found, Err(Error::Plain { workload: "threads", .. })));
        options.interrupted.store(true, std::sync::atomic::Ordering::Relaxed);
        let found = measure(&EXPERIMENT, &plan, &options, &mut |_| {});
        assert!(matches!(found, Err(Error::Interrupted)));
    }
}
