//! What was measured and how well it was predicted, as Markdown.

use super::Results;
use super::fidelity::{Cpu, CpuRow, Memory, Row};
use heapwise_trial::statistics::Spread;
use std::fmt::Write;

const MIB: f64 = 1024.0 * 1024.0;
/// The pick may need this much more memory than the best.
const REGRET: f64 = 0.03;

/// What each program really took.
pub(crate) fn real(all: &[Results]) -> String {
    let mut text = String::from(
        "Medians, with the least and the greatest. The first run of each is not counted.\n\n\
         | workload | allocator | runs | peak RSS, MiB | CPU, s | wall, s |\n|---|---|---:|---:|---:|---:|\n",
    );
    for results in all {
        for real in &results.real {
            let of =
                |number: &dyn Fn(&crate::launcher::Measured) -> f64| Spread::of(real.runs.iter().map(number));
            let shown = |spread: Option<Spread>, decimals: usize| {
                spread.map_or_else(|| "–".to_owned(), |spread| format!("{spread:.decimals$}"))
            };
            let _ = writeln!(
                text,
                "| {} | {} | {} | {} | {} | {} |",
                results.workload,
                real.allocator,
                real.runs.len(),
                shown(of(&|run| run.peak_rss_kib as f64 / 1024.0), 1),
                shown(of(&|run| run.cpu_us as f64 / 1e6), 2),
                shown(of(&crate::launcher::Measured::wall_seconds), 2),
            );
        }
    }
    for results in all {
        for failure in &results.failures {
            let _ = write!(text, "\n{}: {}\n", results.workload, one_line(failure));
        }
    }
    text
}

/// How well the replay has predicted it, a row for each program, and then what it got wrong.
pub(crate) fn fidelity(all: &[Results]) -> String {
    let mut text = String::from(
        "| workload | peak RSS, mean error | at most | max error | pairs > 5 % in order | pick | regret \
         | leave glibc or not, > 10 % | |\n|---|---:|---:|---:|---:|---|---:|---:|---|\n",
    );
    let mut misses = String::new();
    for results in all {
        let name = results.workload;
        let Some(Memory { mean_error, max_error, order, pick, regret }) = &results.memory else {
            let _ = writeln!(
                text,
                "| {name} | – | {:.1} % | – | – | – | – | – | not predicted |",
                100.0 * results.aim
            );
            continue;
        };
        let cpu = results.cpu.clone().unwrap_or_default();
        let met = *mean_error <= results.aim
            && order.misses.is_empty()
            && *regret <= REGRET
            && cpu.right == cpu.differ
            && cpu.contradicted.is_empty();
        let _ = writeln!(
            text,
            "| {name} | {:.1} % | {:.1} % | {:.1} % | {}/{} | {pick} | {:.1} % | {}/{} | {} |",
            100.0 * mean_error,
            100.0 * results.aim,
            100.0 * max_error,
            order.right,
            order.total,
            100.0 * regret,
            cpu.right,
            cpu.differ,
            if met { "met" } else { "**MISSED**" }
        );
        let Cpu { misses: wrong, contradicted, .. } = &cpu;
        let memory = order.misses.iter().map(|miss| format!("memory: really {miss}"));
        let processor = wrong.iter().map(|miss| format!("CPU: {miss}"));
        let claims = contradicted.iter().map(|miss| format!("CPU, claimed the other way round: {miss}"));
        for miss in memory.chain(processor).chain(claims) {
            let _ = writeln!(misses, "- {name}: {miss}");
        }
    }
    if misses.is_empty() { text } else { format!("{text}\nMisses:\n\n{misses}") }
}

/// The compared figures, as an explanation of the results.
pub(crate) fn predictions(workload: &str, memory: &[Row], cpu: &[CpuRow]) -> String {
    let mut text =
        format!("\n{workload}: allocator, peak RSS real and predicted (MiB), CPU real and predicted (s)\n");
    for row in memory {
        let _ = write!(text, "  {:<10} {:>8.1} {:>8.1}", row.allocator, row.real / MIB, row.predicted / MIB);
        if let Some(cpu) = cpu.iter().find(|cpu| cpu.allocator == row.allocator) {
            let real = Spread::of(cpu.real.clone()).map_or_else(String::new, |spread| format!("{spread:.2}"));
            let _ = write!(text, "  {real:<20} {:.3}..{:.3}", cpu.predicted.0, cpu.predicted.1);
        }
        text.push('\n');
    }
    text
}

pub(super) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::launcher::Measured;
    use crate::replay::{Real, fidelity};

    fn results(predicted: [f64; 3]) -> Results {
        let names = ["glibc", "jemalloc", "mimalloc"];
        let real = [100.0, 80.0, 120.0];
        let rows: Vec<_> = (0..3)
            .map(|i| Row { allocator: names[i].to_owned(), real: real[i], predicted: predicted[i] })
            .collect();
        let run = |kib| Measured {
            start_ns: 0,
            end_ns: 1_500_000_000,
            cpu_us: 750_000,
            peak_rss_kib: kib,
            tree_cpu_us: 750_000,
            code: 0,
        };
        Results {
            workload: "redis",
            aim: 0.05,
            real: vec![Real { allocator: "glibc", runs: vec![run(1024), run(3072), run(2048)] }],
            failures: vec!["snmalloc: killed\nby signal 11".into()],
            memory: fidelity::memory(&rows),
            cpu: None,
        }
    }

    #[test]
    fn real_figures_and_failures_have_lines() {
        let text = real(&[results([90.0, 70.0, 110.0])]);
        assert!(
            text.contains("| redis | glibc | 3 | 2.0 (1.0..3.0) | 0.75 (0.75..0.75) | 1.50 (1.50..1.50) |"),
            "{text}"
        );
        assert!(text.contains("redis: snmalloc: killed by signal 11"), "{text}");
    }

    #[test]
    fn a_good_prediction_meets_the_aim_and_a_bad_one_is_listed() {
        let good = super::fidelity(&[results([90.0, 70.0, 110.0])]);
        assert!(
            good.ends_with("| redis | 0.0 % | 5.0 % | 0.0 % | 3/3 | jemalloc | 0.0 % | 0/0 | met |\n"),
            "{good}"
        );
        let bad = super::fidelity(&[results([90.0, 95.0, 110.0])]);
        assert!(bad.contains("| 2/3 | glibc | 25.0 % |") && bad.contains("**MISSED**"), "{bad}");
        assert!(bad.ends_with("- redis: memory: really jemalloc < glibc\n"), "{bad}");
    }
}
