//! Rows of values that are no longer the engine's.

use anyhow::{Context, Result};
use datafusion::arrow::array::{Array, AsArray, RecordBatch};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Float64Type, Int64Type, Schema, UInt64Type};
use serde_json::{Number, Value};

/// The rows of an answer.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Grid {
    pub(crate) columns: Vec<Column>,
    /// One value for each column.
    pub(crate) rows: Vec<Vec<Value>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Column {
    pub(crate) name: String,
    pub(crate) is_number: bool,
}

impl Grid {
    /// # Errors
    /// If a column has values that cannot be shown.
    pub(crate) fn new(schema: &Schema, batches: &[RecordBatch]) -> Result<Self> {
        let column = |field: &std::sync::Arc<datafusion::arrow::datatypes::Field>| Column {
            name: field.name().clone(),
            is_number: field.data_type().is_numeric(),
        };
        let mut rows = Vec::new();
        for batch in batches {
            let columns: Result<Vec<_>> =
                batch.columns().iter().map(|column| values(column.as_ref())).collect();
            let mut columns: Vec<_> = columns?.into_iter().map(Vec::into_iter).collect();
            rows.extend(
                (0..batch.num_rows()).map(|_| columns.iter_mut().filter_map(Iterator::next).collect()),
            );
        }
        let mut columns: Vec<Column> = Vec::new();
        for mut column in schema.fields().iter().map(column) {
            let name = column.name.clone();
            // Two tables may have a column of the same name.
            for n in 2.. {
                if columns.iter().all(|before| before.name != column.name) {
                    break;
                }
                column.name = format!("{name}_{n}");
            }
            columns.push(column);
        }
        Ok(Self { columns, rows })
    }
}

/// The values of a column in JSON. What has no form there is text.
fn values(column: &dyn Array) -> Result<Vec<Value>> {
    let as_type = |kind: &DataType| {
        cast(column, kind)
            .with_context(|| format!("values of the type {} cannot be shown", column.data_type()))
    };
    Ok(match column.data_type() {
        DataType::Null => vec![Value::Null; column.len()],
        DataType::Boolean => column.as_boolean().iter().map(Value::from).collect(),
        kind if kind.is_unsigned_integer() => {
            as_type(&DataType::UInt64)?.as_primitive::<UInt64Type>().iter().map(Value::from).collect()
        }
        kind if kind.is_signed_integer() => {
            as_type(&DataType::Int64)?.as_primitive::<Int64Type>().iter().map(Value::from).collect()
        }
        kind if kind.is_numeric() => as_type(&DataType::Float64)?
            .as_primitive::<Float64Type>()
            .iter()
            .map(|number| number.and_then(Number::from_f64).map_or(Value::Null, Value::Number))
            .collect(),
        DataType::List(_) => {
            let lists = column.as_list::<i32>();
            let list = |list: Option<_>| {
                list.map_or(Ok(Value::Null), |list: datafusion::arrow::array::ArrayRef| {
                    values(&list).map(Value::Array)
                })
            };
            lists.iter().map(list).collect::<Result<_>>()?
        }
        _ => as_type(&DataType::Utf8)?.as_string::<i32>().iter().map(Value::from).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::arrow::array::{
        Float64Array, Int64Array, ListArray, StringViewArray, TimestampMicrosecondArray,
    };
    use datafusion::arrow::datatypes::{Field, Int32Type};
    use serde_json::json;
    use std::sync::Arc;

    #[test]
    fn each_column_has_a_name_for_itself() {
        let field = |name: &str| Field::new(name, DataType::Int64, true);
        let schema = Schema::new(vec![field("a"), field("b"), field("a"), field("a_2")]);
        let grid = Grid::new(&schema, &[]).expect("a grid");
        let names: Vec<&str> = grid.columns.iter().map(|column| column.name.as_str()).collect();
        assert_eq!(names, ["a", "b", "a_2", "a_2_2"]);
    }

    #[test]
    fn values_keep_their_meaning() {
        let columns: Vec<(&str, Arc<dyn Array>)> = vec![
            ("n", Arc::new(Int64Array::from(vec![Some(i64::MAX), None]))),
            ("x", Arc::new(Float64Array::from(vec![1.5, f64::NAN]))),
            ("s", Arc::new(StringViewArray::from(vec!["a\u{1b}[31m", ""]))),
            ("t", Arc::new(TimestampMicrosecondArray::from(vec![0, 1]).with_timezone("UTC"))),
            (
                "l",
                Arc::new(ListArray::from_iter_primitive::<Int32Type, _, _>(vec![
                    Some(vec![Some(1), None]),
                    None,
                ])),
            ),
        ];
        let fields: Vec<Field> =
            columns.iter().map(|(name, array)| Field::new(*name, array.data_type().clone(), true)).collect();
        let schema = Arc::new(Schema::new(fields));
        let arrays = columns.into_iter().map(|(_, array)| array).collect();
        let batch = RecordBatch::try_new(Arc::clone(&schema), arrays).expect("a batch");
        let grid = Grid::new(&schema, &[batch.clone(), batch]).expect("a grid");
        let first = json!([i64::MAX, 1.5, "a\u{1b}[31m", "1970-01-01T00:00:00Z", [1, null]]);
        let second = json!([null, null, "", "1970-01-01T00:00:00.000001Z", null]);
        let rows: Vec<Value> = grid.rows.into_iter().map(Value::Array).collect();
        assert_eq!(rows, [first.clone(), second.clone(), first, second]);
        let numbers: Vec<bool> = grid.columns.iter().map(|column| column.is_number).collect();
        assert_eq!(numbers, [true, true, false, false, false]);
    }
}
