//! The numbers as Markdown.

use super::{Cost, Round, WAYS};
use heapwise_trial::statistics::Spread;
use std::fmt::Write as _;

/// Times that the preload library adds with the same allocator.
const AT_MOST: f64 = 1.1;

const HEADER: &str = "\
| allocator | way | ns that heapwise adds to a pair | × preload library | of them processor time of the program | × preload library |
|---|---|---:|---:|---:|---:|
";

pub(crate) fn table(rounds: &[Round]) -> String {
    let mut text = HEADER.to_owned();
    for (at, way) in WAYS.iter().enumerate() {
        let cells = |of: fn(&Cost) -> f64| {
            let added = Spread::of(rounds.iter().map(|round| of(&round[at])));
            let times = rounds.iter().map(|round| of(&round[at]) / of(&round[way.preloaded]));
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
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_way_is_shown_beside_the_preload_library() {
        let round = |attached: f64| -> Round {
            std::array::from_fn(|at| match at {
                1 => Cost { time: attached, processor: 21.0 },
                _ => Cost { time: 20.0, processor: 20.0 },
            })
        };
        let text = table(&[24.0, 25.0, 30.0].map(round));
        let rows = [
            "| glibc | preload library | 20.0 (20.0..20.0) | – | 20.0 (20.0..20.0) | – |",
            "| glibc | attached | 25.0 (24.0..30.0) | **1.25 (1.20..1.50)** | 21.0 (21.0..21.0) | 1.05 (1.05..1.05) |",
        ];
        for row in rows {
            assert!(text.contains(row), "{row} in {text}");
        }
    }
}
