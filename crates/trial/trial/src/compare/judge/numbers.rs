//! The differences between runs that count, and the candidates that need least.

use crate::compare::{Difference, RunMeasure, Standing, Verdict, Winner};
use crate::statistics::difference;
use std::collections::BTreeMap;

/// A candidate compared with the baseline, measure by measure.
pub(crate) fn differences(baseline: &Standing, candidate: &Standing) -> BTreeMap<RunMeasure, Difference> {
    let compared = RunMeasure::ALL.into_iter().filter_map(|measure| {
        let rows = rows(baseline, candidate, measure);
        let (numbers, pairs): (Vec<f64>, Vec<[f64; 2]>) =
            rows.into_iter().map(|row| (row.number, row.baseline)).unzip();
        Some((measure, difference(&numbers, &pairs, measure.floor())?))
    });
    compared.collect()
}

/// The numbers of a round in which all three runs count.
struct Row {
    round: u32,
    number: f64,
    baseline: [f64; 2],
}

fn rows(baseline: &Standing, candidate: &Standing, measure: RunMeasure) -> Vec<Row> {
    let row = |(round, number)| Some(Row { round, number, baseline: pair(baseline, round, measure)? });
    by_round(candidate, measure).into_iter().filter_map(row).collect()
}

/// A candidate's numbers by round, of its runs that count.
fn by_round(standing: &Standing, measure: RunMeasure) -> BTreeMap<u32, f64> {
    standing.counted().filter_map(|s| Some((s.round, measure.of(s)?))).collect()
}

/// The baseline's two numbers of a round.
fn pair(baseline: &Standing, round: u32, measure: RunMeasure) -> Option<[f64; 2]> {
    let of = |is_second: bool| {
        let sample = baseline.counted().find(|s| s.round == round && s.is_second == is_second)?;
        measure.of(sample)
    };
    Some([of(false)?, of(true)?])
}

/// For each measure, the candidate that needs least.
pub(crate) fn winners(standings: &[Standing], measures: &[RunMeasure]) -> Vec<Winner> {
    let median = |at: usize, m: RunMeasure| standings[at].spread(m).map_or(f64::INFINITY, |s| s.median);
    measures
        .iter()
        .map(|&measure| {
            let is_lower = |at: &usize| {
                let standing = &standings[*at];
                // An allocator under which the program does something else cannot win.
                standing.findings.is_empty() && standing.verdict(measure) == Some(Verdict::Lower)
            };
            let best = (1..standings.len())
                .filter(is_lower)
                .min_by(|a, b| median(*a, measure).total_cmp(&median(*b, measure)));
            let others = (1..standings.len()).filter(|at| Some(*at) != best).filter(is_lower);
            let indistinguishable = best.map_or_else(Vec::new, |best| {
                others.filter(|other| !is_distinguishable(standings, best, *other, measure)).collect()
            });
            Winner { measure, best, indistinguishable }
        })
        .collect()
}

/// Whether one candidate surely needs more than another, by the same test and with the baseline's noise.
fn is_distinguishable(standings: &[Standing], best: usize, other: usize, measure: RunMeasure) -> bool {
    let own = by_round(&standings[best], measure);
    let mut numbers = Vec::new();
    let mut pairs = Vec::new();
    for Row { round, number, baseline: [a, b] } in rows(&standings[0], &standings[other], measure) {
        let Some(best) = own.get(&round) else { continue };
        // A pair around the best one's number that differs as the baseline does from itself.
        let noise = (b / a).sqrt();
        numbers.push(number);
        pairs.push([best / noise, best * noise]);
    }
    difference(&numbers, &pairs, measure.floor()).is_some_and(|d| d.verdict == Verdict::Higher)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::testing::{sample, standing};
    use crate::compare::{Finding, FindingKind, Outcome};

    /// The numbers of five rounds, with a little noise.
    fn around(number: f64) -> Vec<f64> {
        [0.99, 1.01, 1.0, 1.005, 0.995].iter().map(|factor| number * factor).collect()
    }

    fn field(numbers: &[f64]) -> Vec<Standing> {
        let mut standings = vec![standing(&around(1e9), true)];
        for number in numbers {
            let mut other = standing(&around(*number), false);
            other.differences = differences(&standings[0], &other);
            standings.push(other);
        }
        standings
    }

    #[test]
    fn who_needs_least_is_named_with_those_who_may_be_as_good() {
        let standings = field(&[0.5e9, 0.501e9, 0.7e9, 1.001e9]);
        let [winner] = &winners(&standings, &[RunMeasure::Cpu])[..] else { panic!("one measure") };
        assert_eq!(winner.best, Some(1));
        assert_eq!(winner.indistinguishable, [2]);
        assert_eq!(standings[3].verdict(RunMeasure::Cpu), Some(Verdict::Lower));
        assert_eq!(standings[4].verdict(RunMeasure::Cpu), Some(Verdict::WithinNoise));
    }

    #[test]
    fn those_who_are_compared_are_compared_within_rounds_whoever_is_missing() {
        // The machine is faster in each round, by far more than the two differ: only a comparison within rounds distinguishes
        // them.
        let faster = |number: f64| -> Vec<f64> { (0..8).map(|round| number * 0.7f64.powi(round)).collect() };
        let mut standings = vec![standing(&faster(1e9), true)];
        for number in [0.5e9, 0.55e9] {
            let mut other = standing(&faster(number), false);
            other.differences = differences(&standings[0], &other);
            standings.push(other);
        }
        assert!(is_distinguishable(&standings, 1, 2, RunMeasure::Cpu));
        // The baseline lacks the first two rounds.
        let gap = |standing: &Standing, at: usize| standing.samples[at].round > 2;
        standings[0].counted = (0..16).filter(|at| gap(&standings[0], *at)).collect();
        assert!(is_distinguishable(&standings, 1, 2, RunMeasure::Cpu), "other rounds were paired");
    }

    #[test]
    fn a_candidate_that_breaks_the_program_or_is_no_better_does_not_win() {
        let mut standings = field(&[0.5e9, 1.2e9]);
        let what = String::new();
        standings[1].findings.push(Finding { kind: FindingKind::Crashed, what, runs: 1, of: 6 });
        assert_eq!(winners(&standings, &[RunMeasure::Cpu])[0].best, None);
        assert_eq!(standings[2].verdict(RunMeasure::Cpu), Some(Verdict::Higher));
    }

    #[test]
    fn a_run_counts_if_it_is_whole_and_what_it_should_be() {
        let baseline = [sample(0, 1.0, Outcome::Exited(0))];
        let reference = crate::compare::judge::Reference::of(&baseline).unwrap();
        let mut runs = [
            sample(0, 1.0, Outcome::Exited(0)),
            sample(1, 1.0, Outcome::Exited(0)),
            sample(2, 1.0, Outcome::Exited(1)),
            sample(3, 1.0, Outcome::TimedOut),
            sample(4, 1.0, Outcome::Killed(11)),
            sample(5, 1.0, Outcome::Exited(0)),
        ];
        runs[5].in_use = Some(false);
        let counted: Vec<u32> =
            runs.iter().filter(|run| reference.counts(run)).map(|run| run.round).collect();
        assert_eq!(counted, [1]);
        // Rounds in which a candidate is missing do not count.
        let [first, mut second] = [standing(&around(1e9), true), standing(&around(0.5e9), false)];
        second.counted.truncate(3);
        assert_eq!(differences(&first, &second)[&RunMeasure::Cpu].rounds, 3);
    }
}
