//! How well a prediction agrees with what a program really did under each allocator.
//!
//! A replay has the heap of the program and not its code, its stacks and its libraries, so its figures are lower by
//! something that is the same for all allocators. It is taken from the row of glibc, and everything else is compared
//! after that. What counts in the end is the choice that the prediction leads to.

use heapwise_analysis::units::signed_percent;
use heapwise_trial::statistics::Spread;
use serde::Serialize;

/// The allocator that a program has by default, and that the offset is taken from.
pub(crate) const BASELINE: &str = "glibc";
/// Real differences of memory below this share do not count against a prediction.
const RSS_MATTERS: f64 = 0.05;
/// The same for processor time, against glibc.
const CPU_MATTERS: f64 = 0.10;
/// And among the others.
const CPU_ORDER_MATTERS: f64 = 0.05;

/// A figure of an allocator: what it really was, and what was predicted.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Row {
    pub(crate) allocator: String,
    pub(crate) real: f64,
    pub(crate) predicted: f64,
}

/// How memory was predicted.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub(crate) struct Memory {
    /// Relative errors of all allocators but the baseline, whose error is none by construction.
    pub(crate) mean_error: f64,
    pub(crate) max_error: f64,
    pub(crate) order: Order,
    /// The allocator with the least prediction, and by what share the best one really is better.
    pub(crate) pick: String,
    pub(crate) regret: f64,
}

/// Pairs that differ really, and those of them that were predicted the other way round.
#[derive(Clone, Debug, Default, Serialize, PartialEq, Eq)]
pub(crate) struct Order {
    pub(crate) right: usize,
    pub(crate) total: usize,
    /// `A < B` for what really is.
    pub(crate) misses: Vec<String>,
}

/// Compares predictions of memory. `None` without a baseline that has both figures, or without another allocator.
pub(crate) fn memory(rows: &[Row]) -> Option<Memory> {
    let baseline = rows.iter().find(|row| row.allocator == BASELINE)?;
    let offset = baseline.real - baseline.predicted;
    let others = rows.iter().filter(|row| row.allocator != BASELINE);
    let errors: Vec<f64> = others.map(|row| (row.predicted + offset - row.real).abs() / row.real).collect();
    let max_error = errors.iter().copied().reduce(f64::max)?;
    let mean_error = errors.iter().sum::<f64>() / errors.len() as f64;
    let pick = rows.iter().min_by(|a, b| a.predicted.total_cmp(&b.predicted))?;
    let best = rows.iter().map(|row| row.real).reduce(f64::min)?;
    Some(Memory {
        mean_error,
        max_error,
        order: order(rows),
        pick: pick.allocator.clone(),
        regret: pick.real / best - 1.0,
    })
}

/// Every pair of allocators that really differ.
fn order(rows: &[Row]) -> Order {
    let mut order = Order::default();
    for (at, one) in rows.iter().enumerate() {
        for other in &rows[at + 1..] {
            let (low, high) = if one.real <= other.real { (one, other) } else { (other, one) };
            if high.real - low.real <= RSS_MATTERS * low.real {
                continue;
            }
            order.total += 1;
            if low.predicted < high.predicted {
                order.right += 1;
            } else {
                order.misses.push(format!("{} < {}", low.allocator, high.allocator));
            }
        }
    }
    order
}

/// Processor time of a run and, as a range, of the allocator in a replay.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct CpuRow {
    pub(crate) allocator: String,
    /// All runs, in seconds.
    pub(crate) real: Vec<f64>,
    /// Least and greatest, in seconds.
    pub(crate) predicted: (f64, f64),
}

/// How processor time was predicted.
#[derive(Clone, Debug, Default, Serialize, PartialEq, Eq)]
pub(crate) struct Cpu {
    /// Allocators that really take a tenth more or less time than glibc, in every run.
    pub(crate) differ: usize,
    /// Those of them for which the prediction is right about leaving glibc.
    pub(crate) right: usize,
    pub(crate) misses: Vec<String>,
    /// Pairs of others where the prediction has one as faster, without the ranges touching, although that one was really slower
    /// in every run.
    pub(crate) contradicted: Vec<String>,
}

