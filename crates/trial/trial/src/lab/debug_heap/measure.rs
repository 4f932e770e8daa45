//! Has the workers work, round after round, and keeps what they answered.

use crate::lab::conditions::Condition;
use crate::lab::experiment::{Error, Options};
use crate::lab::growth::{Growth, growth};
use crate::lab::worker::{Answer, ask};
use crate::lab::workloads::Workload;
use crate::rounds::{Rounds, Step};
use crate::statistics::Spread;
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

/// After a run of this length, the condition does not get a larger size of the same work: on Windows it could be hours.
const ENOUGH: Duration = Duration::from_secs(40);
/// Longer runs are made in the first rounds only, which are enough for something so slow.
const SLOW: Duration = Duration::from_secs(4);
const SLOW_ROUNDS: u32 = 3;

/// One run: indices of a workload, of one of its sizes and of a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Job {
    pub(super) workload: usize,
    pub(super) size: usize,
    pub(super) condition: usize,
}

/// What will be done.
pub(super) struct Plan {
    pub(super) workloads: Vec<&'static dyn Workload>,
    /// The sizes of each workload, smallest first.
    pub(super) sizes: Vec<Vec<u64>>,
    pub(super) conditions: Vec<&'static dyn Condition>,
    pub(super) rounds: u32,
    /// Conditions that cannot be tried here, and why.
    pub(super) missing: Vec<String>,
}

impl Plan {
    /// All runs of a round: from small to large, so that what is too slow is known before it gets worse, with the conditions next
    /// to each other.
    fn jobs(&self) -> Vec<Job> {
        let sizes = self.sizes.iter().enumerate();
        let sizes = sizes.flat_map(|(workload, sizes)| (0..sizes.len()).map(move |size| (workload, size)));
        let all = sizes.flat_map(|(workload, size)| {
            (0..self.conditions.len()).map(move |condition| Job { workload, size, condition })
        });
        all.collect()
    }
}

/// All answers.
#[derive(Default)]
pub(super) struct Series {
    /// By job, and by round.
    answers: BTreeMap<Job, BTreeMap<u32, Answer>>,
    pub(super) caveats: Vec<String>,
    pub(super) has_cpu_time: bool,
}

/// Measures.
pub(super) fn measure(
    plan: &Plan,
    options: &Options,
    progress: &mut dyn FnMut(&Step),
) -> Result<Series, Error> {
    let jobs = plan.jobs();
    let mut rounds = Rounds::new(jobs.len(), plan.rounds, 1).in_groups_of(plan.conditions.len());
    let mut series = Series::default();
    let mut slow: BTreeSet<Job> = BTreeSet::new();
    let mut checksums: BTreeMap<(usize, usize), u64> = BTreeMap::new();
    while let Some(turn) = rounds.next() {
        let job = jobs[turn.who];
        let (workload, condition) = (plan.workloads[job.workload], plan.conditions[job.condition]);
        let n = plan.sizes[job.workload][job.size];
        progress(&turn.step(format!("{} {n} {}", workload.name(), condition.name())));
        let of_all = format!("{} {n} under {}", workload.name(), condition.name());
        let began = Instant::now();
        let answer = ask(options, condition, workload.name(), &[n]);
        // The worker may have ended by the same interrupt.
        if options.are_over() {
            break;
        }
        let answer = match answer {
            Err(error) if job.condition == 0 => {
                return Err(Error::Plain { workload: workload.name(), error });
            }
            Err(error) => Err(error.to_string()),
            Ok(answer) if !condition.is_in_place(&answer.heap) => {
                Err("the process did not have the heap that it should have, so the run does not count"
                    .to_owned())
            }
            Ok(answer) => Ok(answer),
        };
        let answer = match answer {
            Ok(answer) => answer,
            Err(why) => {
                series.caveats.push(format!("{of_all}: {why}"));
                give_up(&mut rounds, &jobs, job, &series);
                continue;
            }
        };
        let expected = *checksums.entry((job.workload, job.size)).or_insert(answer.checksum);
        if answer.checksum != expected {
            series.caveats.push(format!("{of_all}: the result was different, so the run does not count"));
            continue;
        }
        series.has_cpu_time |= answer.phases.iter().any(|phase| phase.cpu_ns.is_some());
        series.answers.entry(job).or_default().insert(turn.round, answer);
        if !turn.counts() && began.elapsed() > SLOW {
            slow.insert(job);
        }
        if turn.round == SLOW_ROUNDS && slow.contains(&job) {
            rounds.leave_out(turn.who);
        }
        if !turn.counts() && began.elapsed() > ENOUGH && job.size + 1 < plan.sizes[job.workload].len() {
            give_up(&mut rounds, &jobs, job, &series);
            series.caveats.push(format!(
                "{} under {}: {n} took {} s, so larger sizes were left out",
                workload.name(),
                condition.name(),
                began.elapsed().as_secs()
            ));
        }
    }
    if options.are_over() && series.answers.keys().all(|job| series.counted(*job).next().is_none()) {
        return Err(Error::Interrupted);
    }
    if !slow.is_empty() && plan.rounds > SLOW_ROUNDS {
        series
            .caveats
            .push(format!("runs of more than {} s were made in {SLOW_ROUNDS} of the rounds", SLOW.as_secs()));
    }
    Ok(series)
}

