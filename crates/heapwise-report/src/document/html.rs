//! A document for a browser, with pictures.

use super::{Document, Table};
use crate::html_page::{Markup, element, page, text};

/// A picture.
#[derive(Clone, Debug)]
pub(crate) struct Figure {
    pub(crate) caption: String,
    pub(crate) picture: Markup,
}

/// Renders it, as a whole file.
pub(crate) fn html(document: &Document, figures: &[Figure]) -> String {
    let mut parts = vec![element("h1", &[], [text(&document.title)]), paragraph("", &document.lead)];
    parts.extend(document.setup.iter().map(|line| paragraph("faint", line)));
    parts.push(heading("What it means"));
    parts.extend(document.conclusion.iter().map(|sentence| paragraph("", sentence)));
    for snippet in &document.snippets {
        parts.push(element("h3", &[], [text(&snippet.title)]));
        if snippet.language.is_none() {
            parts.extend(snippet.lines.iter().map(|sentence| paragraph("", sentence)));
            continue;
        }
        let code = element("code", &[], [text(&snippet.lines.join("\n"))]);
        parts.push(element("pre", &[], [code]));
    }
    parts.extend(document.caveats.iter().map(|caveat| paragraph("note", caveat)));
    if !figures.is_empty() {
        let figures = figures.iter().map(|figure| {
            let caption = element("figcaption", &[], [text(&figure.caption)]);
            element("figure", &[], [caption, figure.picture.clone()])
        });
        parts.push(element("div", &[("class", "charts")], figures));
    }
    for table in &document.tables {
        parts.push(heading(&table.title));
        if !table.aside.is_empty() {
            parts.push(paragraph("faint", &table.aside));
        }
        parts.push(rows(table));
    }
    page(&document.title, &parts.into_iter().collect())
}

fn heading(title: &str) -> Markup {
    element("h2", &[], [text(title)])
}

fn paragraph(class: &str, what: &str) -> Markup {
    element("p", &[("class", class)], [text(what)])
}

fn rows(table: &Table) -> Markup {
    let titles = table.columns.iter().map(|column| element("th", &[], [text(&column.title)]));
    let head = element("tr", &[], titles);
    let row = |cells: &Vec<super::Cell>| {
        element("tr", &[], cells.iter().map(|cell| element("td", &[], [text(&cell.whole)])))
    };
    let table = element("table", &[], std::iter::once(head).chain(table.rows.iter().map(row)));
    element("div", &[("class", "scroll")], [table])
}
