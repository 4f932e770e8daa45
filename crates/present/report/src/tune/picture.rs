//! The front as a picture.
//!
//! Fifty names on it would be illegible. Candidates that stayed until the end are clearly visible; the others are faint, because
//! they were measured less. Names are shown for the front, which is that of the table, and for the current allocator.

use super::Tuned;
use crate::chart::{Emphasis, Unit};
use crate::document::{Figure, Numbers, Picture};
use heapwise_trial::tune::{Found, Objective, Ranked};

/// Each candidate by the two measures of the front. `None` if fewer than two have both.
pub(super) fn picture(tuned: &Tuned<'_>) -> Option<Figure> {
    let found = tuned.found;
    let shown: Vec<(&Ranked, [f64; 2])> = found
        .ranked
        .iter()
        .filter_map(|ranked| {
            let [y, x] = found.front_of.map(|measure| ranked.numbers.of(measure).map(|s| s.median));
            Some((ranked, [x?, y?]))
        })
        .collect();
    if shown.len() < 2 {
        return None;
    }
    let mut allocators: Vec<&str> = shown.iter().map(|(ranked, _)| ranked.candidate.name()).collect();
    allocators.sort_unstable();
    allocators.dedup();
    // The first colour is grey, and elsewhere that of the current allocator; faint points are grey, too.
    let series = |name: &str| 1 + allocators.iter().position(|n| *n == name).unwrap_or(0);
    let row = |(ranked, place): &(&Ranked, [f64; 2])| Numbers {
        label: ranked.candidate.to_string(),
        series: series(ranked.candidate.name()),
        numbers: vec![*place],
    };
    let is_faint = |(ranked, _): &&(&Ranked, [f64; 2])| emphasis(found, ranked) == Emphasis::Faint;
    let faint = match shown.iter().filter(is_faint).count() {
        0 => String::new(),
        n => format!("; small and faint: {n} that left the search early"),
    };
    let [y, _] = found.front_of.map(Objective::title);
    Some(Figure {
        caption: format!("On replays: none is better in both than those on the dashed line{faint}"),
        picture: Picture::Scatter {
            titles: ["CPU time for the heap".to_owned(), y.to_owned()],
            units: [Unit::Nanos, Unit::Bytes],
            rows: shown.iter().map(row).collect(),
            emphasis: shown.iter().map(|(ranked, _)| emphasis(found, ranked)).collect(),
            legend: allocators
                .iter()
                .map(|name| Numbers { label: (*name).to_owned(), series: series(name), numbers: Vec::new() })
                .collect(),
        },
    })
}

fn emphasis(found: &Found, ranked: &Ranked) -> Emphasis {
    if ranked.is_on_front {
        Emphasis::OnFront
    } else if ranked.candidate == found.baseline().candidate {
        Emphasis::Named
    } else if found.is_finalist(ranked) {
        Emphasis::Unnamed
    } else {
        Emphasis::Faint
    }
}
