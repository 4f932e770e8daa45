//! The numbers of all workloads and tools as a Markdown table.

use crate::run::Run;
use crate::series::Series;
use crate::tools::Kind;
use heapwise_trial::statistics::Spread;
use std::fmt::Write;

const HEADER: &str = "\
| workload | tool | program, s | × alone | whole command, s | CPU of all processes, s | peak RSS of the program, MiB \
| recording, MiB | bytes per event | report after the end, s |
|---|---|---:|---:|---:|---:|---:|---:|---:|---:|
";

const MIB: f64 = 1024.0 * 1024.0;

/// One row per workload and tool.
pub(crate) fn measurements(all: &[Series]) -> String {
    let mut text = String::from("Medians of all rounds, with the least and the greatest.\n\n");
    text.push_str(HEADER);
    for series in all {
        for tool in [Kind::Native, Kind::Heapwise, Kind::Heaptrack] {
            if series.rounds.iter().any(|round| round.get(tool).is_some()) {
                text.push_str(&row(series, tool));
            }
        }
    }
    for series in all.iter().filter(|series| series.scaled_down) {
        let _ = writeln!(
            text,
            "\n{} ran with size {}: its usual one takes too long here.",
            series.workload, series.size
        );
    }
    for series in all.iter().filter(|series| !series.is_compared) {
        let _ = writeln!(text, "\n{} runs without heaptrack.", series.workload);
    }
    text
}

fn row(series: &Series, tool: Kind) -> String {
    let of = |number: &dyn Fn(&Run) -> Option<f64>| Spread::of(series.of(tool, number));
    let shown = |spread: Option<Spread>, decimals: usize| {
        spread.map_or_else(|| "–".to_owned(), |spread| format!("{spread:.decimals$}"))
    };
    let recorded = tool != Kind::Native;
    let cells = [
        format!("{} {}", series.workload, series.size),
        tool.name().to_owned(),
        shown(of(&|run| Some(run.program.wall_seconds())), 3),
        shown(recorded.then(|| Spread::of(series.times_native(tool))).flatten(), 2),
        shown(of(&|run| Some(run.whole.wall_seconds())), 3),
        shown(of(&|run| Some(run.whole.tree_cpu_us as f64 / 1e6)), 2),
        shown(of(&|run| Some(run.program.peak_rss_kib as f64 / 1024.0)), 1),
        shown(of(&|run| Some(run.recording_bytes? as f64 / MIB)), 2),
        shown(of(&Run::bytes_per_event), 2),
        // heaptrack shows nothing at its end: its analysis is a separate program.
        shown(
            (tool == Kind::Heapwise).then(|| of(&|run| Some(run.seconds_after_the_program()))).flatten(),
            2,
        ),
    ];
    format!("| {} |\n", cells.join(" | "))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::launcher::Measured;
    use crate::run::Events;
    use crate::series::Round;

    /// A series in which each round has these seconds for native, heapwise and heaptrack.
    pub(crate) fn series(workload: &'static str, seconds: &[[f64; 3]]) -> Series {
        let tools = [Kind::Native, Kind::Heapwise, Kind::Heaptrack];
        let rounds =
            seconds.iter().map(|round| Round(tools.iter().zip(round).map(|(&t, &s)| run(t, s)).collect()));
        Series { workload, size: 10, scaled_down: false, is_compared: true, rounds: rounds.collect() }
    }

    fn run(tool: Kind, seconds: f64) -> Run {
        let end_ns = (seconds * 1e9) as u64;
        let program =
            Measured { start_ns: 0, end_ns, cpu_us: 5, peak_rss_kib: 2048, tree_cpu_us: 1_500_000, code: 0 };
        let whole = Measured { end_ns: end_ns + 1_250_000_000, ..program.clone() };
        let heapwise = tool == Kind::Heapwise;
        let events = heapwise.then_some(Events { seen: 2_000_000, lost: 0 });
        Run { tool, whole, program, recording_bytes: heapwise.then_some(1 << 20), events }
    }

    #[test]
    fn each_tool_has_a_row_with_its_numbers() {
        let text = measurements(&[series("mt", &[[1.0, 1.5, 3.0], [1.0, 1.3, 5.0], [2.0, 2.0, 8.0]])]);
        let rows: Vec<_> = text.lines().skip(2).collect();
        assert_eq!(rows.len(), 5);
        assert!(rows[2].starts_with("| mt 10 | native | 1.000 (1.000..2.000) | – |"), "{}", rows[2]);
        assert!(rows[3].contains("| 1.30 (1.00..1.50) |"), "{}", rows[3]);
        assert!(
            rows[3].ends_with("| 1.00 (1.00..1.00) | 0.52 (0.52..0.52) | 1.25 (1.25..1.25) |"),
            "{}",
            rows[3]
        );
        assert!(rows[4].ends_with("| – | – | – |"), "{}", rows[4]);
    }

    #[test]
    fn a_smaller_size_is_said() {
        let mut scaled = series("mt", &[[1.0, 1.5, 3.0]]);
        scaled.scaled_down = true;
        assert!(measurements(&[scaled]).contains("mt ran with size 10"));
    }
}
