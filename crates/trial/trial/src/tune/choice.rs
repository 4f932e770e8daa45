//! What to recommend.

use crate::compare::{Comparison, Difference, RunMeasure, Standing, Verdict};
use crate::tune::goal::{Goal, Objective};
use crate::tune::on_program::OnProgram;
use crate::tune::score::Score;
use crate::tune::search::{Found, Ranked};
use heapwise_allocators::Candidate;
use std::collections::HashMap;

/// How sure a recommendation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verified {
    /// The program itself was run with it.
    ByTheProgram,
    /// A recording of the program was replayed with it.
    ByReplay,
}

/// Why nothing is recommended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// Nothing was better in replays by a twentieth, and by more than replays differ.
    NothingIsBetter,
    /// What was better in replays was not in the program itself, or by less than a twentieth.
    NotConfirmed,
    /// The search was interrupted before it had found anything better.
    Interrupted,
    /// Replays have no part of the program's memory that matters, and too few runs of the program itself were measured.
    Unrecorded,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Choice {
    /// Change.
    Take {
        candidate: Candidate,
        /// How sure that is.
        verified: Verified,
        /// What it does to the goal, as a factor.
        factor: f64,
    },
    /// Keep the baseline.
    Stay(Reason),
}

impl Choice {
    /// What is left of it if a good part of the program's memory was not recorded: what runs of the program itself have shown.
    pub fn without_replays(self) -> Self {
        match self {
            Self::Take { verified: Verified::ByReplay, .. } | Self::Stay(Reason::NothingIsBetter) => {
                Self::Stay(Reason::Unrecorded)
            }
            other => other,
        }
    }

    /// By replays alone: the best candidate that is surely better than the baseline. Among candidates that cannot be
    /// distinguished, the one with the fewest settings is chosen, because each setting has to be maintained; then the one with
    /// the lowest cost in the other measures.
    pub fn by_replay(found: &Found) -> Self {
        Self::by_replay_of(found, |_| true)
    }

    /// The same among those that `may` be recommended.
    fn by_replay_of(found: &Found, may: impl Fn(&Candidate) -> bool) -> Self {
        let mut list = shortlist(found, usize::MAX);
        list.retain(|ranked| ranked.score.is_some_and(|score| score.is_worth_a_change()));
        match list.iter().find(|ranked| may(&ranked.candidate)) {
            Some(best) => Self::Take {
                candidate: best.candidate.clone(),
                verified: Verified::ByReplay,
                factor: best.score.map_or(1.0, |s| s.value),
            },
            None if !list.is_empty() => Self::Stay(Reason::NotConfirmed),
            None if found.is_interrupted => Self::Stay(Reason::Interrupted),
            None => Self::Stay(Reason::NothingIsBetter),
        }
    }

    /// By the program itself. The comparison's candidates are those of the shortlist, in any order. Chooses the best candidate
    /// that did the same as the baseline and surely needs less of some measure of the goal. Among those that are about as good:
    /// first those without many more page faults, then those with the fewest settings, then the one with the lowest cost in the
    /// other measures.
    ///
    /// If there are too few rounds to judge by the program, replays decide, among the candidates without findings.
    pub fn confirmed(found: &Found, on_program: &OnProgram) -> Self {
        let mut good: Vec<Confirmed> = on_program
            .others()
            .filter(|(_, standing)| standing.findings.is_empty() && standing.left_out.is_none())
            .filter_map(|(candidate, standing)| Confirmed::of(&found.goal, candidate, standing))
            .collect();
        good.sort_by(|a, b| a.factor.value.total_cmp(&b.factor.value));
        let Some(first) = good.first().map(|best| best.factor) else {
            if has_enough_rounds(&found.goal, on_program) {
                return Self::Stay(Reason::NotConfirmed);
            }
            return Self::by_replay_of(found, |candidate| {
                let standing = on_program.standing(candidate);
                standing.is_none_or(|s| s.findings.is_empty() && s.left_out.is_none())
                    && !on_program.missing.contains(candidate)
            });
        };
        let is_near = |factor: &Score| factor.value <= first.value * NEAR || factor.is_like(&first);
        let alike = good.into_iter().filter(|candidate| is_near(&candidate.factor));
        let settings = |c: &Confirmed| c.candidate.settings().iter().count();
        let best = alike.min_by(|a, b| {
            let order = a.has_many_faults.cmp(&b.has_many_faults).then(settings(a).cmp(&settings(b)));
            order.then(a.besides.total_cmp(&b.besides))
        });
        best.map_or(Self::Stay(Reason::NotConfirmed), |best| Self::Take {
            candidate: best.candidate,
            verified: Verified::ByTheProgram,
            factor: best.factor.value,
        })
    }
}

