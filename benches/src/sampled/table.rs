//! The numbers as Markdown.

use super::Costs;
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

fn cell(spread: Option<Spread>) -> String {
    spread.map_or_else(|| "–".to_owned(), |spread| format!("{spread:.1}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ways::WAYS;

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
