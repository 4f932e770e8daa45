//! The front as a picture.

use super::Tuned;
use crate::chart::Unit;
use crate::document::{Figure, Picture, Row};
use heapwise_tune::Measure;

/// Each candidate by the two measures of the front. Nothing if fewer than two have both.
pub(super) fn picture(tuned: &Tuned<'_>) -> Option<Figure> {
    let found = tuned.found;
    let rows: Vec<Row<[f64; 2]>> = found
        .ranked
        .iter()
        .filter_map(|ranked| {
            let [y, x] = found.front_of.map(|measure| ranked.numbers.of(measure).map(|s| s.median));
            let series = allocator_number(tuned, ranked.candidate.name());
            Some(Row { label: ranked.candidate.to_string(), series, numbers: vec![[x?, y?]] })
        })
        .collect();
    if rows.len() < 2 {
        return None;
    }
    let [y, _] = found.front_of.map(Measure::title);
    Some(Figure {
        caption:
            "On replays: nobody is better in both than who is on the dashed line; a colour is an allocator"
                .to_owned(),
        picture: Picture::Scatter {
            titles: ["time in the allocator".to_owned(), y.to_owned()],
            units: [Unit::Nanos, Unit::Bytes],
            rows,
        },
    })
}

/// A number for each allocator, so that its settings have one colour.
fn allocator_number(tuned: &Tuned<'_>, name: &str) -> usize {
    let mut names: Vec<&str> = tuned.found.ranked.iter().map(|r| r.candidate.name()).collect();
    names.sort_unstable();
    names.dedup();
    names.iter().position(|n| *n == name).unwrap_or(0)
}