/// A twentieth of what is left is nothing to pay for with settings or page faults.
const NEAR: f64 = 1.05;
/// Half as many again: pages that are returned to the system at once are faulted in again. On a busy machine that shows in
/// page faults even where it does not in processor time.
const MANY_FAULTS: f64 = 1.5;

/// A candidate that is better on the program itself.
struct Confirmed {
    candidate: Candidate,
    factor: Score,
    /// Whether it surely has many more page faults than the baseline.
    has_many_faults: bool,
    /// What it does to everything else that was measured, as a sum of logarithms.
    besides: f64,
}

impl Confirmed {
    fn of(goal: &Goal, candidate: &Candidate, standing: &Standing) -> Option<Self> {
        let factor = factor(goal, standing);
        if !factor.is_worth_a_change() || !is_seen(goal, standing) {
            return None;
        }
        let significant =
            standing.differences.iter().filter(|(real, d)| **real != RunMeasure::Faults && is_significant(d));
        let besides = significant.map(|(_, difference)| difference.ratio.ln()).sum();
        let faults = standing.differences.get(&RunMeasure::Faults);
        let has_many_faults = faults.is_some_and(|d| d.verdict == Verdict::Higher && d.ratio > MANY_FAULTS);
        Some(Self { candidate: candidate.clone(), factor, has_many_faults, besides })
    }
}

/// The best few that are worth trying on the program itself; nothing that is not better in replays.
pub(crate) fn shortlist(found: &Found, most: usize) -> Vec<&Ranked> {
    let mut better: Vec<&Ranked> = found
        .ranked
        .iter()
        // Those that left the search earlier were not measured as those that stayed were.
        .filter(|r| found.is_finalist(r) && r.trouble.is_none())
        .filter(|r| r.score.is_some_and(|s| s.is_better()))
        .collect();
    if let Some(first) = better.first().and_then(|r| r.score) {
        let settings = |r: &Ranked| r.candidate.settings().iter().count();
        let alike = better.iter().take_while(|r| r.score.is_some_and(|s| s.is_like(&first))).count();
        let base = found.baseline();
        better[..alike].sort_by(|a, b| {
            let besides = besides(a, base).total_cmp(&besides(b, base));
            let faults = has_many_faults(a, base).cmp(&has_many_faults(b, base));
            faults.then(settings(a).cmp(&settings(b))).then(besides)
        });
        // What a replay cannot know, such as what the caches make of where blocks lie, differs more between allocators than between
        // settings of one: so of those that are alike each allocator's best comes before any other's second.
        let mut of_allocator: HashMap<&str, usize> = HashMap::new();
        let mut in_turns: Vec<(usize, &Ranked)> = Vec::with_capacity(alike);
        for &ranked in &better[..alike] {
            let seen = of_allocator.entry(ranked.candidate.name()).or_default();
            in_turns.push((*seen, ranked));
            *seen += 1;
        }
        in_turns.sort_by_key(|(nth, _)| *nth);
        better.splice(..alike, in_turns.into_iter().map(|(_, r)| r));
    }
    better.truncate(most);
    better
}

/// Whether a candidate has many more page faults on replays than the baseline.
fn has_many_faults(candidate: &Ranked, baseline: &Ranked) -> bool {
    let (its, base) = (candidate.numbers.page_faults(), baseline.numbers.page_faults());
    its.zip(base).is_some_and(|(its, base)| its > base * MANY_FAULTS)
}

/// The cost of a candidate over all measures, whether the goal has them or not: it decides between candidates that are equally
/// good at the goal.
fn besides(candidate: &Ranked, baseline: &Ranked) -> f64 {
    let ratio = |measure: Objective| {
        let (its, base) = (candidate.numbers.of(measure)?.median, baseline.numbers.of(measure)?.median);
        Some((its.max(1.0) / base.max(1.0)).ln())
    };
    Objective::ALL.into_iter().filter_map(ratio).sum()
}

impl Found {
    /// The best few that are worth trying on the program itself.
    pub fn shortlist(&self, most: usize) -> Vec<&Ranked> {
        shortlist(self, most)
    }
}