/// Compares predictions of processor time. `None` without a baseline.
pub(crate) fn cpu(rows: &[CpuRow]) -> Option<Cpu> {
    let baseline = rows.iter().find(|row| row.allocator == BASELINE)?;
    let others: Vec<_> = rows.iter().filter(|row| row.allocator != BASELINE).collect();
    let seen = SEEN * Spread::of(baseline.real.clone())?.median;
    let mut cpu = Cpu::default();
    for other in &others {
        let Some(share) = difference(&other.real, &baseline.real, CPU_MATTERS) else { continue };
        cpu.differ += 1;
        // Ranges that touch predict no difference, which means to stay.
        let (truth, said) = (verdict(share < 0.0), verdict(claim(other, baseline, seen) == Some(true)));
        if said == truth {
            cpu.right += 1;
        } else {
            let by = signed_percent(share, 0);
            cpu.misses.push(format!("{}: {truth} ({by}), predicted: {said}", other.allocator));
        }
    }
    for (at, one) in others.iter().enumerate() {
        for other in &others[at + 1..] {
            let (fast, slow) = match claim(one, other, seen) {
                Some(true) => (one, other),
                Some(false) => (other, one),
                None => continue,
            };
            if difference(&fast.real, &slow.real, CPU_ORDER_MATTERS).is_some_and(|share| share > 0.0) {
                cpu.contradicted.push(format!("{} < {}", slow.allocator, fast.allocator));
            }
        }
    }
    Some(cpu)
}

fn verdict(faster: bool) -> &'static str {
    if faster { "leave glibc" } else { "stay" }
}

/// By what share the first takes more time than the second, if that is more than `matters` and so in every run.
fn difference(one: &[f64], other: &[f64], matters: f64) -> Option<f64> {
    let (one, other) = (Spread::of(one.to_vec())?, Spread::of(other.to_vec())?);
    let share = one.median / other.median - 1.0;
    let is_clear = one.low > other.high || one.high < other.low;
    (is_clear && share.abs() > matters).then_some(share)
}

/// The share of the program's processor time below which `heapwise replay` does not report a difference.
const SEEN: f64 = 0.05;

