//! Successive halving: all candidates get a little time, the better half more, the better half of those more again.
//!
//! Most settings of most allocators have no effect on most programs, which shows at once. Time is better spent on distinguishing
//! the few good candidates. The scheme is that of Jamieson and Talwalkar, "Non-stochastic Best Arm Identification and
//! Hyperparameter Optimization" (2016).

use crate::replay::trial::{self, Timed, Trial, try_all};
use crate::replay::{Counts, Script};
use crate::rounds::Step;
use crate::statistics::Spread;
use crate::tune::front::front;
use crate::tune::goal::{Goal, Objective};
use crate::tune::numbers::Numbers;
use crate::tune::score::Score;
use heapwise_allocators::{Candidate, Libraries};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How to search.
#[derive(Clone, Debug)]
pub struct Options {
    /// What to minimise.
    pub goal: Goal,
    /// The first one is the baseline.
    pub candidates: Vec<Candidate>,
    /// How long the program is idle after the load before its memory counts.
    pub settle: Duration,
    /// Time that the program takes outside of the allocator, if that is known. In nanoseconds.
    pub other_ns: Option<f64>,
    /// How long an allocator may make no progress.
    pub patience: Duration,
    /// What a replay with pauses may take.
    pub longest: Duration,
    /// Decides on the order of rounds.
    pub seed: u64,
    /// Bytes of memory that replays may take together; `None` for any.
    pub memory: Option<u64>,
}

/// A candidate in the order of the search.
#[derive(Clone, Debug)]
pub struct Ranked {
    pub candidate: Candidate,
    /// Its exact version, as its process reported it.
    pub version: String,
    /// What was measured.
    pub numbers: Numbers,
    /// Compared with the baseline; `None` if something was not measured.
    pub score: Option<Score>,
    /// The last rung that it took part in, from 0.
    pub rung: usize,
    /// Why it has no numbers, if it has none.
    pub trouble: Option<String>,
    /// Whether it is on the Pareto front of memory and time: no other is as low in both and lower in one.
    pub is_on_front: bool,
}

/// What a search found.
#[derive(Debug)]
pub struct Found {
    /// What to minimise.
    pub goal: Goal,
    /// Those that took part to the end, best first, then those that did to the rung before, and so on.
    pub ranked: Vec<Ranked>,
    /// The baseline, as a place in `ranked`.
    pub baseline: usize,
    /// Which two measures the front is about.
    pub front_of: [Objective; 2],
    /// What the script contains.
    pub counts: Counts,
    /// The time that the program takes for anything but its heap, as the search assumed it. In nanoseconds.
    pub other_ns: f64,
    /// How many candidates each rung had; one in which nothing was replayed before an interrupt is none.
    pub rungs: Vec<usize>,
    /// How the replays with pauses went.
    pub timed: Option<Timed>,
    /// What the replay itself takes.
    pub harness: Option<trial::Harness>,
    /// Whether it was ended early.
    pub is_interrupted: bool,
}

impl Found {
    /// Whether a candidate took part to the end.
    pub fn is_finalist(&self, ranked: &Ranked) -> bool {
        ranked.rung + 1 == self.rungs.len()
    }

    /// The candidate that the others are compared with.
    pub fn baseline(&self) -> &Ranked {
        &self.ranked[self.baseline]
    }

    /// How many candidates were replayed, or could not be.
    pub fn tried(&self) -> usize {
        self.ranked.iter().filter(|r| r.trouble.is_some() || !r.numbers.is_empty()).count()
    }
}

/// Rounds that count in each rung; the last one distinguishes the best few.
const ROUNDS: [u32; 3] = [1, 2, 4];
/// At least so many go on.
const LEAST: usize = 4;

