//! Pictures of a table: resident memory under each allocator.

use crate::chart::Unit;
use crate::document::{Figure, Numbers, Picture};
use heapwise_trial::lab::{Cell, Table};

/// A picture for each column of bytes that is no detail: the least, the median and the greatest of the rounds.
pub(super) fn figures(table: &Table) -> Vec<Figure> {
    let columns = table.columns.iter().enumerate().filter(|(_, column)| !column.is_detail);
    let pictures = columns.filter_map(|(at, column)| {
        let rows = table.rows.iter().enumerate().filter_map(|(row, cells)| numbers(row, cells, at));
        let rows: Vec<_> = rows.collect();
        let caption = format!("{}: {}", table.title, column.title);
        let picture = Picture::Strips { unit: Unit::Bytes, rows };
        table
            .rows
            .iter()
            .any(|cells| matches!(cells.get(at), Some(Cell::Bytes(_))))
            .then_some(Figure { caption, picture })
    });
    pictures.collect()
}

fn numbers(row: usize, cells: &[Cell], at: usize) -> Option<Numbers<f64>> {
    let (Some(Cell::Text(label)), Some(Cell::Bytes(spread))) = (cells.first(), cells.get(at)) else {
        return None;
    };
    Some(Numbers { label: label.clone(), series: row, numbers: vec![spread.low, spread.median, spread.high] })
}

#[cfg(test)]
mod tests {
    use super::super::testing::by_allocator;
    use super::*;

    #[test]
    fn columns_of_bytes_have_a_picture_with_a_row_for_each_allocator() {
        let figures = figures(&by_allocator().tables[0]);
        let [one] = &figures[..] else { panic!("{figures:?}") };
        let Picture::Strips { rows, .. } = &one.picture else { panic!("{one:?}") };
        assert_eq!(one.caption, "threads end: peak");
        let labels: Vec<&str> = rows.iter().map(|row| row.label.as_str()).collect();
        assert_eq!(labels, ["default", "jemalloc"]);
        assert_eq!(rows[1].numbers, [1e6, 2e6, 3e6]);
    }
}