/// Whether the first is predicted to be faster than the second. `None` if the ranges touch, or if the difference is less than
/// `seen` seconds.
fn claim(one: &CpuRow, other: &CpuRow, seen: f64) -> Option<bool> {
    let middle = |row: &CpuRow| (row.predicted.0 + row.predicted.1) / 2.0;
    if (middle(one) - middle(other)).abs() < seen {
        None
    } else if one.predicted.1 < other.predicted.0 {
        Some(true)
    } else if other.predicted.1 < one.predicted.0 {
        Some(false)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: [&str; 7] =
        ["glibc", "jemalloc", "mimalloc", "mimalloc2", "snmalloc", "tcmalloc", "gperftools"];

    /// Peaks in MB that a prototype measured and replayed, of python3, sqlite3, an async service, ripgrep, redis and git.
    const MEASURED: [([f64; 7], [f64; 7]); 6] = [
        (
            [118.3, 111.6, 137.4, 111.3, 124.0, 120.6, 112.8],
            [111.4, 106.7, 132.2, 106.1, 116.3, 111.0, 104.3],
        ),
        ([92.2, 142.2, 132.1, 119.8, 189.0, 161.1, 154.9], [87.7, 136.7, 126.2, 117.7, 184.5, 152.8, 147.4]),
        ([39.7, 38.0, 61.1, 50.2, 49.2, 47.1, 39.8], [44.2, 43.8, 61.2, 57.1, 54.0, 46.7, 41.6]),
        ([10.4, 13.5, 43.1, 30.7, 16.7, 21.1, 16.8], [4.9, 7.8, 38.2, 26.9, 11.8, 12.6, 10.1]),
        ([68.2, 77.9, 89.3, 81.2, 84.5, 93.1, 83.2], [56.8, 66.3, 76.2, 72.2, 74.2, 80.6, 72.5]),
        ([28.2, 32.7, 81.4, 52.6, 44.5, 43.0, 33.6], [25.2, 34.1, 89.2, 69.6, 41.0, 37.2, 26.5]),
    ];

    fn rows((real, predicted): &([f64; 7], [f64; 7])) -> Vec<Row> {
        let rows = NAMES.iter().zip(real).zip(predicted);
        rows.map(|((name, &real), &predicted)| Row { allocator: (*name).to_owned(), real, predicted })
            .collect()
    }

    #[test]
    fn what_a_prototype_has_measured_comes_out_again() {
        let all: Vec<_> = MEASURED.iter().map(|table| memory(&rows(table)).unwrap()).collect();
        let pairs: Vec<_> = all.iter().map(|memory| (memory.order.right, memory.order.total)).collect();
        assert_eq!(pairs, [(14, 14), (20, 20), (16, 16), (20, 20), (16, 16), (19, 19)]);
        let regrets: Vec<_> = all.iter().map(|memory| (memory.regret * 1000.0).round() / 10.0).collect();
        assert_eq!(regrets, [1.3, 0.0, 4.7, 0.0, 0.0, 0.0]);
        // The prototype counted the baseline, whose error is zero, so its mean is six sevenths of ours.
        let means: Vec<_> =
            all.iter().map(|memory| (memory.mean_error * 6.0 / 7.0 * 1000.0).round() / 10.0).collect();
        // Its last two digits are from figures with more of them than these.
        for (ours, its) in means.iter().zip([1.3, 1.2, 4.7, 4.7, 1.2, 12.0]) {
            assert!((ours - its).abs() < 0.15, "{means:?}");
        }
        assert!((all[0].max_error - 0.022).abs() < 0.001, "{}", all[0].max_error);
        assert_eq!(all[1].pick, "glibc");
    }

    #[test]
    fn a_wrong_order_is_a_miss_and_a_wrong_pick_is_regretted() {
        let row = |name: &str, real, predicted| Row { allocator: name.to_owned(), real, predicted };
        let rows = [row("glibc", 100.0, 90.0), row("jemalloc", 50.0, 95.0), row("mimalloc", 103.0, 80.0)];
        let memory = memory(&rows).unwrap();
        // glibc and mimalloc differ by 3 %.
        assert_eq!((memory.order.right, memory.order.total), (0, 2));
        assert_eq!(memory.order.misses, ["jemalloc < glibc", "jemalloc < mimalloc"]);
        assert_eq!((memory.pick.as_str(), memory.regret), ("mimalloc", 1.06));
        // 95 + 10 instead of 50, 80 + 10 instead of 103.
        assert!((memory.max_error - 1.1).abs() < 1e-9);
        assert_eq!(super::memory(&rows[1..]), None);
        assert_eq!(super::memory(&rows[..1]), None);
    }

    #[test]
    fn leaving_glibc_is_judged_where_it_makes_a_difference() {
        let row = |name: &str, real: [f64; 3], predicted| CpuRow {
            allocator: name.to_owned(),
            real: real.to_vec(),
            predicted,
        };
        let rows = [
            row("glibc", [1.0, 1.1, 0.9], (0.40, 0.44)),
            row("jemalloc", [0.70, 0.71, 0.72], (0.10, 0.12)),
            row("mimalloc", [0.95, 0.96, 0.97], (0.03, 0.05)),
            // A difference from jemalloc that is too small to be reported, though the ranges do not touch.
            row("close", [0.9, 0.9, 0.9], (0.07, 0.09)),
            row("snmalloc", [0.8, 0.8, 0.8], (0.39, 0.45)),
            row("tcmalloc", [1.3, 1.3, 1.3], (0.2, 0.3)),
            row("mimalloc2", [1.2, 1.2, 1.3], (0.41, 0.5)),
            // Not in every run.
            row("other", [0.7, 0.8, 0.95], (0.9, 0.99)),
        ];
        let cpu = cpu(&rows).unwrap();
        assert_eq!((cpu.right, cpu.differ), (2, 4));
        assert_eq!(
            cpu.misses,
            [
                "snmalloc: leave glibc (−20 %), predicted: stay",
                "tcmalloc: stay (+30 %), predicted: leave glibc"
            ]
        );
        // The first of each pair really is faster, and was predicted to be slower.
        let contradicted = [
            "jemalloc < mimalloc",
            "snmalloc < mimalloc",
            "snmalloc < close",
            "snmalloc < tcmalloc",
            "other < tcmalloc",
            "other < mimalloc2",
        ];
        assert_eq!(cpu.contradicted, contradicted);
        assert_eq!(super::cpu(&rows[1..]), None);
    }
}
