//! Changes of a program, and whether what heapwise says that they save is what they save.

use super::change::Change;
use super::claim::{Claim, Judgement};
use super::found::Found;
use super::recorded::Recorded;
use crate::lab::outcome::{Cell, Column, Table};
use crate::statistics::Spread;

/// That what heapwise says is so.
pub(in crate::lab) const RIGHT: Claim = Claim {
    what: "what heapwise says that a change saves is within a factor of 1.5",
    article: "",
    here: |found| {
        let judged: Vec<bool> =
            found.steps.iter().filter_map(|step| Some(Seen::of(found, step)?.is_right)).flatten().collect();
        let right = judged.iter().filter(|is_right| **is_right).count();
        let figures = format!("{right} of {} that can be judged", judged.len());
        (!judged.is_empty()).then(|| Judgement::of(right == judged.len(), figures, ""))
    },
};

/// A smaller saving, as a part of the time before, is lost in the noise.
const LEAST_PART: f64 = 0.01;
/// What an estimate is to be right by.
const FACTOR: f64 = 1.5;

/// What came of a step.
struct Seen {
    /// Nanoseconds that were saved, pair by pair.
    saved: Spread,
    predicted: f64,
    /// Whether the estimate is right; `None` where that cannot be said.
    is_right: Option<bool>,
    recorded: [Recorded; 2],
}

impl Seen {
    fn of(found: &Found, step: &Change) -> Option<Self> {
        let recorded = [found.recorded.get(&step.before)?, found.recorded.get(&step.after)?].map(|one| *one);
        let (before, saved) = found.saved(step.before, step.after)?;
        let predicted = recorded[0].saved.time_ns - recorded[1].saved.time_ns;
        let is_seen = saved.median.max(predicted) >= LEAST_PART * before && predicted > 0.0;
        let is_right = saved.median > 0.0 && (FACTOR.recip()..=FACTOR).contains(&(predicted / saved.median));
        Some(Self { saved, predicted, is_right: is_seen.then_some(is_right), recorded })
    }

    fn cells(&self, step: &Change) -> Vec<Cell> {
        let [before, after] = &self.recorded;
        let ratio = self.predicted / self.saved.median;
        let known = if self.is_right == Some(true) { "" } else { step.known };
        vec![
            Cell::text(step.what),
            Cell::Time(Spread::one(self.predicted)),
            Cell::Time(self.saved),
            match self.is_right {
                Some(_) if self.saved.median > 0.0 => Cell::Ratio(Spread::one(ratio)),
                _ => Cell::Nothing,
            },
            amount(before.saved.allocations - after.saved.allocations),
            amount(before.allocations as f64 - after.allocations as f64),
            Cell::Bytes(Spread::one(before.saved.allocated_bytes - after.saved.allocated_bytes)),
            Cell::Bytes(Spread::one(before.allocated_bytes as f64 - after.allocated_bytes as f64)),
            Cell::text(known),
        ]
    }
}

/// A number of allocations; a change may also add some.
fn amount(number: f64) -> Cell {
    Cell::Number(number as i64)
}

/// The tables of what was recorded: what each variant does, and what was predicted of each step.
pub(super) fn tables(found: &Found) -> Vec<Table> {
    if found.recorded.is_empty() {
        return Vec::new();
    }
    let steps = (!found.steps.is_empty()).then(|| of_steps(found));
    std::iter::once(of_variants(found)).chain(steps).collect()
}

fn of_variants(found: &Found) -> Table {
    let columns = [
        ("variant", "variant"),
        ("allocations", "allocations"),
        ("allocated_bytes", "allocated"),
        ("peak_live_bytes", "peak live"),
    ];
    let row = |(at, recorded): (&usize, &Recorded)| {
        vec![
            Cell::text(found.variants[*at]),
            Cell::Count(recorded.allocations),
            Cell::Bytes(Spread::one(recorded.allocated_bytes as f64)),
            Cell::Bytes(Spread::one(recorded.peak_bytes as f64)),
        ]
    };
    Table {
        id: "recorded".to_owned(),
        title: "As heapwise records it".to_owned(),
        aside: "one run of each; reallocations count".to_owned(),
        labels: Vec::new(),
        is_detail: false,
        columns: columns.into_iter().map(|(id, title)| Column::new(id, title)).collect(),
        rows: found.recorded.iter().map(row).collect(),
    }
}

fn of_steps(found: &Found) -> Table {
    let columns = vec![
        Column::new("change", "change"),
        Column::new("predicted_ns", "predicted"),
        Column::new("saved_ns", "saved"),
        Column::new("ratio", "predicted / saved"),
        Column::detail("predicted_allocations", "allocations predicted"),
        Column::detail("saved_allocations", "allocations saved"),
        Column::detail("predicted_bytes", "bytes predicted"),
        Column::detail("saved_bytes", "bytes saved"),
        Column::detail("known", "what is known of the difference"),
    ];
    let rows = found.steps.iter().filter_map(|step| Some(Seen::of(found, step)?.cells(step)));
    Table {
        id: "estimates".to_owned(),
        title: "What heapwise says that each change saves".to_owned(),
        aside: "processor time".to_owned(),
        labels: Vec::new(),
        is_detail: false,
        columns,
        rows: rows.collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::found::tests::made_up;
    use super::super::recorded::Saved;
    use super::*;

    const STEPS: &[Change] = &[Change { what: "less", before: 0, after: 1, known: "it is known" }];

    /// Two variants, of which the second saves 100 of what the first needs, and of which so much is predicted.
    fn found(predicted: f64) -> Found {
        let mut found = made_up(|variant, _, _| if variant == 0 { 1000 } else { 900 });
        found.steps = STEPS;
        let saved = |time_ns| Saved { time_ns, allocations: 3.0, allocated_bytes: 0.0 };
        let of = |time_ns| Recorded { allocations: 10, saved: saved(time_ns), ..Recorded::default() };
        found.recorded.extend([(0, of(predicted + 50.0)), (1, Recorded { allocations: 4, ..of(50.0) })]);
        found
    }

    #[test]
    fn a_prediction_is_right_within_a_factor() {
        let said = |predicted| ((RIGHT.here)(&found(predicted))).map(|judgement| judgement.figures);
        for (predicted, right) in [(100.0, 1), (149.0, 1), (151.0, 0), (67.0, 1), (66.0, 0)] {
            assert_eq!(said(predicted), Some(format!("{right} of 1 that can be judged")), "{predicted}");
        }
        // Nothing was predicted, so there is nothing to judge.
        assert_eq!(said(0.0), None);
    }

    #[test]
    fn what_is_known_stands_beside_an_estimate_that_is_not_right() {
        let row = |predicted| of_steps(&found(predicted)).rows.remove(0);
        let right = row(100.0);
        assert_eq!(right[3], Cell::Ratio(Spread::one(1.0)));
        assert_eq!((&right[5], &right[8]), (&Cell::Number(6), &Cell::text("")));
        assert_eq!(row(300.0)[8], Cell::text("it is known"));
        assert_eq!(tables(&found(1.0))[0].rows[1][1], Cell::Count(4));
        assert!(tables(&made_up(|_, _, _| 1)).is_empty());
    }
}
