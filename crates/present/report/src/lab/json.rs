//! The schema `heapwise.lab/1`: field names are a contract, see the README.
//!
//! A row of a table is an object with the ids of the columns as names, so that a reader needs no positions.

use heapwise_trial::lab::{Cell, Growth, Outcome, Spread, Table};
use serde_json::{Map, Value, json as value};

/// The value of the field `schema`.
pub const SCHEMA: &str = "heapwise.lab/1";

pub(super) fn json(outcome: &Outcome) -> String {
    let tables: Vec<Value> = outcome.tables.iter().map(table).collect();
    let all = value!({
        "schema": SCHEMA,
        "experiment": outcome.experiment,
        "shows": outcome.shows,
        "setup": outcome.setup,
        "tables": tables,
        "caveats": outcome.caveats,
        "conclusion": outcome.conclusion,
    });
    crate::escape::terminal::json(&format!("{all:#}\n")).into_owned()
}

fn table(table: &Table) -> Value {
    let row = |cells: &Vec<Cell>| -> Value {
        let named = table.columns.iter().zip(cells);
        Value::Object(named.map(|(column, c)| (column.id.clone(), cell(c))).collect())
    };
    let mut object = Map::new();
    object.insert("id".to_owned(), value!(table.id));
    object.insert("title".to_owned(), value!(table.title));
    object.extend(table.labels.iter().map(|(name, label)| ((*name).to_owned(), value!(label))));
    let columns: Vec<Value> = table.columns.iter().map(|c| value!({"id": c.id, "title": c.title})).collect();
    object.insert("columns".to_owned(), Value::Array(columns));
    object.insert("rows".to_owned(), Value::Array(table.rows.iter().map(row).collect()));
    Value::Object(object)
}

fn cell(cell: &Cell) -> Value {
    match cell {
        Cell::Nothing => Value::Null,
        Cell::Text(text) => value!(text),
        Cell::Count(n) => value!(n),
        // Whole nanoseconds: what is behind the point is nobody's.
        Cell::Time(Spread { median, low, high }) => {
            value!({"median": median.round() as u64, "low": low.round() as u64, "high": high.round() as u64})
        }
        Cell::Ratio(Spread { median, low, high }) => value!({"median": median, "low": low, "high": high}),
        // A number that is not finite is null in JSON.
        Cell::Growth(growth @ Growth { exponent, plus_minus, points }) => {
            value!({"exponent": exponent, "plus_minus": plus_minus, "points": points, "words": growth.words()})
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::outcome;
    use super::*;

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
