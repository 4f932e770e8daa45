//! The numbers as Markdown.

use super::pauses::THREADS;
use super::{Cost, Measured, WAYS};
use heapwise_trial::statistics::Spread;
use std::fmt::Write as _;

/// Times that the preload library adds with the same allocator.
const AT_MOST: f64 = 1.1;

const HEADER: &str = "\
| allocator | way | ns that heapwise adds to a pair | × preload library | of them processor time of the program | × preload library |
|---|---|---:|---:|---:|---:|
";

pub(crate) fn table(measured: &Measured) -> String {
    let mut text = HEADER.to_owned();
    for (at, way) in WAYS.iter().enumerate() {
        let cells = |of: fn(&Cost) -> f64| {
            let added = Spread::of(measured.rounds.iter().map(|round| of(&round[at])));
            let times = measured.rounds.iter().map(|round| of(&round[at]) / of(&round[way.preloaded]));
            let times = Spread::of(times).filter(|_| at != way.preloaded);
            let times = times.map_or_else(
                || "–".to_owned(),
                |times| match times.median > AT_MOST {
                    true => format!("**{times:.2}**"),
                    false => format!("{times:.2}"),
                },
            );
            format!("{} | {times}", added.map_or_else(|| "–".to_owned(), |added| format!("{added:.1}")))
        };
        let (time, processor) = (cells(|cost| cost.time), cells(|cost| cost.processor));
        let _ = writeln!(text, "| {} | {} | {time} | {processor} |", way.allocator, way.what);
    }
    let _ = writeln!(
        text,
        "\nIn bold: more than {AT_MOST} times what the preload library adds in front of the same allocator."
    );
    if let Some(pause) = Spread::of(measured.pauses.clone()) {
        let _ = writeln!(
            text,
            "\nA process with {THREADS} threads that allocate, attached to {} times, stood still for {:.1} ms (median), {:.1} ms \
             (worst).",
            measured.pauses.len(),
            pause.median,
            pause.high
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ways::Round;

    #[test]
    fn each_way_is_shown_beside_the_preload_library_and_the_worst_pause() {
        let round = |attached: f64| -> Round {
            std::array::from_fn(|at| match at {
                1 => Cost { time: attached, processor: 21.0 },
                _ => Cost { time: 20.0, processor: 20.0 },
            })
        };
        let measured =
            Measured { rounds: [24.0, 25.0, 30.0].map(round).to_vec(), pauses: vec![3.0, 9.0, 4.0] };
        let text = table(&measured);
        let rows = [
            "| glibc | preload library | 20.0 (20.0..20.0) | – | 20.0 (20.0..20.0) | – |",
            "| glibc | attached | 25.0 (24.0..30.0) | **1.25 (1.20..1.50)** | 21.0 (21.0..21.0) | 1.05 (1.05..1.05) |",
            "attached to 3 times, stood still for 4.0 ms (median), 9.0 ms (worst)",
        ];
        for row in rows {
            assert!(text.contains(row), "{row} in {text}");
        }
    }
}
