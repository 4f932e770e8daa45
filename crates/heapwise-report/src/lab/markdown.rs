//! An outcome for a comment or a document.

use super::words::{is_number, whole};
use crate::markdown::escape::{Spot, prose};
use crate::markdown::head::warn;
use crate::markdown::table::{Table as Rows, folded};
use heapwise_lab::{Cell, Outcome, Table};

pub(super) fn markdown(outcome: &Outcome) -> String {
    let mut out =
        format!("### heapwise lab {}\n\n{}\n\n", outcome.experiment, prose(outcome.shows, Spot::Line));
    for line in &outcome.setup {
        out.push_str(&format!("- {}\n", prose(line, Spot::Line)));
    }
    warn(&mut out, outcome.caveats.iter().cloned());
    for table in &outcome.tables {
        let rows = rows(table);
        if table.is_detail {
            out.push_str(&folded(&prose(&table.title, Spot::Line), &rows));
        } else {
            out.push_str(&format!("\n#### {}\n\n", prose(&table.title, Spot::Line)));
            if !table.aside.is_empty() {
                out.push_str(&format!("{}\n\n", prose(&table.aside, Spot::Line)));
            }
            out.push_str(&rows);
        }
    }
    out.push_str("\n#### What it means\n\n");
    for sentence in &outcome.conclusion {
        out.push_str(&format!("- {}\n", prose(sentence, Spot::Line)));
    }
    out
}

fn rows(table: &Table) -> String {
    let title = |(at, title): (usize, &str)| {
        let is_right = table.rows.iter().any(|row| is_number(&row[at]));
        format!("{}{}", prose(title, Spot::Cell), if is_right { ":" } else { "" })
    };
    let titles: Vec<String> = table.columns.iter().map(|c| c.title.as_str()).enumerate().map(title).collect();
    let mut rows = Rows::new(&titles.iter().map(String::as_str).collect::<Vec<_>>());
    for row in &table.rows {
        rows.row(&row.iter().map(shown).collect::<Vec<_>>());
    }
    rows.finish()
}

/// Numbers are heapwise's own and have no markup in them.
fn shown(cell: &Cell) -> String {
    match cell {
        Cell::Text(text) => prose(text, Spot::Cell),
        other => whole(other),
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::outcome;
    use super::*;

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
