//! A document for people at a terminal.

use super::{Document, Table};
use crate::escape::terminal::escape;
use crate::style::Style;
use crate::text::page::{Ink, Page, left, right};

/// Between two columns.
const GAP: &str = "  ";

/// Renders it.
pub(crate) fn text(document: &Document, style: Style) -> String {
    let mut page = Page::new(style);
    page.line(&[(Some(Ink::Heading), &escape(&document.title))]);
    page.paragraph(None, "", &escape(&document.lead));
    page.empty();
    for line in &document.setup {
        page.paragraph(Some(Ink::Faint), "", &escape(line));
    }
    for table in document.tables.iter().filter(|table| !table.is_detail) {
        write_table(&mut page, table);
    }
    if !document.caveats.is_empty() {
        page.heading("MIND", "");
        for caveat in &document.caveats {
            page.paragraph(Some(Ink::Caveat), "  ! ", &escape(caveat));
        }
    }
    page.heading("WHAT IT MEANS", "");
    for sentence in &document.conclusion {
        page.paragraph(None, "  → ", &escape(sentence));
    }
    for snippet in &document.snippets {
        page.heading(&escape(&snippet.title), "");
        for line in &snippet.lines {
            match snippet.language {
                // As it is to be pasted: not broken, and not cut.
                Some(_) => page.verbatim("    ", &escape(line)),
                None => page.paragraph(None, "    ", &escape(line)),
            }
        }
    }
    page.finish()
}

fn write_table(page: &mut Page, table: &Table) {
    let aside = match table.more.len() {
        0 => table.aside.clone(),
        n => format!("{}{}{n} more in JSON", table.aside, if table.aside.is_empty() { "" } else { "; " }),
    };
    page.heading(&escape(&table.title), &escape(&aside));
    let shown: Vec<usize> = (0..table.columns.len()).filter(|at| !table.columns[*at].is_detail).collect();
    let cells: Vec<Vec<String>> = table
        .rows
        .iter()
        .map(|row| shown.iter().map(|at| escape(&row[*at].short).into_owned()).collect())
        .collect();
    let titles: Vec<&str> = shown.iter().map(|at| table.columns[*at].title.as_str()).collect();
    let is_right: Vec<bool> =
        shown.iter().map(|at| table.rows.iter().any(|row| row[*at].is_number)).collect();
    let widths = widths(&titles, &cells, &is_right, page.columns);
    let aligned = |at: usize, text: &str| match is_right[at] {
        true => right(text, widths[at]),
        false => left(text, widths[at]),
    };
    let head: Vec<String> = titles.iter().enumerate().map(|(at, title)| aligned(at, title)).collect();
    page.line(&[(None, GAP), (Some(Ink::Faint), head.join(GAP).trim_end())]);
    for row in &cells {
        let row: Vec<String> = row.iter().enumerate().map(|(at, text)| aligned(at, text)).collect();
        let Some((first, rest)) = row.split_first() else { continue };
        let rest = format!("{GAP}{}", rest.join(GAP));
        page.line(&[(None, GAP), (Some(Ink::Name), first), (None, rest.trim_end())]);
    }
}

/// How wide each column is. If that is too much, the widest one of words gives way.
fn widths(titles: &[&str], cells: &[Vec<String>], is_right: &[bool], columns: usize) -> Vec<usize> {
    let wide = |text: &str| text.chars().count();
    let widest = |(at, title): (usize, &&str)| {
        cells.iter().map(|row| wide(&row[at])).max().unwrap_or(0).max(wide(title))
    };
    let mut widths: Vec<usize> = titles.iter().enumerate().map(widest).collect();
    let whole = |widths: &[usize]| widths.iter().map(|width| GAP.len() + width).sum::<usize>();
    while whole(&widths) > columns {
        let words = (0..widths.len()).filter(|at| !is_right[*at] && widths[*at] > 8);
        let Some(at) = words.max_by_key(|at| widths[*at]) else { break };
        widths[at] -= 1;
    }
    widths
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_of_words_gives_way_and_one_of_numbers_does_not() {
        let cells = [vec!["name".to_owned(), "1,000,000".to_owned(), "x".repeat(90)]];
        assert_eq!(widths(&["a", "b", "c"], &cells, &[false, true, false], 80), [4, 9, 61]);
    }
}