/// The measures of the real program that stand for those of a goal. Of a program that ends by itself the memory after the load
/// is that at its end. `None` if nothing of the kind was measured.
pub fn real(measure: Objective, standing: &Standing) -> Option<RunMeasure> {
    let has = |real: &RunMeasure| standing.differences.contains_key(real);
    let kinds: &[RunMeasure] = match measure {
        Objective::PeakRss => &[RunMeasure::PeakRss],
        Objective::RssAfter => &[RunMeasure::AfterSettle, RunMeasure::AfterLoad, RunMeasure::EndRss],
        Objective::Cpu => &[RunMeasure::Cpu],
        Objective::Latency => &[RunMeasure::Wall],
    };
    kinds.iter().copied().find(has)
}

/// Whether a comparison has enough rounds to judge a goal.
pub fn has_enough_rounds(goal: &Goal, comparison: &Comparison) -> bool {
    let has_too_few = |standing: &Standing| {
        let verdict = |&(measure, _): &(Objective, f64)| standing.verdict(real(measure, standing)?);
        goal.weights().iter().any(|weight| verdict(weight) == Some(Verdict::TooFew))
    };
    !comparison.candidates().iter().any(has_too_few)
}

/// Whether a difference is more than noise.
fn is_significant(difference: &Difference) -> bool {
    matches!(difference.verdict, Verdict::Lower | Verdict::Higher)
}

/// What a candidate does to the goal in the program itself. A measure that is within the noise, or that was not taken (the
/// times of a server without a load), counts as unchanged.
fn factor(goal: &Goal, standing: &Standing) -> Score {
    let (mut value, mut low, mut high) = (0.0, 0.0, 0.0);
    for &(measure, weight) in goal.weights() {
        let difference = real(measure, standing).and_then(|real| standing.differences.get(&real));
        if let Some(difference) = difference.filter(|difference| is_significant(difference)) {
            value += weight * difference.ratio.ln();
            low += weight * difference.low.ln();
            high += weight * difference.high.ln();
        }
    }
    Score { value: value.exp(), low: low.exp(), high: high.exp() }
}

