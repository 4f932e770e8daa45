//! What to recommend.

use crate::goal::{Goal, Measure};
use crate::search::{Found, Ranked};
use heapwise_allocators::Candidate;
use heapwise_compare::{Comparison, Measure as Real, Standing, Verdict};

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
    /// Nothing was better in replays by more than replays differ.
    NothingIsBetter,
    /// What was better in replays was not in the program itself.
    NotConfirmed,
}

/// What to do.
#[derive(Clone, Debug, PartialEq)]
pub enum Choice {
    /// Change.
    Take {
        /// To this.
        candidate: Candidate,
        /// How sure that is.
        verified: Verified,
        /// What it does to the goal, as a factor.
        factor: f64,
    },
    /// Stay with what there is.
    Stay(Reason),
}

impl Choice {
    /// By replays alone: the first one that is surely better than what there is now. Of those that cannot be told apart the one
    /// with the fewest settings is taken, for each setting is something to be looked after, and of these the one that costs
    /// least otherwise.
    pub fn by_replay(found: &Found) -> Self {
        match shortlist(found, usize::MAX).first() {
            None => Self::Stay(Reason::NothingIsBetter),
            Some(best) => Self::Take {
                candidate: best.candidate.clone(),
                verified: Verified::ByReplay,
                factor: best.score.map_or(1.0, |s| s.value),
            },
        }
    }

    /// By the program itself: the comparison's candidates are those of the shortlist, in any order. The best one that did the same
    /// as the program as it is and surely needs less of what counts most.
    pub fn confirmed(found: &Found, comparison: &Comparison) -> Self {
        let mut good: Vec<(f64, &Standing)> = comparison
            .candidates()
            .iter()
            .filter(|standing| standing.findings.is_empty() && standing.left_out.is_none())
            .filter_map(|standing| Some((factor(&found.goal, standing)?, standing)))
            .filter(|(factor, standing)| *factor < 1.0 && is_seen(&found.goal, standing))
            .collect();
        good.sort_by(|a, b| a.0.total_cmp(&b.0));
        let best = good.first().and_then(|(factor, standing)| {
            let candidate = Candidate::parse(&standing.contender.label).ok()?;
            Some(Self::Take { candidate, verified: Verified::ByTheProgram, factor: *factor })
        });
        best.unwrap_or(Self::Stay(Reason::NotConfirmed))
    }
}

/// The best few that are worth trying on the program itself; nothing that is not better in replays.
pub(crate) fn shortlist(found: &Found, most: usize) -> Vec<&Ranked> {
    let mut better: Vec<&Ranked> = found
        .ranked
        .iter()
        .filter(|r| r.trouble.is_none() && r.score.is_some_and(|s| s.is_better()))
        .collect();
    if let Some(first) = better.first().and_then(|r| r.score) {
        let settings = |r: &Ranked| r.candidate.settings().iter().count();
        let alike = better.iter().take_while(|r| r.score.is_some_and(|s| s.is_like(&first))).count();
        let base = found.baseline();
        better[..alike].sort_by(|a, b| {
            let besides = besides(a, base).total_cmp(&besides(b, base));
            settings(a).cmp(&settings(b)).then(besides)
        });
    }
    better.truncate(most);
    better
}

/// What a candidate does to all measures together, wanted or not: among those that are equally good at what is wanted, the
/// one that costs least otherwise is the better one.
fn besides(candidate: &Ranked, baseline: &Ranked) -> f64 {
    let ratio = |measure: Measure| {
        let (its, base) = (candidate.numbers.of(measure)?.median, baseline.numbers.of(measure)?.median);
        Some((its.max(1.0) / base.max(1.0)).ln())
    };
    Measure::ALL.into_iter().filter_map(ratio).sum()
}

impl Found {
    /// The best few that are worth trying on the program itself.
    pub fn shortlist(&self, most: usize) -> Vec<&Ranked> {
        shortlist(self, most)
    }
}

/// The measures of the real program that stand for those of a goal. Of a program that ends by itself the memory after the load
/// is that at its end.
pub(crate) fn real(measure: Measure, standing: &Standing) -> Option<Real> {
    let has = |real: &Real| standing.differences.contains_key(real);
    let kinds: &[Real] = match measure {
        Measure::PeakRss => &[Real::PeakRss],
        Measure::RssAfter => &[Real::AfterSettle, Real::AfterLoad, Real::EndRss],
        Measure::Cpu => &[Real::Cpu],
        Measure::Latency => &[Real::Wall],
    };
    kinds.iter().copied().find(has)
}

/// What a candidate does to the goal in the program itself. A measure that is within the noise is taken to be as it was.
fn factor(goal: &Goal, standing: &Standing) -> Option<f64> {
    let mut sum = 0.0;
    for &(measure, weight) in goal.weights() {
        let difference = standing.differences.get(&real(measure, standing)?)?;
        let is_told = matches!(difference.verdict, Verdict::Lower | Verdict::Higher);
        sum += weight * if is_told { difference.ratio.ln() } else { 0.0 };
    }
    Some(sum.exp())
}

/// Whether some measure that counts is surely lower.
fn is_seen(goal: &Goal, standing: &Standing) -> bool {
    goal.weights().iter().any(|&(measure, _)| {
        let real = real(measure, standing);
        real.and_then(|real| standing.verdict(real)) == Some(Verdict::Lower)
    })
}
