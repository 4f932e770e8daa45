//! The numbers as Markdown.

use super::{Cost, Costs, Round, WAYS};
use heapwise_trial::statistics::Spread;
use std::fmt::Write as _;

/// Times that the preload library adds with the same allocator.
const AT_MOST: f64 = 1.1;

const HEADER: &str = "\
| allocator | way | ns that heapwise adds to a pair | × preload library | least | of them processor time of the program | × preload library | least |
|---|---|---:|---:|---:|---:|---:|---:|
";

pub(crate) fn table(rounds: &[Round]) -> String {
    let mut text = HEADER.to_owned();
    for (at, way) in WAYS.iter().enumerate() {
        let cells = |of: fn(&Cost) -> f64| {
            let added = |costs: &Costs| of(&costs.recorded) - of(&costs.alone);
            let spread = Spread::of(rounds.iter().map(|round| added(&round[at])));
            let spread = spread.map_or_else(|| "–".to_owned(), |spread| format!("{spread:.1}"));
            if at == way.preloaded {
                return format!("{spread} | – | –");
            }
            let times = rounds.iter().map(|round| added(&round[at]) / added(&round[way.preloaded]));
            let times =
                Spread::of(times).map_or_else(|| "–".to_owned(), |times| marked(times.median, &times));
            let least = least_added(rounds, at, of) / least_added(rounds, way.preloaded, of);
            format!("{spread} | {times} | {}", marked(least, &least))
        };
        let (time, processor) = (cells(|cost| cost.time), cells(|cost| cost.processor));
        let _ = writeln!(text, "| {} | {} | {time} | {processor} |", way.allocator, way.what);
    }
    let _ = writeln!(
        text,
        "\nIn bold: more than {AT_MOST} times what the preload library adds in front of the same allocator. Least: the least that a pair \
         took recorded, less the least that it took alone, since what else is at work on the machine only ever adds."
    );
    text
}

fn least_added(rounds: &[Round], at: usize, of: fn(&Cost) -> f64) -> f64 {
    let least = |which: fn(&Costs) -> Cost| {
        rounds.iter().map(|round| of(&which(&round[at]))).fold(f64::INFINITY, f64::min)
    };
    least(|costs| costs.recorded) - least(|costs| costs.alone)
}

/// A number of times, in bold if it is too great.
fn marked(times: f64, shown: &impl std::fmt::Display) -> String {
    if times > AT_MOST { format!("**{shown:.2}**") } else { format!("{shown:.2}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_way_is_shown_beside_the_preload_library() {
        let round = |alone: f64, attached: f64| -> Round {
            std::array::from_fn(|at| {
                let added = if at == 1 {
                    Cost { time: attached, processor: 21.0 }
                } else {
                    Cost { time: 20.0, processor: 20.0 }
                };
                let recorded = Cost { time: alone + added.time, processor: alone + added.processor };
                Costs { alone: Cost { time: alone, processor: alone }, recorded }
            })
        };
        let text = table(
            &[(10.0, 24.0), (12.0, 25.0), (15.0, 30.0)].map(|(alone, attached)| round(alone, attached)),
        );
        let rows = [
            "| glibc | preload library | 20.0 (20.0..20.0) | – | – | 20.0 (20.0..20.0) | – | – |",
            "| glibc | attached | 25.0 (24.0..30.0) | **1.25 (1.20..1.50)** | **1.20** | 21.0 (21.0..21.0) | 1.05 (1.05..1.05) | 1.05 |",
        ];
        for row in rows {
            assert!(text.contains(row), "{row} in {text}");
        }
    }
}