/// Leaves out what has no answer yet of the same work under the same condition: in the first round that is this size and the larger
/// ones.
fn give_up(rounds: &mut Rounds, jobs: &[Job], job: Job, series: &Series) {
    let is_out = |other: &Job| {
        (other.workload, other.condition) == (job.workload, job.condition)
            && !series.answers.contains_key(other)
    };
    (0..jobs.len()).filter(|at| is_out(&jobs[*at])).for_each(|at| rounds.leave_out(at));
}

impl Series {
    /// The answers that count: not that of the first round.
    fn counted(&self, job: Job) -> impl Iterator<Item = (u32, &Answer)> {
        let rounds = self.answers.get(&job).into_iter().flatten();
        rounds.filter(|(round, _)| **round > 0).map(|(round, answer)| (*round, answer))
    }

    /// Any answer under a condition, for what is the same in all.
    pub(super) fn any(&self, condition: usize) -> Option<&Answer> {
        let mut all = self.answers.iter().filter(|(job, _)| job.condition == condition);
        all.next().and_then(|(_, rounds)| rounds.values().next())
    }

    /// How many runs count under a condition.
    pub(super) fn runs(&self, condition: usize) -> u64 {
        let all = self.answers.keys().filter(|job| job.condition == condition);
        all.map(|job| self.counted(*job).count() as u64).sum()
    }

    /// The names of a workload's phases.
    pub(super) fn phases(&self, workload: usize) -> Vec<String> {
        let answer = self.answers.iter().find(|(job, _)| job.workload == workload);
        let answer = answer.and_then(|(_, rounds)| rounds.values().next());
        answer.map(|a| a.phases.iter().map(|phase| phase.name.clone()).collect()).unwrap_or_default()
    }

    /// How long a phase took, in nanoseconds.
    pub(super) fn time(&self, job: Job, phase: &str) -> Option<Spread> {
        Spread::of(self.counted(job).filter_map(|(_, answer)| Some(answer.phase(phase)?.time_ns() as f64)))
    }

    /// How many times as long a phase took as plainly, in the same round.
    pub(super) fn ratio(&self, job: Job, phase: &str) -> Option<Spread> {
        let plain = self.answers.get(&Job { condition: 0, ..job }).filter(|_| job.condition > 0)?;
        let ratios = self.counted(job).filter_map(|(round, answer)| {
            let plain = plain.get(&round)?.phase(phase)?.time_ns();
            (plain > 0).then_some(answer.phase(phase)?.time_ns() as f64 / plain as f64)
        });
        Spread::of(ratios)
    }