/// Searches. `progress` is called before each replay.
///
/// # Panics
/// Without candidates: the first one is the baseline.
pub fn search(
    script: &Script,
    program: &Path,
    libraries: &Libraries,
    options: &Options,
    interrupted: &AtomicBool,
    progress: &(dyn Fn(&Step) + Sync),
) -> Found {
    let goal = &options.goal;
    let mut all: Vec<Ranked> = options.candidates.iter().map(unknown).collect();
    let mut taking_part: Vec<usize> = (0..all.len()).collect();
    let needs_time = goal.wants(Objective::Cpu) || goal.wants(Objective::Latency);
    let needs_pauses = goal.wants(Objective::RssAfter);
    let mut rungs = Vec::new();
    let (mut timed, mut harness, mut is_interrupted) = (None, None, false);
    let mut other_ns = 0.0;
    for (rung, rounds) in ROUNDS.into_iter().enumerate() {
        let is_last = rung + 1 == ROUNDS.len();
        // Memory is the same in each round, so only times need more rounds. The last rung always measures times.
        let rounds = if needs_time || is_last { rounds } else { 0 };
        let pauses = needs_pauses || is_last;
        let trial_options = trial::Options {
            candidates: taking_part.iter().map(|&at| all[at].candidate.clone()).collect(),
            rounds,
            fast: true,
            timed: pauses.then(|| pace(script, options, is_last)),
            patience: options.patience,
            seed: options.seed + rung as u64,
            memory: options.memory,
        };
        let mut trial =
            try_all(script, program.to_path_buf(), libraries, &trial_options, interrupted, &|step| {
                let what = format!("rung {} of {}: {}", rung + 1, ROUNDS.len(), step.what);
                progress(&Step { what, ..step.clone() });
            });
        is_interrupted = interrupted.load(Ordering::Relaxed);
        if is_interrupted && !keep_comparable(&mut trial, is_last) {
            break;
        }
        rungs.push(taking_part.len());
        timed = trial.timed.or(timed);
        harness = trial.harness.or(harness);
        take(&mut all, &taking_part, trial, rung, is_last);
        other_ns = outside(&all[0].numbers, script, options);
        let base = all[0].numbers.clone();
        // Those that left keep the score with which they left.
        for &at in &taking_part {
            all[at].score = Score::of(goal, &all[at].numbers, &base, other_ns);
        }
        if is_last || is_interrupted {
            break;
        }
        taking_part = better_half(&all, &taking_part);
    }
    let front_of = [if needs_pauses { Objective::RssAfter } else { Objective::PeakRss }, Objective::Cpu];
    mark_front(&mut all, front_of, rungs.len());
    let now = all[0].candidate.clone();
    // Those that went further were better before, and what is measured in one rung is not what is measured in another one: the
    // pauses of the last one are the longest, and memory after the load is another one with them.
    all.sort_by(|a, b| {
        let value = |r: &Ranked| r.score.map_or(f64::INFINITY, |s| s.value);
        b.rung.cmp(&a.rung).then(value(a).total_cmp(&value(b)))
    });
    let baseline = all.iter().position(|ranked| ranked.candidate == now).unwrap_or(0);
    Found {
        goal: goal.clone(),
        ranked: all,
        baseline,
        front_of,
        counts: *script.counts(),
        other_ns,
        rungs,
        timed,
        harness,
        is_interrupted,
    }
}

fn unknown(candidate: &Candidate) -> Ranked {
    Ranked {
        candidate: candidate.clone(),
        version: candidate.version(),
        numbers: Numbers::default(),
        score: None,
        rung: 0,
        trouble: None,
        is_on_front: false,
    }
}

/// The pauses of a replay, shortened to a tolerable length; for the last few candidates, longer ones.
fn pace(script: &Script, options: &Options, is_last: bool) -> Timed {
    let longest = if is_last { options.longest } else { options.longest / 3 };
    let whole = Duration::from_nanos(script.duration().0) + options.settle;
    let compression = whole.as_nanos().div_ceil(longest.as_nanos().max(1));
    Timed {
        compression: u32::try_from(compression).unwrap_or(u32::MAX).clamp(1, 1000),
        settle: options.settle,
    }
}

/// Keeps only what can be compared of a trial that was interrupted, and returns whether anything is left. Memory after the load
/// depends on the length of the pauses, so either all candidates keep the replay with the longest pauses or none does.
fn keep_comparable(trial: &mut Trial, is_last: bool) -> bool {
    let mut all: Vec<_> = trial.tried.iter_mut().filter_map(|tried| tried.results.as_mut().ok()).collect();
    if is_last && !all.iter().all(|results| results.timed.is_some() || results.failure().is_some()) {
        all.iter_mut().for_each(|results| results.timed = None);
        trial.timed = None;
    }
    all.iter().any(|results| results.all().next().is_some())
}

