//! Has the workers work, and keeps what they answered.

use super::found::Found;
use super::plan::Plan;
use super::prepare::prepare;
use super::{ByAllocator, Variant};
use crate::compare::Candidate;
use crate::lab::experiment::{Error, Options};
use crate::lab::worker::{Answer, WorkerError, answer_of, run};
use crate::rounds::{Rounds, Step};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

pub(super) fn measure(
    experiment: &ByAllocator,
    plan: &Plan,
    options: &Options,
    folder: Option<&Path>,
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
        steps: experiment.steps,
        recorded: BTreeMap::new(),
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
        let answer = ask(&options.worker, candidate, way, &(way.numbers)(&sizes), folder);
        // The worker may have ended by the same interrupt.
        if options.are_over() {
            break;
        }
        let answer = match answer {
            Err(error) if who == 0 => return Err(Error::Plain { workload: way.workload, error }),
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
    worker: &Path,
    candidate: &Candidate,
    variant: &Variant,
    numbers: &[u64],
    folder: Option<&Path>,
) -> Result<Answer, WorkerError> {
    let mut command = Command::new(worker);
    command.arg(variant.workload).args(numbers.iter().map(u64::to_string));
    prepare(&mut command, folder);
    for (name, value) in &candidate.environment {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    answer_of(&run(&mut command)?, variant.workload, numbers)
}

/// Whether the worker's `malloc` was that of the candidate's library.
fn is_in_place(candidate: &Candidate, answer: &Answer) -> bool {
    candidate.library.as_deref().is_none_or(|library| Path::new(&answer.heap.malloc) == library)
}

#[cfg(test)]
mod tests {
    use super::super::found::tests::{EXPERIMENT, made_up};
    use super::*;

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
        let found = measure(&EXPERIMENT, &plan, &options, None, &mut |_| {});
        assert!(matches!(found, Err(Error::Plain { workload: "threads", .. })));
        options.interrupted.store(true, std::sync::atomic::Ordering::Relaxed);
        let found = measure(&EXPERIMENT, &plan, &options, None, &mut |_| {});
        assert!(matches!(found, Err(Error::Interrupted)));
    }
}
