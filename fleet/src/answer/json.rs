//! An answer for programs.

use super::Grid;
use crate::engine::Left;
use serde_json::{Map, Value, json};

/// The document `heapwise.answer/1`: columns, rows with a member for each column, and the files that were left out.
pub(crate) fn json(question: &str, grid: &Grid, left: &[Left]) -> Value {
    let columns: Vec<&str> = grid.columns.iter().map(|column| column.name.as_str()).collect();
    let row = |row: &Vec<Value>| {
        let members = columns.iter().map(|&name| name.to_owned()).zip(row.iter().cloned());
        Value::Object(members.collect::<Map<_, _>>())
    };
    let rows: Vec<Value> = grid.rows.iter().map(row).collect();
    let left: Vec<Value> =
        left.iter().map(|left| json!({ "path": left.path, "why": left.why.to_string() })).collect();
    json!({ "schema": "heapwise.answer/1", "question": question, "columns": columns, "rows": rows, "left_out": left })
}