fn take(all: &mut [Ranked], taking_part: &[usize], trial: Trial, rung: usize, is_last: bool) {
    for (&at, tried) in taking_part.iter().zip(trial.tried) {
        let ranked = &mut all[at];
        ranked.rung = rung;
        ranked.version = tried.version;
        match tried.results {
            Ok(results) => {
                if let Some(ending) = results.failure() {
                    ranked.trouble = Some(ending.to_string());
                }
                let refused = results.all().map(|m| m.refused).max().unwrap_or(0);
                if refused > 0 {
                    ranked.trouble = Some(format!("refused {refused} calls: out of memory"));
                }
                // The last rung has the longest pauses.
                ranked.numbers.add(&results, is_last);
            }
            Err(reason) => ranked.trouble = Some(reason),
        }
        if ranked.trouble.is_some() {
            ranked.numbers = Numbers::default();
        }
    }
}

/// The time that the program takes for anything but its heap.
fn outside(now: &Numbers, script: &Script, options: &Options) -> f64 {
    let median = |spread: Option<Spread>| spread.map_or(0.0, |s| s.median);
    let (heap, calls) = (median(now.of(Objective::Cpu)), median(now.in_allocator()));
    // The kernel's time of the program excludes its calls but includes its page faults, which count as heap time here.
    let outside = options.other_ns.map(|outside| outside - (heap - calls).max(0.0));
    outside.unwrap_or(script.duration().0 as f64 - heap).max(0.0)
}

/// Those that go on: the baseline, and the better half of the others.
fn better_half(all: &[Ranked], taking_part: &[usize]) -> Vec<usize> {
    let mut others: Vec<usize> =
        taking_part.iter().copied().filter(|&at| at != 0 && all[at].score.is_some()).collect();
    others.sort_by(|&a, &b| {
        let value = |at: usize| all[at].score.map_or(f64::INFINITY, |s| s.value);
        value(a).total_cmp(&value(b))
    });
    others.truncate((others.len() / 2).max(LEAST));
    others.insert(0, 0);
    others
}

/// Marks the Pareto front in two measures, of the candidates that took part to the end: `rungs` is how many rungs there were.
fn mark_front(all: &mut [Ranked], of: [Objective; 2], rungs: usize) {
    let point = |ranked: &Ranked| {
        let [a, b] = of.map(|measure| ranked.numbers.of(measure).map(|s| s.median));
        Some([a?, b?])
    };
    let places: Vec<usize> =
        (0..all.len()).filter(|&at| all[at].rung + 1 == rungs && point(&all[at]).is_some()).collect();
    let points: Vec<[f64; 2]> = places.iter().filter_map(|&at| point(&all[at])).collect();
    for at in front(&points) {
        all[places[at]].is_on_front = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tune::testing::ranked;

    /// Peaks of candidates; the first one is the baseline. Those below zero have no numbers.
    fn scored(peaks: &[f64]) -> Vec<Ranked> {
        let goal: Goal = "rss".parse().expect("a goal");
        let mut all: Vec<Ranked> = peaks.iter().map(|peak| ranked("glibc", *peak, 1.0)).collect();
        let base = all[0].numbers.clone();
        for (ranked, peak) in all.iter_mut().zip(peaks) {
            ranked.score = (*peak > 0.0).then(|| Score::of(&goal, &ranked.numbers, &base, 0.0)).flatten();
        }
        all
    }

    #[test]
    fn the_better_half_goes_on_and_what_there_is_now_always_does() {
        let all = scored(&[100.0, 90.0, 10.0, 80.0, 20.0, 70.0, 30.0, 60.0, 40.0, 50.0, 200.0]);
        let everything: Vec<usize> = (0..all.len()).collect();
        assert_eq!(better_half(&all, &everything), [0, 2, 4, 6, 8, 9]);
        // Only candidates that took part, and not fewer than a minimum.
        assert_eq!(better_half(&all, &[0, 2, 4, 6, 8, 9]), [0, 2, 4, 6, 8]);
        assert_eq!(better_half(&all, &[0]), [0]);
    }

    #[test]
    fn who_has_no_numbers_does_not_go_on() {
        let all = scored(&[100.0, -1.0, 50.0, -1.0]);
        assert_eq!(better_half(&all, &[0, 1, 2, 3]), [0, 2]);
    }

    #[test]
    fn the_front_leaves_out_who_was_not_measured() {
        let mut all =
            vec![ranked("glibc", 10.0, 10.0), ranked("jemalloc", 20.0, 5.0), ranked("mimalloc", 30.0, 6.0)];
        all.push(Ranked { numbers: Numbers::default(), ..ranked("snmalloc", 1.0, 1.0) });
        mark_front(&mut all, [Objective::PeakRss, Objective::Cpu], 1);
        assert_eq!(all.iter().map(|r| r.is_on_front).collect::<Vec<_>>(), [true, true, false, false]);
    }
}
