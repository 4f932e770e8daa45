//! An answer as a table for people.

use super::{Column, Grid};
use heapwise_report::escape::terminal;
use heapwise_report::{names, units};
use serde_json::Value;
use std::fmt::Write;

/// Characters of an id that are shown: enough to find it again in one answer.
const ID_WIDTH: usize = 12;
/// No column is made narrower than this.
const LEAST_WIDTH: usize = 16;

/// Columns side by side, numbers to the right. Bytes and times have units if `has_units`. A column that makes the table wider than
/// `width` is cut, the widest one first; without a width nothing is.
pub(crate) fn text(grid: &Grid, has_units: bool, width: Option<usize>) -> String {
    let cell = |column: &Column, value: &Value| shown(column, value, has_units);
    let rows: Vec<Vec<String>> = grid
        .rows
        .iter()
        .map(|row| grid.columns.iter().zip(row).map(|(column, value)| cell(column, value)).collect())
        .collect();
    let heads: Vec<String> = grid.columns.iter().map(|column| harmless(&column.name)).collect();
    let mut widths: Vec<usize> = heads.iter().map(|head| names::width_of(head)).collect();
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(names::width_of(cell));
        }
    }
    if let Some(most) = width {
        shrink(&mut widths, most);
    }
    let mut text = String::new();
    line(&mut text, grid, &widths, &heads);
    rows.iter().for_each(|row| line(&mut text, grid, &widths, row));
    text
}

fn line(text: &mut String, grid: &Grid, widths: &[usize], cells: &[String]) {
    let mut line = String::new();
    for ((column, &width), cell) in grid.columns.iter().zip(widths).zip(cells) {
        let cell = names::fit(cell, width);
        let space = " ".repeat(width.saturating_sub(names::width_of(&cell)));
        let (before, behind) = if column.is_number { (space.as_str(), "") } else { ("", space.as_str()) };
        // Writing into a string cannot fail.
        let _ = write!(line, "{before}{cell}{behind}  ");
    }
    text.push_str(line.trim_end());
    text.push('\n');
}

/// Takes from the widest columns until all fit.
fn shrink(widths: &mut [usize], most: usize) {
    let gaps = 2 * widths.len().saturating_sub(1);
    while widths.iter().sum::<usize>() + gaps > most {
        match widths.iter_mut().max() {
            Some(widest) if *widest > LEAST_WIDTH => *widest -= 1,
            _ => return,
        }
    }
}

/// A value as people read it, in one line.
pub(crate) fn shown(column: &Column, value: &Value, has_units: bool) -> String {
    match value {
        Value::Null => "–".to_owned(),
        Value::String(text) if has_units && column.name.ends_with("_id") => {
            text.chars().take(ID_WIDTH).collect()
        }
        Value::String(text) => harmless(text),
        Value::Number(number) if has_units => match number.as_f64() {
            Some(number) => with_unit(&column.name, number),
            None => number.to_string(),
        },
        other => harmless(&other.to_string()),
    }
}

/// Numbers whose unit their column names.
fn with_unit(column: &str, number: f64) -> String {
    let sign = if number < 0.0 { "-" } else { "" };
    let whole = number.abs().round() as u64;
    if is_bytes(column) {
        format!("{sign}{}", units::bytes(whole))
    } else if column.ends_with("_ns") {
        format!("{sign}{}", units::time(whole))
    } else if column.ends_with("_change") {
        format!("{:+.1} %", number * 100.0)
    } else if number.fract() == 0.0 {
        format!("{sign}{}", units::count(whole))
    } else {
        format!("{number:.2}")
    }
}

/// Whether a column has bytes: its name says so, or it is a part of resident memory.
pub(super) fn is_bytes(column: &str) -> bool {
    const PARTS: [&str; 7] = [
        "rss",
        "live",
        "internal_fragmentation",
        "external_fragmentation",
        "free_pages",
        "metadata",
        "allocators_own",
    ];
    column.ends_with("_bytes") || column.ends_with("_bytes_error") || PARTS.contains(&column)
}

/// One line, without what would move a cursor.
fn harmless(text: &str) -> String {
    terminal::page(text, false).replace(['\n', '\t'], " ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn grid() -> Grid {
        let column = |name: &str, is_number| Column { name: name.to_owned(), is_number };
        Grid {
            columns: vec![column("place", false), column("stack_id", false), column("growth_bytes", true)],
            rows: vec![
                vec![
                    json!("a::b\u{1b}[31m\n日本"),
                    json!("0123456789abcdef0123456789abcdef"),
                    json!(2_097_152),
                ],
                vec![Value::Null, Value::Null, json!(-1.0)],
            ],
        }
    }

    #[test]
    fn names_cannot_move_the_cursor_and_numbers_stand_below_each_other() {
        let text = text(&grid(), true, None);
        assert!(!text.contains('\u{1b}') && text.lines().count() == 3, "{text}");
        let ends: Vec<usize> = text.lines().map(names::width_of).collect();
        assert!(ends.windows(2).all(|pair| pair[0] == pair[1]), "{text}");
        assert!(
            text.contains("0123456789ab  ") && text.contains("2.00 MiB") && text.contains("-1 B"),
            "{text}"
        );
    }

    #[test]
    fn without_units_values_are_as_they_are() {
        let text = text(&grid(), false, None);
        assert!(text.contains("0123456789abcdef0123456789abcdef") && text.contains("2097152"), "{text}");
    }

    #[test]
    fn the_widest_column_gives_way() {
        let mut grid = grid();
        grid.rows[0][0] = json!("x".repeat(300));
        let text = text(&grid, true, Some(80));
        assert!(text.lines().all(|line| names::width_of(line) <= 80), "{text}");
        assert!(text.contains("2.00 MiB"), "{text}");
    }
}
