//! A document for a comment on a pull request.

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
        let rows = rows(table);
        if table.is_detail {
            out.push_str(&folded(&line(&table.title), &rows));
        } else {
            out.push_str(&format!("\n#### {}\n\n", line(&table.title)));
            if !table.aside.is_empty() {
                out.push_str(&format!("{}\n\n", line(&table.aside)));
            }
            out.push_str(&rows);
        }
    }
    out.push_str("\n#### What it means\n\n");
    for sentence in &document.conclusion {
        out.push_str(&format!("- {}\n", line(sentence)));
    }
    for snippet in &document.snippets {
        out.push_str(&format!("\n{}:\n\n", line(&snippet.title)));
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

fn rows(table: &Table) -> String {
    let title = |(at, title): (usize, &str)| {
        let is_right = table.rows.iter().any(|row| row[at].is_number);
        format!("{}{}", prose(title, Spot::Cell), if is_right { ":" } else { "" })
    };
    let titles: Vec<String> = table.columns.iter().map(|c| c.title.as_str()).enumerate().map(title).collect();
    let mut rows = Rows::new(&titles.iter().map(String::as_str).collect::<Vec<_>>());
    for row in &table.rows {
        rows.row(&row.iter().map(shown).collect::<Vec<_>>());
    }
    rows.finish()
}

fn shown(cell: &Cell) -> String {
    if cell.is_foreign { prose(&cell.whole, Spot::Cell) } else { cell.whole.clone() }
}
