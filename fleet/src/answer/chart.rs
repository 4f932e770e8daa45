//! Which columns of an answer a picture has.

use super::{Column, Grid};

/// The comment in a question that names them: `-- Chart: LABEL, …: NUMBER, …`.
const MARK: &str = "-- Chart:";

/// Columns whose texts are the label of a bar, and columns whose numbers are its parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Chart {
    pub(super) labels: Vec<usize>,
    pub(super) numbers: Vec<usize>,
}

impl Chart {
    /// The columns that the question names, or else the first text and the first number. None if there are no such columns.
    pub(super) fn of(sql: &str, grid: &Grid) -> Option<Self> {
        let find = |name: &str| grid.columns.iter().position(|column| column.name == name);
        let named =
            |names: &str| names.split(',').map(|name| find(name.trim())).collect::<Option<Vec<usize>>>();
        let chart = match sql.lines().find_map(|line| line.strip_prefix(MARK)) {
            Some(columns) => {
                let (labels, numbers) = columns.split_once(':')?;
                Self { labels: named(labels)?, numbers: named(numbers)? }
            }
            None => {
                let first = |wanted: fn(&Column) -> bool| grid.columns.iter().position(wanted);
                let label = first(|column| !column.is_number && !column.name.ends_with("_id"))?;
                Self { labels: vec![label], numbers: vec![first(|column| column.is_number)?] }
            }
        };
        let are_numbers = chart.numbers.iter().all(|&column| grid.columns[column].is_number);
        (are_numbers && !grid.rows.is_empty()).then_some(chart)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn grid() -> Grid {
        let column = |name: &str, is_number| Column { name: name.to_owned(), is_number };
        let columns =
            vec![column("stack_id", false), column("n", true), column("place", false), column("bytes", true)];
        Grid { columns, rows: vec![vec![json!("a"), json!(1), json!("b"), json!(2)]] }
    }

    #[test]
    fn a_question_names_its_columns_or_the_first_ones_are_taken() {
        let of = |sql: &str| Chart::of(sql, &grid());
        let chart = |labels: &[usize], numbers: &[usize]| {
            Some(Chart { labels: labels.to_vec(), numbers: numbers.to_vec() })
        };
        assert_eq!(of("select 1"), chart(&[2], &[1]));
        assert_eq!(of("-- What?\n-- Chart: place, stack_id: bytes, n\nselect 1"), chart(&[2, 0], &[3, 1]));
        assert_eq!(of("-- Chart: place: nothing\nselect 1"), None);
        assert_eq!(of("-- Chart: place: stack_id\nselect 1"), None);
        assert_eq!(Chart::of("select 1", &Grid { rows: Vec::new(), ..grid() }), None);
    }
}