    /// How a phase's time grows with the size. A condition that was slow has fewer sizes.
    pub(super) fn growth(&self, job: Job, phase: &str, sizes: &[u64]) -> Option<Growth> {
        let point = |(size, n): (usize, &u64)| {
            let time = self.time(Job { size, ..job }, phase)?;
            (time.median > 0.0).then_some((*n as f64, time.median))
        };
        growth(&sizes.iter().enumerate().filter_map(point).collect::<Vec<_>>())
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::lab::conditions::CONDITIONS;
    use crate::lab::worker::{Heap, Phase};
    use crate::lab::workloads::OF_CHECKING_HEAPS;

    /// A made-up experiment with a map: the time of each phase in nanoseconds for condition, size and round.
    pub(in super::super) fn made_up(time: impl Fn(usize, u64, u32, &str) -> u64) -> (Plan, Series) {
        let conditions = CONDITIONS[..2].to_vec();
        let sizes = vec![1000, 2000, 4000, 8000];
        let plan = Plan {
            workloads: vec![OF_CHECKING_HEAPS[0]],
            sizes: vec![sizes.clone()],
            conditions,
            rounds: 3,
            missing: Vec::new(),
        };
        let mut series = Series::default();
        for job in plan.jobs() {
            for round in 0..=3 {
                let n = sizes[job.size];
                let phase = |name: &str| {
                    let ns = time(job.condition, n, round, name);
                    Phase { name: name.to_owned(), wall_ns: ns * 2, cpu_ns: Some(ns) }
                };
                let phases = vec![phase("construct"), phase("drop")];
                let workload = "hash-map".to_owned();
                let answer = Answer {
                    protocol: 2,
                    workload,
                    n,
                    checksum: 1,
                    allocations: None,
                    phases,
                    measured: BTreeMap::new(),
                    moments: Vec::new(),
                    heap: Heap::default(),
                };
                series.answers.entry(job).or_default().insert(round, answer);
            }
        }
        (plan, series)
    }

    #[test]
    fn each_round_has_every_job_once_from_small_to_large_with_the_conditions_together() {
        let (plan, _) = made_up(|_, _, _, _| 1);
        let two = Plan {
            workloads: OF_CHECKING_HEAPS[..2].to_vec(),
            sizes: vec![vec![1, 2], vec![1, 2, 3]],
            ..plan
        };
        let jobs = two.jobs();
        assert_eq!((jobs.len(), jobs[0]), (10, Job { workload: 0, size: 0, condition: 0 }));
        assert!(jobs.is_sorted() && jobs.windows(2).all(|two| two[0] != two[1]));
        assert!(jobs.chunks(2).all(|two| (two[0].workload, two[0].size) == (two[1].workload, two[1].size)));
    }

    #[test]
    fn who_is_given_up_has_no_more_sizes_without_an_answer() {
        let (plan, mut series) = made_up(|_, _, _, _| 1);
        let jobs = plan.jobs();
        series.answers.retain(|job, _| job.size < 2);
        let mut rounds = Rounds::new(jobs.len(), 1, 1);
        give_up(&mut rounds, &jobs, Job { workload: 0, size: 2, condition: 1 }, &series);
        let left: Vec<Job> = rounds.filter(|turn| turn.counts()).map(|turn| jobs[turn.who]).collect();
        assert_eq!(left.len(), 6);
        assert!(left.iter().all(|job| job.condition == 0 || job.size < 2), "{left:?}");
    }

    #[test]
    fn ratios_are_those_of_the_same_round_and_the_first_does_not_count() {
        // The machine gets slower from round to round, and the first one is way off.
        let (plan, series) = made_up(|condition, n, round, phase| {
            let slow = if round == 0 { 1000 } else { u64::from(round) };
            let ratio = if condition == 0 {
                1
            } else if phase == "drop" {
                8
            } else {
                2
            };
            n * slow * ratio
        });
        let job = Job { workload: 0, size: 3, condition: 1 };
        assert_eq!(series.ratio(job, "drop"), Some(Spread { median: 8.0, low: 8.0, high: 8.0 }));
        assert_eq!(series.ratio(job, "construct").unwrap().median, 2.0);
        let time = series.time(job, "construct").unwrap();
        assert_eq!((time.low, time.median, time.high), (16_000.0, 32_000.0, 48_000.0));
        assert_eq!(series.runs(1), 12);
        assert_eq!(series.phases(0), ["construct", "drop"]);
        assert_eq!(series.ratio(job, "loop"), None);
        assert_eq!(plan.workloads.len(), 1);
    }

    #[test]
    fn growth_is_over_the_sizes() {
        let (plan, series) = made_up(|condition, n, _, _| if condition == 0 { n * 50 } else { n * n });
        let growth = |condition| {
            series.growth(Job { workload: 0, size: 0, condition }, "drop", &plan.sizes[0]).unwrap().exponent
        };
        assert!((growth(0) - 1.0).abs() < 1e-9);
        assert!((growth(1) - 2.0).abs() < 1e-9);
    }
}
