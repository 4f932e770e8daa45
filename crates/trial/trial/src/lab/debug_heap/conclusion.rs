//! What the numbers mean, in sentences that they allow and no others.

use super::measure::{Job, Plan, Series};
use super::tables::largest;
use crate::lab::conditions::Role;
use crate::lab::growth::Growth;

use crate::statistics::Spread;
use heapwise_analysis::units::{count, digits};

/// The ratio of one part of a workload under a condition.
struct Found {
    workload: &'static str,
    phase: String,
    condition: usize,
    n: u64,
    unit: &'static str,
    ratio: Spread,
    /// How it grew, as the end of a sentence; empty if that is not clear.
    growth: String,
    /// Whether it took long enough plainly for a ratio to mean something.
    is_long: bool,
}

/// What takes less is over before a processor has found its speed, and a ratio of two such times is chance.
const LONG_NS: f64 = 1e6;

/// The sentences.
pub(super) fn conclusion(plan: &Plan, series: &Series) -> Vec<String> {
    let found = ratios(plan, series);
    let of = |role: Role| found.iter().filter(move |f| plan.conditions[f.condition].role() == role);
    let mut sentences = Vec::new();
    let by_median = |a: &&Found, b: &&Found| a.ratio.median.total_cmp(&b.ratio.median);

    for (condition, shown) in plan.conditions.iter().enumerate() {
        let worst = of(Role::Checking).filter(|f| f.condition == condition).max_by(by_median);
        let Some(worst) = worst else { continue };
        if worst.ratio.low <= 1.0 {
            sentences.push(format!("Under {} nothing was slower beyond doubt.", shown.name()));
            continue;
        }
        sentences.push(format!(
            "Under {} the {} of {} ({} {}) took {} times as long as plainly{}.",
            shown.name(),
            worst.phase,
            worst.workload,
            count(worst.n),
            worst.unit,
            spread(&worst.ratio),
            worst.growth,
        ));
    }
    sentences.extend(per_block(&found, plan));
    // The two conditions that should be as fast as the plain one.
    if let Some((low, high)) = range(of(Role::Fixed)) {
        sentences.push(format!(
            "With the fix it was {low} to {high} times the plain time. The two are the same heap, so the difference is noise.",
        ));
    }
    if let Some((low, high)) = range(of(Role::Bypass)) {
        sentences.push(format!(
            "With mimalloc inside of the program it was {low} to {high} times the plain time: what surrounds the \
             system's heap does not reach it.",
        ));
    }
    if of(Role::Checking).next().is_some() {
        sentences.push(
            "A checking heap is for finding bugs: do not measure under one, and do not wait for one when you need not. \
             `heapwise doctor -- CMD` says whether CMD would get one, where it comes from and how to turn it off."
                .to_owned(),
        );
    } else {
        sentences.push(
            "No checking heap could be tried here. `heapwise doctor -- CMD` says whether CMD would get one."
                .to_owned(),
        );
    }
    sentences
}

fn ratios(plan: &Plan, series: &Series) -> Vec<Found> {
    let mut found = Vec::new();
    for (at, work) in plan.workloads.iter().enumerate() {
        for phase in series.phases(at) {
            for condition in 1..plan.conditions.len() {
                let sizes = &plan.sizes[at];
                let Some(job) = largest(series, at, condition, &phase, sizes) else { continue };
                let Some(ratio) = series.ratio(job, &phase) else { continue };
                let growth = |job| series.growth(job, &phase, sizes);
                let growth = grown(growth(job), growth(Job { condition: 0, ..job }));
                let (workload, unit, n) = (work.name(), work.unit(), sizes[job.size]);
                let plain = series.time(Job { condition: 0, ..job }, &phase);
                let is_long = plain.is_some_and(|time| time.median >= LONG_NS);
                found.push(Found {
                    workload,
                    phase: phase.clone(),
                    condition,
                    n,
                    unit,
                    ratio,
                    growth,
                    is_long,
                });
            }
        }
    }
    if found.iter().any(|f| f.is_long) {
        found.retain(|f| f.is_long);
    }
    found
}

/// How a time grows, compared with the plain condition.
fn grown(growth: Option<Growth>, plain: Option<Growth>) -> String {
    match (growth, plain) {
        (Some(growth), Some(plain)) if growth.words() != "unclear" => {
            let (b, words) = (growth.exponent, growth.words());
            format!(", and grew as n^{b:.2}, {words} (plainly as n^{:.2})", plain.exponent)
        }
        _ => String::new(),
    }
}

/// That the cost is one per block shows in two tables that do the same with many and with few. It is the building up that
/// can be compared: a table with a few blocks is dropped in no time.
fn per_block(found: &[Found], plan: &Plan) -> Option<String> {
    let checking = found.iter().filter(|f| plan.conditions[f.condition].role() == Role::Checking);
    let built: Vec<&Found> = checking.filter(|f| f.phase == "construct").collect();
    let worst = built
        .iter()
        .filter(|f| f.workload == "words-chained")
        .max_by(|a, b| a.ratio.median.total_cmp(&b.ratio.median))?;
    let arena = built.iter().find(|f| f.workload == "words-arena" && f.condition == worst.condition)?;
    (worst.ratio.low > arena.ratio.high).then(|| {
        format!(
            "The cost is one per block: under {} the same words took {} times as long to count in a table with blocks for \
             each word, and {} times in one that keeps them in one block.",
            plan.conditions[worst.condition].name(),
            spread(&worst.ratio),
            spread(&arena.ratio)
        )
    })
}

/// The least and the greatest median.
fn range<'a>(found: impl Iterator<Item = &'a Found>) -> Option<(String, String)> {
    let all = Spread::of(found.map(|f| f.ratio.median))?;
    Some((digits(all.low), digits(all.high)))
}

fn spread(ratio: &Spread) -> String {
    format!("{} ({}..{})", digits(ratio.median), digits(ratio.low), digits(ratio.high))
}

/// The second condition is a checking heap there.
#[cfg(all(test, target_os = "linux"))]
mod tests_on_linux {
    use super::super::measure::tests::made_up;
    use super::*;

    #[test]
    fn the_worst_part_is_named_with_its_growth() {
        let (plan, series) =
            made_up(|condition, n, _, phase| if condition == 1 && phase == "drop" { n * n } else { n * 10 });
        let sentences = conclusion(&plan, &series);
        assert!(
            sentences[0].contains("the drop of hash-map (8,000 entries) took 800 (800..800) times as long")
                && sentences[0].contains("grew as n^2.00, O(n^2) (plainly as n^1.00)"),
            "{sentences:?}"
        );
    }

    #[test]
    fn no_difference_is_called_none() {
        let (plan, series) = made_up(|_, n, round, _| n * (10 + u64::from(round)));
        assert!(conclusion(&plan, &series)[0].ends_with("nothing was slower beyond doubt."));
    }
}
