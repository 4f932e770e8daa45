//! Fills `heapwise.lab/1`.
//!
//! A row of a table is an object with the ids of the columns as names, so that a reader needs no positions.

use crate::schema::Spread;
use crate::schema::lab::{self as schema, Cell, Column, Growth, Table};
use heapwise_trial::lab::{self, Outcome};

pub(super) fn json(outcome: &Outcome) -> String {
    crate::schema::pretty(&filled(outcome))
}

pub(super) fn json_of_all(outcomes: &[Outcome]) -> String {
    let outcomes = outcomes.iter().map(filled).collect();
    crate::schema::pretty(&schema::All { outcomes, schema: schema::SCHEMA.to_owned() })
}

fn filled(outcome: &Outcome) -> schema::Outcome {
    schema::Outcome {
        caveats: outcome.caveats.clone(),
        conclusion: outcome.conclusion.clone(),
        experiment: outcome.experiment.to_owned(),
        interrupted: outcome.is_interrupted,
        machine: (&outcome.machine).into(),
        schema: schema::SCHEMA.to_owned(),
        setup: outcome.setup.clone(),
        shows: outcome.shows.to_owned(),
        tables: outcome.tables.iter().map(table).collect(),
    }
}

fn table(table: &lab::Table) -> Table {
    let row = |cells: &Vec<lab::Cell>| {
        let named = table.columns.iter().zip(cells);
        named.map(|(column, c)| (column.id.clone(), cell(c))).collect()
    };
    let label =
        |wanted: &str| table.labels.iter().find(|(name, _)| *name == wanted).map(|(_, label)| label.clone());
    Table {
        columns: table.columns.iter().map(|c| Column { id: c.id.clone(), title: c.title.clone() }).collect(),
        id: table.id.clone(),
        phase: label("phase"),
        rows: table.rows.iter().map(row).collect(),
        title: table.title.clone(),
        workload: label("workload"),
    }
}

fn cell(cell: &lab::Cell) -> Option<Cell> {
    Some(match cell {
        lab::Cell::Nothing => return None,
        lab::Cell::Text(text) => Cell::Text(text.clone()),
        lab::Cell::Count(n) => Cell::Count(i64::try_from(*n).unwrap_or(i64::MAX)),
        lab::Cell::Number(n) => Cell::Count(*n),
        lab::Cell::Time(amount) | lab::Cell::Bytes(amount) | lab::Cell::PerSecond(amount) => {
            Cell::Amount(Spread::signed(*amount))
        }
        lab::Cell::Share(ratio) | lab::Cell::Ratio(ratio) => Cell::Ratio(Spread::exact(*ratio)),
        lab::Cell::Growth(growth) => Cell::Growth(Growth {
            exponent: growth.exponent,
            plus_minus: Some(growth.plus_minus).filter(|n| n.is_finite()),
            points: growth.points,
            words: growth.words().to_owned(),
        }),
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::outcome;
    use super::*;
    use serde_json::{Value, json as value};

    #[test]
    fn rows_are_objects() {
        let all: Value = serde_json::from_str(&json(&outcome())).unwrap();
        assert_eq!(all["schema"], "heapwise.lab/1");
        assert_eq!(all["experiment"], "debug-heap");
        let table = &all["tables"][0];
        assert_eq!((&table["workload"], &table["phase"]), (&value!("hash-map"), &value!("drop")));
        let row = &table["rows"][1];
        assert_eq!(row["condition"], "tcmalloc-debug");
        assert_eq!(row["n"], 1_000_000);
        assert_eq!(row["time_ns"]["median"], 20_100_000_000u64);
        assert_eq!(row["ratio"]["low"], 98.2);
        assert_eq!(row["growth"]["words"], "O(n)");
        assert_eq!(table["rows"][2]["growth"]["plus_minus"], Value::Null);
        assert_eq!(table["rows"][2]["ratio"], Value::Null);
        assert_eq!(all["tables"][1]["id"], "sizes");
        assert_eq!(all["conclusion"][0], "It is slow.");
    }
}
