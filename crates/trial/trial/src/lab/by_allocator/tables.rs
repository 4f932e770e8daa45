//! The tables: one for each variant or for each allocator, those that compare, and one of what the article says.

use super::claim::{Claim, Judgement};
use super::found::Found;
use super::{ByAllocator, Rows, Shown, Unit, steps};
use crate::lab::outcome::{Cell, Column, Table};
use crate::statistics::Spread;

pub(super) fn all(experiment: &ByAllocator, found: &Found, judged: &[(&Claim, Judgement)]) -> Vec<Table> {
    let mut tables: Vec<Table> = match experiment.rows {
        Rows::Allocators => {
            (0..found.variants.len()).map(|variant| of_variant(experiment, found, variant)).collect()
        }
        Rows::Variants => {
            (0..found.allocators.len()).map(|who| of_allocator(experiment, found, who)).collect()
        }
    };
    tables.extend(experiment.against.iter().map(|variants| against(experiment, found, *variants)));
    tables.extend(steps::tables(found));
    tables.extend((!judged.is_empty()).then(|| article(judged)));
    tables
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
        labels: vec![("workload", way.workload.to_owned())],
        is_detail: false,
        columns: columns(experiment.columns),
        rows: rows(experiment.columns, found, cell),
    }
}

/// The variants below each other, and what the first number of each is in proportion to that of the first one in the same round.
fn of_allocator(experiment: &ByAllocator, found: &Found, who: usize) -> Table {
    let shown = experiment.columns;
    let first = found.variants.first().copied().unwrap_or_default();
    let mut columns = columns(shown);
    columns[0] = Column::new("variant", "variant");
    columns.insert(2, Column::new("ratio", format!("times {first}")));
    let row = |(variant, name): (usize, &&str)| {
        let number = |shown: &Shown| {
            found.spread(variant, who, shown).map_or(Cell::Nothing, |spread| shown.unit.cell(spread))
        };
        let mut cells: Vec<Cell> =
            std::iter::once(Cell::text(*name)).chain(shown.iter().map(number)).collect();
        let ratio = (variant > 0).then(|| found.factor((0, variant), who, &shown[0])).flatten();
        cells.insert(2, ratio.map_or(Cell::Nothing, Cell::Ratio));
        cells
    };
    let label = found.allocators[who].as_str();
    Table {
        id: label.to_owned(),
        title: label.to_owned(),
        aside: String::new(),
        labels: Vec::new(),
        is_detail: false,
        columns,
        rows: found.variants.iter().enumerate().map(row).collect(),
    }
}

fn against(experiment: &ByAllocator, found: &Found, variants: (usize, usize)) -> Table {
    let cell = |who, shown: &Shown| found.factor(variants, who, shown).map_or(Cell::Nothing, Cell::Ratio);
    let (base, other) = (found.variants[variants.0], found.variants[variants.1]);
    Table {
        id: format!("factors-{}", other.replace(' ', "-")),
        title: format!("{other}, times {base}"),
        aside: "in the same round".to_owned(),
        labels: Vec::new(),
        is_detail: false,
        columns: columns(experiment.columns),
        rows: rows(experiment.columns, found, cell),
    }
}

fn columns(shown: &[Shown]) -> Vec<Column> {
    let others =
        shown.iter().map(|shown| Column { is_detail: shown.is_detail, ..Column::new(shown.id, shown.title) });
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
            Self::Count => Cell::Count(spread.median as u64),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::found::tests::{EXPERIMENT, made_up};
    use super::*;

    #[test]
    fn there_is_a_table_for_each_variant_and_one_of_factors() {
        let found = made_up(|variant, _, _| 100 * (1 + variant as u64));
        let tables = all(&EXPERIMENT, &found, &[]);
        let ids: Vec<&str> = tables.iter().map(|table| table.id.as_str()).collect();
        assert_eq!(ids, ["same-thread", "another", "factors-another"]);
        let spread = |x| Spread { median: x, low: x, high: x };
        assert_eq!(tables[1].rows[1], [Cell::text("jemalloc"), Cell::Bytes(spread(200.0))]);
        assert_eq!(tables[2].title, "another, times same thread");
        assert_eq!(tables[2].rows[0], [Cell::text("default"), Cell::Ratio(spread(2.0))]);
    }

    #[test]
    fn variants_stand_below_each_other_and_are_compared_with_the_first() {
        let found = made_up(|variant, who, _| 100 * (1 + variant as u64) * (1 + who as u64));
        let experiment = ByAllocator { rows: Rows::Variants, against: &[], ..EXPERIMENT };
        let tables = all(&experiment, &found, &[]);
        let ids: Vec<&str> = tables.iter().map(|table| table.id.as_str()).collect();
        assert_eq!(ids, ["default", "jemalloc"]);
        let titles: Vec<&str> = tables[0].columns.iter().map(|column| column.title.as_str()).collect();
        assert_eq!(titles, ["variant", "peak", "times same thread"]);
        let row = [Cell::text("another"), Cell::Bytes(Spread::one(400.0)), Cell::Ratio(Spread::one(2.0))];
        assert_eq!(tables[1].rows[1], row);
        assert_eq!(tables[1].rows[0][2], Cell::Nothing);
    }
}
