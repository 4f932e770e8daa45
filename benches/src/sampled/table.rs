//! The numbers as Markdown.

use super::Costs;
use super::programs::{Program, Run, seconds};
use super::servers::Served;
use crate::ways::{Cost, Way};
use heapwise_trial::statistics::Spread;
use std::fmt::Write as _;

const HEADER: &str = "\
| allocator | way | alone, ns for a pair | a sample adds, ns | recording all calls adds, ns |
|---|---|---:|---:|---:|
";

pub(super) fn table(rows: &[(Way, Costs)]) -> String {
    let mut text = HEADER.to_owned();
    for (way, costs) in rows {
        let alone = costs.alone.iter().map(|cost| cost.time);
        let added = |with: &[Cost]| {
            let differences = with.iter().zip(&costs.alone).map(|(with, alone)| with.time - alone.time);
            cell(Spread::of(differences))
        };
        let sample = if costs.sample.is_empty() { &costs.profiler } else { &costs.sample };
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} |",
            way.allocator,
            way.what,
            cell(Spread::of(alone)),
            added(sample),
            added(&costs.all_calls)
        );
    }
    text
}

const PROGRAMS: &str = "\
| program | alone: processor time, s | handing calls on adds, % | least, % | a sample adds, % | least, % | heapwise beside it, s | alone: peak RSS, MiB | a sample adds, % |
|---|---:|---:|---:|---:|---:|---:|---:|---:|
";
const SERVED: &str = "\
| service | requests | alone, a second | with a sample, % | alone: 99th percentile, ms | with a sample, ms |
|---|---|---:|---:|---:|---:|
";

/// What a sample adds to whole programs, and how services serve with it.
pub(super) fn programs(programs: &[Program]) -> String {
    let mut text = PROGRAMS.to_owned();
    for program in programs {
        let rss = |run: &Run| run.program.peak_rss_kib as f64 / 1024.0;
        let cpu = |run: &Run| seconds(&run.program);
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} | {} | {} |",
            program.name,
            of(&program.alone, cpu, 2),
            added(&program.interposed, &program.alone, cpu),
            added(&program.sampled, &program.alone, cpu),
            of(&program.sampled, |run| run.beside, 2),
            of(&program.alone, rss, 1),
            changed(&program.sampled, &program.alone, rss)
        );
    }
    let services: Vec<_> = programs.iter().filter(|program| has_clients(program)).collect();
    if services.is_empty() {
        return text;
    }
    text.push('\n');
    text.push_str(SERVED);
    for program in services {
        for (at, served) in program.alone[0].served.iter().enumerate() {
            let number = |of: fn(&Served) -> f64| move |run: &Run| run.served.get(at).map_or(f64::NAN, of);
            let (rate, p99) = (number(|served| served.rate), number(|served| served.p99));
            let _ = writeln!(
                text,
                "| {} | {} | {} | {} | {} | {} |",
                program.name,
                served.what,
                of(&program.alone, rate, 0),
                changed(&program.sampled, &program.alone, rate),
                of(&program.alone, p99, 2),
                of(&program.sampled, p99, 2)
            );
        }
    }
    text
}

fn has_clients(program: &Program) -> bool {
    program.alone.first().is_some_and(|run| !run.served.is_empty())
}

fn of(runs: &[Run], number: impl Fn(&Run) -> f64, digits: usize) -> String {
    Spread::of(runs.iter().map(number)).map_or_else(|| "–".to_owned(), |spread| format!("{spread:.digits$}"))
}

/// By how many per cent a number is changed, and the least that was found: what else is at work on a machine only ever adds.
fn added(with: &[Run], alone: &[Run], number: impl Fn(&Run) -> f64) -> String {
    let least = |runs: &[Run]| runs.iter().map(&number).fold(f64::INFINITY, f64::min);
    let least = (least(with) / least(alone) - 1.0) * 100.0;
    format!("{} | {least:.1}", changed(with, alone, number))
}

/// By how many per cent a number is changed, round by round.
fn changed(with: &[Run], alone: &[Run], number: impl Fn(&Run) -> f64) -> String {
    let pairs = with.iter().zip(alone);
    cell(Spread::of(pairs.map(|(with, alone)| (number(with) / number(alone) - 1.0) * 100.0)))
}

fn cell(spread: Option<Spread>) -> String {
    spread.map_or_else(|| "–".to_owned(), |spread| format!("{spread:.1}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::launcher::Measured;
    use crate::ways::WAYS;

    #[test]
    fn programs_are_compared_round_by_round() {
        let run = |tree_cpu_us, beside, rate| Run {
            program: Measured { start_ns: 0, end_ns: 9, cpu_us: 1, peak_rss_kib: 2048, tree_cpu_us, code: 0 },
            beside,
            served: vec![Served { what: "SET".to_owned(), rate, p99: 1.5 }],
        };
        let alone = vec![run(1_000_000, 0.0, 100.0), run(2_000_000, 0.0, 200.0)];
        let sampled = vec![run(1_010_000, 0.1, 99.0), run(2_060_000, 0.2, 196.0)];
        let interposed = vec![run(1_005_000, 0.0, 100.0), run(2_030_000, 0.0, 199.0)];
        let text = programs(&[Program { name: "redis", alone, interposed, sampled }]);
        for row in [
            "| redis | 1.50 (1.00..2.00) | 1.0 (0.5..1.5) | 0.5 | 2.0 (1.0..3.0) | 1.0 | 0.15 (0.10..0.20) | 2.0 (2.0..2.0) | 0.0 (0.0..0.0) |",
            "| redis | SET | 150 (100..200) | -1.5 (-2.0..-1.0) | 1.50 (1.50..1.50) | 1.50 (1.50..1.50) |",
        ] {
            assert!(text.contains(row), "{row} in {text}");
        }
    }

    #[test]
    fn what_is_added_is_the_difference_of_each_round() {
        let cost = |time: f64| Cost { time, ..Cost::default() };
        let of = |times: [f64; 3]| times.map(cost).to_vec();
        let ours = Costs {
            alone: of([10.0, 12.0, 11.0]),
            sample: of([14.0, 15.0, 16.0]),
            all_calls: of([40.0, 41.0, 42.0]),
            ..Costs::default()
        };
        let peer = Costs { alone: of([10.0; 3]), profiler: of([12.5; 3]), ..Costs::default() };
        let text = table(&[(WAYS[0], ours), (WAYS[0], peer)]);
        let rows = [
            "| glibc | preload library | 11.0 (10.0..12.0) | 4.0 (3.0..5.0) | 30.0 (29.0..31.0) |",
            "| 10.0 (10.0..10.0) | 2.5 (2.5..2.5) | – |",
        ];
        for row in rows {
            assert!(text.contains(row), "{row} in {text}");
        }
    }
}
