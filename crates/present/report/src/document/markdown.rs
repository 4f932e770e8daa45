//! A document for a comment on a pull request.

use super::sentence::sentence;
use super::{Cell, Document, Table};
use crate::markdown::escape::{Spot, prose};
use crate::markdown::head::warn;
use crate::markdown::table::{Table as Rows, folded};

/// Renders it.
pub(crate) fn markdown(document: &Document) -> String {
    let line = |text: &str| prose(text, Spot::Line);
    let mut out = format!("### {}\n\n{}\n\n", line(&document.title), line(&document.lead));
    for setup in &document.setup {
        out.push_str(&format!("- {}\n", line(setup)));
    }
    warn(&mut out, document.caveats.iter().cloned());
    for table in &document.tables {
        let (title, shown) = (line(&sentence(&table.title)), rows(table, &table.rows));
        if table.is_detail {
            out.push_str(&folded(&title, &shown));
        } else {
            out.push_str(&format!("\n#### {title}\n\n"));
            if !table.aside.is_empty() {
                out.push_str(&format!("{}\n\n", line(&table.aside)));
            }
            out.push_str(&shown);
        }
        if !table.more.is_empty() {
            out.push_str(&folded(&format!("{} more", table.more.len()), &rows(table, &table.more)));
        }
    }
    out.push_str("\n#### What it means\n\n");
    for sentence in &document.conclusion {
        out.push_str(&format!("- {}\n", line(sentence)));
    }
    for snippet in &document.snippets {
        out.push_str(&format!("\n{}:\n\n", line(&sentence(&snippet.title))));
        let Some(language) = snippet.language else {
            out.extend(snippet.lines.iter().map(|sentence| format!("- {}\n", line(sentence))));
            continue;
        };
        out.push_str(&format!("```{language}\n"));
        for code in &snippet.lines {
            // Nothing of a snippet may end it.
            out.push_str(&crate::escape::terminal::escape(code).replace("```", "` ` `"));
            out.push('\n');
        }
        out.push_str("```\n");
    }
    out
}

fn rows(table: &Table, shown_rows: &[Vec<Cell>]) -> String {
    let title = |(at, title): (usize, &str)| {
        format!("{}{}", prose(title, Spot::Cell), if table.has_numbers(at) { ":" } else { "" })
    };
    let titles: Vec<String> = table.columns.iter().map(|c| c.title.as_str()).enumerate().map(title).collect();
    let mut rows = Rows::new(&titles.iter().map(String::as_str).collect::<Vec<_>>());
    for row in shown_rows {
        rows.row(&row.iter().map(shown).collect::<Vec<_>>());
    }
    rows.finish()
}

fn shown(cell: &Cell) -> String {
    if cell.is_foreign { prose(&cell.whole, Spot::Cell) } else { cell.whole.clone() }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::super::Column;
    use super::*;
    use crate::style::Style;

    #[test]
    fn further_rows_are_folded_and_a_terminal_says_where_they_are() {
        let table = Table {
            title: "ON REPLAYS".into(),
            columns: vec![Column::new("candidate"), Column::new("goal")],
            rows: vec![vec![Cell::text("first"), Cell::number("1")]],
            more: vec![vec![Cell::text("second"), Cell::number("2")]],
            ..Table::default()
        };
        let document = Document { tables: vec![table], ..Document::default() };
        let page = markdown(&document);
        let (seen, folded) = page.split_once("<summary>1 more</summary>").expect("something folded");
        assert!(seen.contains("#### On replays") && seen.contains("| first | 1 |"), "{page}");
        assert!(!seen.contains("second") && folded.contains("| second | 2 |"), "{page}");
        let text = super::super::text(&document, Style { color: false, width: 80 });
        assert!(text.contains("ON REPLAYS  1 more in JSON") && !text.contains("second"), "{text}");
    }
}
