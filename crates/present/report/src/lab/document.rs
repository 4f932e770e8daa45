//! An outcome as a document.

use super::wording::{is_number, short, whole};
use crate::document::{Block, Cell, Column, Document, Mark, Section, Shown, Table, Title, Words};
use heapwise_trial::lab::{Cell as Measured, Outcome};

pub(super) fn document(outcome: &Outcome) -> Document {
    let setup = outcome.setup.iter().map(|line| Block::line(Mark::Setup, line.as_str()));
    let sections = [
        Some(Section::untitled([Block::line(Mark::Plain, outcome.shows)])),
        Some(Section::untitled(setup)),
        Some(Section::conclusion(outcome.conclusion.iter().cloned())),
        Section::caveats(outcome.caveats.iter().cloned()),
    ];
    Document {
        title: Words::own(format!("heapwise lab {}", outcome.experiment)),
        sections: sections.into_iter().flatten().chain(outcome.tables.iter().map(section)).collect(),
        ..Document::default()
    }
}

fn section(table: &heapwise_trial::lab::Table) -> Section {
    let columns = table.columns.iter().map(|column| match column.is_detail {
        true => Column::detail(&*column.title),
        false => Column::new(&*column.title),
    });
    let mut shown = Table::new(columns);
    for row in &table.rows {
        shown.row(row.iter().map(cell));
    }
    Section {
        title: Title::Given(table.title.clone()),
        aside: table.aside.clone(),
        is_folded: table.is_detail,
        shown: if table.is_detail { Shown::Pages } else { Shown::Everywhere },
        blocks: vec![Block::Table(shown)],
        ..Section::default()
    }
}

fn cell(cell: &Measured) -> Cell {
    match cell {
        Measured::Text(text) => Cell::text(text.as_str()),
        // Ratios and growths are read as words: the median alone would be incomplete.
        _ if is_number(cell) => Cell::spread(short(cell), whole(cell)),
        _ => Cell::own(whole(cell)),
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::outcome;
    use super::super::{markdown, text};
    use crate::style::Style;

    #[test]
    fn it_fits_eighty_columns_and_has_no_unwanted_colours() {
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