/// Whether some measure that counts is surely lower.
fn is_seen(goal: &Goal, standing: &Standing) -> bool {
    goal.weights().iter().any(|&(measure, _)| {
        let real = real(measure, standing);
        real.and_then(|real| standing.verdict(real)) == Some(Verdict::Lower)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tune::testing::{found, on_program, standing};

    const HALF: (f64, f64, f64) = (0.5, 0.49, 0.51);

    fn taken(choice: &Choice) -> String {
        match choice {
            Choice::Take { candidate, .. } => candidate.to_string(),
            Choice::Stay(reason) => format!("{reason:?}"),
        }
    }

    #[test]
    fn a_replay_recommends_what_is_surely_better_and_nothing_else() {
        let of = |candidates: &[(&str, f64, f64)]| taken(&Choice::by_replay(&found("rss", candidates)));
        let glibc = ("glibc", 100.0, 10.0);
        assert_eq!(of(&[glibc, ("jemalloc", 60.0, 10.0), ("mimalloc", 80.0, 10.0)]), "jemalloc");
        assert_eq!(of(&[glibc, ("jemalloc", 99.5, 10.0), ("mimalloc", 120.0, 1.0)]), "NothingIsBetter");
        // Sure, and too little to change anything for.
        assert_eq!(of(&[glibc, ("jemalloc", 96.0, 10.0)]), "NothingIsBetter");
        // Of those that are alike the one without settings, and then the one that is faster.
        let alike =
            [glibc, ("jemalloc:narenas=1", 60.0, 1.0), ("snmalloc", 60.5, 9.0), ("mimalloc", 60.6, 5.0)];
        assert_eq!(of(&alike), "mimalloc");
    }

    #[test]
    fn who_was_interrupted_does_not_claim_that_nothing_is_better() {
        let mut all = found("rss", &[("glibc", 100.0, 10.0), ("jemalloc", 60.0, 10.0)]);
        all.is_interrupted = true;
        assert_eq!(taken(&Choice::by_replay(&all)), "jemalloc");
        for ranked in &mut all.ranked {
            (ranked.numbers, ranked.score) = (crate::tune::Numbers::default(), None);
        }
        all.rungs = Vec::new();
        assert_eq!((taken(&Choice::by_replay(&all)).as_str(), all.tried()), ("Interrupted", 0));
    }

    #[test]
    fn too_few_rounds_of_the_program_leave_the_choice_to_replays_but_not_to_who_crashed_in_it() {
        let candidates = [("glibc", 100.0, 1.0), ("jemalloc", 50.0, 1.0), ("mimalloc", 70.0, 1.0)];
        let found = found("rss", &candidates);
        let of = |label, verdict| standing(label, &[(RunMeasure::PeakRss, verdict, HALF)]);
        let choice = |standings| Choice::confirmed(&found, &on_program(standings));
        let few = || of("jemalloc", Verdict::TooFew);
        let Choice::Take { candidate, verified, .. } = choice(vec![few(), of("mimalloc", Verdict::TooFew)])
        else {
            panic!("replays found something");
        };
        assert_eq!((candidate.to_string().as_str(), verified), ("jemalloc", Verified::ByReplay));
        let mut crashed = few();
        crashed.left_out = Some("it crashed".into());
        assert_eq!(taken(&choice(vec![crashed.clone(), of("mimalloc", Verdict::TooFew)])), "mimalloc");
        let mut other = of("mimalloc", Verdict::TooFew);
        other.left_out = crashed.left_out.clone();
        assert_eq!(taken(&choice(vec![crashed, other])), "NotConfirmed");
        assert_eq!(taken(&choice(vec![of("jemalloc", Verdict::WithinNoise)])), "NotConfirmed");
        assert_eq!(taken(&choice(vec![of("jemalloc", Verdict::Lower)])), "jemalloc");
        let little = (RunMeasure::PeakRss, Verdict::Lower, (0.97, 0.96, 0.98));
        assert_eq!(taken(&choice(vec![standing("jemalloc", &[little])])), "NotConfirmed");
    }

    #[test]
    fn who_left_the_search_early_is_not_recommended_however_good_it_looked() {
        let mut found =
            found("rss", &[("glibc", 100.0, 1.0), ("jemalloc", 10.0, 1.0), ("mimalloc", 70.0, 1.0)]);
        found.rungs = vec![3, 2];
        for ranked in &mut found.ranked {
            ranked.rung = usize::from(ranked.candidate.name() != "jemalloc");
        }
        assert_eq!(taken(&Choice::by_replay(&found)), "mimalloc");
    }

    #[test]
    fn on_replays_too_page_faults_are_worth_a_setting() {
        let candidates = [
            ("glibc", 100.0, 10.0),
            ("jemalloc:dirty_decay_ms=0", 50.0, 10.0),
            ("jemalloc:background_thread=true:dirty_decay_ms=1000", 50.5, 10.0),
        ];
        let mut found = found("rss", &candidates);
        assert_eq!(taken(&Choice::by_replay(&found)), "jemalloc:dirty_decay_ms=0");
        for ranked in &mut found.ranked {
            let faults =
                if ranked.candidate.settings().get("dirty_decay_ms") == Some("0") { 1600.0 } else { 1000.0 };
            ranked.numbers = std::mem::take(&mut ranked.numbers).with_page_faults(faults);
        }
        let choice = taken(&Choice::by_replay(&found));
        assert_eq!(choice, "jemalloc:background_thread=true:dirty_decay_ms=1000");
    }

    #[test]
    fn a_shortlist_has_no_more_than_what_is_better_and_asked_for() {
        let found = found(
            "rss",
            &[
                ("glibc", 100.0, 1.0),
                ("jemalloc", 50.0, 1.0),
                ("mimalloc", 70.0, 1.0),
                ("snmalloc", 130.0, 1.0),
            ],
        );
        let names =
            |most| -> Vec<String> { found.shortlist(most).iter().map(|r| r.candidate.to_string()).collect() };
        assert_eq!(names(9), ["jemalloc", "mimalloc"]);
        assert_eq!(names(1), ["jemalloc"]);
    }

    #[test]
    fn of_those_that_are_alike_each_allocator_is_tried_first_once() {
        let found = found(
            "rss",
            &[
                ("glibc", 100.0, 1.0),
                ("jemalloc", 50.0, 1.0),
                ("jemalloc:narenas=1", 50.0, 1.0),
                ("jemalloc:narenas=2", 50.0, 1.0),
                ("mimalloc:allow_thp=false", 50.0, 1.0),
                ("snmalloc", 70.0, 1.0),
            ],
        );
        let names: Vec<_> = found.shortlist(3).iter().map(|r| r.candidate.to_string()).collect();
        assert_eq!((names[0].as_str(), names[1].as_str()), ("jemalloc", "mimalloc:allow_thp=false"));
        assert!(names[2].starts_with("jemalloc:narenas"), "what is not alike comes last: {names:?}");
    }

    #[test]
    fn the_program_itself_decides() {
        let found = found("rss-after", &[("glibc", 1.0, 1.0), ("jemalloc", 1.0, 1.0)]);
        let of = |standings| taken(&Choice::confirmed(&found, &on_program(standings)));
        let lower = |label, numbers| standing(label, &[(RunMeasure::AfterSettle, Verdict::Lower, numbers)]);
        assert_eq!(of(vec![]), "NotConfirmed");
        assert_eq!(of(vec![lower("jemalloc", HALF), lower("mimalloc", (0.3, 0.29, 0.31))]), "mimalloc");
        let noise = standing("jemalloc", &[(RunMeasure::AfterSettle, Verdict::WithinNoise, HALF)]);
        assert_eq!(of(vec![noise]), "NotConfirmed");
        let more = standing("jemalloc", &[(RunMeasure::AfterSettle, Verdict::Higher, (1.5, 1.4, 1.6))]);
        assert_eq!(of(vec![more]), "NotConfirmed");
        // A measure that was not taken is no reason.
        assert_eq!(
            of(vec![standing("jemalloc", &[(RunMeasure::Cpu, Verdict::Lower, HALF)])]),
            "NotConfirmed"
        );
        let mut crashed = lower("mimalloc", (0.1, 0.1, 0.1));
        crashed.left_out = Some("it crashed".into());
        assert_eq!(of(vec![crashed, lower("jemalloc", HALF)]), "jemalloc");
    }

    #[test]
    fn a_measure_that_cannot_be_taken_is_no_obstacle() {
        // A server without a load has no times.
        let found = found("rss-after=1,cpu=1", &[("glibc", 1.0, 1.0), ("jemalloc", 1.0, 1.0)]);
        let less = standing("jemalloc", &[(RunMeasure::AfterSettle, Verdict::Lower, HALF)]);
        assert_eq!(taken(&Choice::confirmed(&found, &on_program(vec![less]))), "jemalloc");
    }

    #[test]
    fn of_those_that_are_alike_the_simple_and_cheap_one_is_taken() {
        let found = found("rss-after", &[("glibc", 1.0, 1.0)]);
        let of = |label, after, cpu| {
            let cpu = (cpu, cpu, cpu);
            let verdict = if cpu.0 > 1.0 { Verdict::Higher } else { Verdict::Lower };
            standing(
                label,
                &[(RunMeasure::AfterSettle, Verdict::Lower, after), (RunMeasure::Cpu, verdict, cpu)],
            )
        };
        let settings = of("jemalloc:dirty_decay_ms=0", (0.5, 0.49, 0.51), 0.7);
        let slow = of("mimalloc", (0.505, 0.5, 0.52), 1.3);
        let quick = of("mimalloc2", (0.505, 0.5, 0.52), 0.9);
        let choice = Choice::confirmed(&found, &on_program(vec![settings, slow, quick]));
        assert_eq!(taken(&choice), "mimalloc2");
    }

    #[test]
    fn page_faults_say_who_gives_memory_back_too_eagerly() {
        let found = found("rss-after", &[("glibc", 1.0, 1.0)]);
        let of = |label, after, faults| {
            standing(
                label,
                &[
                    (RunMeasure::AfterSettle, Verdict::Lower, after),
                    (RunMeasure::Faults, Verdict::Higher, (faults, faults, faults)),
                ],
            )
        };
        let eager = of("jemalloc:dirty_decay_ms=0", HALF, 2.4);
        let later = of("jemalloc:background_thread=true:dirty_decay_ms=1000", (0.505, 0.5, 0.52), 1.1);
        let choice = Choice::confirmed(&found, &on_program(vec![eager.clone(), later]));
        assert_eq!(taken(&choice), "jemalloc:background_thread=true:dirty_decay_ms=1000");
        // Fewer page faults do not help a candidate that is not about as good.
        let worse = of("mimalloc", (0.7, 0.69, 0.71), 1.0);
        let choice = Choice::confirmed(&found, &on_program(vec![eager, worse]));
        assert_eq!(taken(&choice), "jemalloc:dirty_decay_ms=0");
    }
}
