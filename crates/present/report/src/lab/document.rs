//! An outcome as a document.

use super::wording::{is_number, short, whole};
use crate::document::{Cell, Column, Document, Table};
use heapwise_trial::lab::Outcome;

pub(super) fn document(outcome: &Outcome) -> Document {
    Document {
        title: format!("heapwise lab {}", outcome.experiment),
        lead: outcome.shows.to_owned(),
        setup: outcome.setup.clone(),
        tables: outcome.tables.iter().map(table).collect(),
        caveats: outcome.caveats.clone(),
        conclusion: outcome.conclusion.clone(),
        ..Document::default()
    }
}

fn table(table: &heapwise_trial::lab::Table) -> Table {
    let columns =
        table.columns.iter().map(|c| Column { title: c.title.clone(), is_detail: c.is_detail }).collect();
    let cell = |cell: &heapwise_trial::lab::Cell| {
        // Ratios and growths are read as words: a median alone would be half of them.
        let is_foreign = matches!(cell, heapwise_trial::lab::Cell::Text(_));
        Cell { short: short(cell), whole: whole(cell), is_number: is_number(cell), is_foreign }
    };
    Table {
        title: table.title.clone(),
        aside: table.aside.clone(),
        is_detail: table.is_detail,
        columns,
        rows: table.rows.iter().map(|row| row.iter().map(cell).collect()).collect(),
        ..Table::default()
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::outcome;
    use super::super::{markdown, text};
    use crate::style::Style;

    #[test]
    fn it_fits_eighty_columns_and_has_no_colours_that_nobody_wants() {
        let text = text(&outcome(), Style { color: false, width: 80 });
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        assert!(!text.contains('\x1b'));
        assert!(
            text.contains("  tcmalloc-debug  1,000,000  20.1 s  106 (98.2..112)    1.04 ± 0.03  O(n)\n"),
            "{text}"
        );
        assert!(text.contains("  → It is slow.\n") && text.contains("  ! hostile \\u{1b}[31m\n"), "{text}");
        assert!(!text.contains("Every size"), "details are not for a terminal: {text}");
    }

    #[test]
    fn colours_are_there_for_who_wants_them() {
        let text = text(&outcome(), Style { color: true, width: 80 });
        assert!(text.contains("\x1b[1mhash-map: drop\x1b[0m"), "{text}");
    }

    #[test]
    fn tables_are_tables_and_details_are_folded() {
        let text = markdown(&outcome());
        assert!(
            text.contains("| condition | entries | time | times plain | growth |\n|---|---:|---:|---|---|\n"),
            "{text}"
        );
        assert!(
            text.contains("| tcmalloc-debug | 1,000,000 | 20.1 s (19.0 s..21.0 s) | 106 (98.2..112) |"),
            "{text}"
        );
        assert!(text.contains("<summary>Every size</summary>"), "{text}");
        assert!(text.contains("| 1.95 ± 0.10  O(n^2) |"), "{text}");
    }
}
