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
            out.push_str(&crate::escape::escape(code).replace("```", "` ` `"));
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
