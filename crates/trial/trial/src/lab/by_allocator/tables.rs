//! The tables: one for each variant, one that compares two of them, and one of what the article says.

use super::claim::{Claim, Judgement};
use super::measure::Found;
use super::{ByAllocator, Shown, Unit};
use crate::lab::outcome::{Cell, Column, Table};
use crate::statistics::Spread;

pub(super) fn all(experiment: &ByAllocator, found: &Found, judged: &[(&Claim, Judgement)]) -> Vec<Table> {
    let variants = (0..found.variants.len()).map(|variant| of_variant(experiment, found, variant));
    let against = experiment.against.map(|variants| against(experiment, found, variants));
    variants.chain(against).chain((!judged.is_empty()).then(|| article(judged))).collect()
}

fn of_variant(experiment: &ByAllocator, found: &Found, variant: usize) -> Table {
    let way = &experiment.variants[variant];
    let cell = |who, shown: &Shown| {
        found.spread(variant, who, shown).map_or(Cell::Nothing, |spread| shown.unit.cell(spread))
    };
    Table {
        id: way.name.replace(' ', "-"),
        title: way.name.to_owned(),
        aside: String::new(),
        labels: vec![("workload", experiment.workload.to_owned())],
        is_detail: false,
        columns: columns(experiment.columns, |shown| shown.title.to_owned()),
        rows: rows(experiment.columns, found, cell),
    }
}

fn against(experiment: &ByAllocator, found: &Found, variants: (usize, usize)) -> Table {
    let cell = |who, shown: &Shown| found.factor(variants, who, shown).map_or(Cell::Nothing, Cell::Ratio);
    let (base, other) = (found.variants[variants.0], found.variants[variants.1]);
    Table {
        id: "factors".to_owned(),
        title: format!("{other}, times {base}"),
        aside: "in the same round".to_owned(),
        labels: Vec::new(),
        is_detail: false,
        columns: columns(experiment.columns, |shown| shown.title.to_owned()),
        rows: rows(experiment.columns, found, cell),
    }
}

fn columns(shown: &[Shown], title: impl Fn(&Shown) -> String) -> Vec<Column> {
    let others = shown
        .iter()
        .map(|shown| Column { is_detail: shown.is_detail, ..Column::new(shown.id, title(shown)) });
    std::iter::once(Column::new("allocator", "allocator")).chain(others).collect()
}

fn rows(shown: &[Shown], found: &Found, cell: impl Fn(usize, &Shown) -> Cell) -> Vec<Vec<Cell>> {
    let row = |(who, label): (usize, &String)| {
        std::iter::once(Cell::text(label.as_str()))
            .chain(shown.iter().map(|shown| cell(who, shown)))
            .collect()
    };
    found.allocators.iter().enumerate().map(row).collect()
}

/// What the article says, beside what was measured.
fn article(judged: &[(&Claim, Judgement)]) -> Table {
    let columns =
        [("claim", "what is said"), ("article", "its figures"), ("here", "here"), ("verdict", "verdict")];
    let row = |(claim, judgement): &(&Claim, Judgement)| {
        vec![
            Cell::text(claim.what),
            Cell::text(if claim.article.is_empty() { "–" } else { claim.article }),
            Cell::text(judgement.figures.as_str()),
            Cell::text(judgement.verdict.words(claim)),
        ]
    };
    Table {
        id: "article".to_owned(),
        title: "Beside the article".to_owned(),
        aside: String::new(),
        labels: Vec::new(),
        is_detail: false,
        columns: columns.into_iter().map(|(id, title)| Column::new(id, title)).collect(),
        rows: judged.iter().map(row).collect(),
    }
}

impl Unit {
    fn cell(self, spread: Spread) -> Cell {
        match self {
            Self::Bytes => Cell::Bytes(spread),
            Self::Time => Cell::Time(spread),
            Self::PerSecond => Cell::PerSecond(spread),
            Self::Share => Cell::Share(spread),
            Self::Ratio => Cell::Ratio(spread),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::measure::tests::{EXPERIMENT, made_up};
    use super::*;

    #[test]
    fn there_is_a_table_for_each_variant_and_one_of_factors() {
        let found = made_up(|variant, _, _| 100 * (1 + variant as u64));
        let tables = all(&EXPERIMENT, &found, &[]);
        let ids: Vec<&str> = tables.iter().map(|table| table.id.as_str()).collect();
        assert_eq!(ids, ["same-thread", "another", "factors"]);
        let spread = |x| Spread { median: x, low: x, high: x };
        assert_eq!(tables[1].rows[1], [Cell::text("jemalloc"), Cell::Bytes(spread(200.0))]);
        assert_eq!(tables[2].title, "another, times same thread");
        assert_eq!(tables[2].rows[0], [Cell::text("default"), Cell::Ratio(spread(2.0))]);
    }
}
