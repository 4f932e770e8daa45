//! For a browser: the front as a picture, and the tables.

use super::{Tuned, document};
use crate::chart::{Dot, Unit, scatter, series};
use crate::document::{Figure, html as render};
use heapwise_tune::Measure;

pub(super) fn html(tuned: &Tuned<'_>) -> String {
    render(&document(tuned), &picture(tuned).into_iter().collect::<Vec<_>>())
}

/// Each candidate by the two measures of the front.
fn picture(tuned: &Tuned<'_>) -> Option<Figure> {
    let found = tuned.found;
    let labels: Vec<String> = found.ranked.iter().map(|r| r.candidate.to_string()).collect();
    let dots: Vec<Dot<'_>> = found
        .ranked
        .iter()
        .zip(&labels)
        .filter_map(|(ranked, label)| {
            let [y, x] = found.front_of.map(|measure| ranked.numbers.of(measure).map(|s| s.median));
            let at = allocator_number(tuned, ranked.candidate.name());
            Some(Dot { label, place: [x?, y?], class: series(at) })
        })
        .collect();
    if dots.len() < 2 {
        return None;
    }
    let [y, _] = found.front_of.map(Measure::title);
    let titles = ["time in the allocator", y];
    let picture =
        scatter("Time in the allocator and memory, by candidate", titles, [Unit::Nanos, Unit::Bytes], &dots);
    Some(Figure {
        caption:
            "On replays: nobody is better in both than who is on the dashed line; a colour is an allocator"
                .to_owned(),
        picture,
    })
}

/// A number for each allocator, so that its settings have one colour.
fn allocator_number(tuned: &Tuned<'_>, name: &str) -> usize {
    let mut names: Vec<&str> = tuned.found.ranked.iter().map(|r| r.candidate.name()).collect();
    names.sort_unstable();
    names.dedup();
    names.iter().position(|n| *n == name).unwrap_or(0)
}
