//! A document for a browser.

use super::sentence::sentence;
use super::{Cell, Document, Figure, Picture, Snippet, Table};
use crate::chart::{Bar, Curve, Dot, Strip, bars, class_of_part, emphasized, lines, scatter, series, strip};
use crate::html_page::{Markup, element, end_of_line, page, text};

/// Renders it as a whole file.
pub(crate) fn html(document: &Document) -> String {
    let mut parts = vec![element("h1", &[], [text(&document.title)]), paragraph("", &document.lead)];
    parts.extend(document.setup.iter().map(|line| paragraph("faint", line)));
    parts.push(heading("What it means"));
    parts.extend(document.conclusion.iter().map(|sentence| paragraph("", sentence)));
    for snippet in &document.snippets {
        parts.extend(lines_of(snippet));
    }
    parts.extend(document.caveats.iter().map(|caveat| paragraph("note", caveat)));
    parts.extend(pictures(&document.figures));
    for shown in document.tables.iter().filter(|table| !table.is_detail) {
        parts.push(heading(&sentence(&shown.title)));
        if !shown.aside.is_empty() {
            parts.push(paragraph("faint", &shown.aside));
        }
        parts.push(table(shown, &shown.rows));
        if !shown.more.is_empty() {
            let summary = element("summary", &[], [text(&format!("{} more", shown.more.len()))]);
            parts.push(element("details", &[], [summary, table(shown, &shown.more)]));
        }
    }
    for folded in document.tables.iter().filter(|table| table.is_detail) {
        let summary = element("summary", &[], [text(&sentence(&folded.title))]);
        parts.push(element("details", &[], [summary, table(folded, &folded.rows)]));
    }
    let name = document.title.strip_prefix("heapwise ").unwrap_or(&document.title);
    page(name, &parts.into_iter().collect())
}

fn heading(title: &str) -> Markup {
    element("h2", &[], [text(title)])
}

fn paragraph(class: &str, what: &str) -> Markup {
    element("p", &[("class", class)], [text(what)])
}

/// What is to be pasted as it is, or sentences.
fn lines_of(snippet: &Snippet) -> Vec<Markup> {
    let mut parts = vec![paragraph("", &format!("{}:", sentence(&snippet.title)))];
    if snippet.language.is_none() {
        parts.extend(snippet.lines.iter().map(|sentence| paragraph("note", sentence)));
        return parts;
    }
    let code = element("code", &[], [text_of_lines(&snippet.lines)]);
    parts.push(element("pre", &[], [code]));
    parts
}

fn text_of_lines(lines: &[String]) -> Markup {
    // Each by itself, since an end of line inside of one is somebody else's.
    lines.iter().flat_map(|line| [text(line), end_of_line()]).collect()
}

/// Some rows of a table.
fn table(table: &Table, rows: &[Vec<Cell>]) -> Markup {
    let has_numbers = |at: usize| table.has_numbers(at);
    let class = |at: usize| if at > 0 && !has_numbers(at) { "words" } else { "" };
    let titles = table.columns.iter().enumerate();
    let head = titles.map(|(at, column)| element("th", &[("class", class(at))], [text(&column.title)]));
    let row = |cells: &Vec<Cell>| {
        let cells = cells.iter().enumerate();
        let cells = cells.map(|(at, cell)| {
            let class = if cell.is_number { "" } else { class(at) };
            element("td", &[("class", class)], [text(&cell.whole)])
        });
        element("tr", &[], cells)
    };
    let head = element("tr", &[], head);
    let rows = std::iter::once(head).chain(rows.iter().map(row));
    element("div", &[("class", "scroll")], [element("table", &[], rows)])
}

fn pictures(figures: &[Figure]) -> Option<Markup> {
    let shown = figures.iter().map(|figure| {
        let caption = element("figcaption", &[], [text(&figure.caption)]);
        let picture = picture(&figure.picture, &figure.caption);
        element("figure", &[], std::iter::once(caption).chain(picture))
    });
    (!figures.is_empty()).then(|| element("div", &[("class", "charts")], shown))
}

/// A picture, and its legend where the picture itself does not say who is who.
fn picture(picture: &Picture, description: &str) -> Vec<Markup> {
    match picture {
        Picture::Strips { unit, rows } => {
            let rows: Vec<Strip<'_>> = rows
                .iter()
                .map(|row| Strip {
                    label: &row.label,
                    median: median(&row.numbers),
                    numbers: row.numbers.clone(),
                    class: series(row.series),
                })
                .collect();
            vec![strip(description, *unit, &rows)]
        }
        Picture::Lines { units, rows } => {
            let curves: Vec<Curve<'_>> = rows
                .iter()
                .map(|row| Curve {
                    label: &row.label,
                    points: row.numbers.clone(),
                    class: series(row.series),
                })
                .collect();
            let names = rows.iter().map(|row| (series(row.series), row.label.as_str()));
            vec![lines(description, *units, &curves), legend(names)]
        }
        Picture::Bars { unit, parts, rows } => {
            let names: Vec<&str> = parts.iter().map(String::as_str).collect();
            let rows: Vec<Bar<'_>> =
                rows.iter().map(|row| Bar { label: &row.label, parts: row.numbers.clone() }).collect();
            let legend = legend(names.iter().enumerate().map(|(at, name)| (class_of_part(at), *name)));
            vec![bars(description, *unit, &names, &rows), legend]
        }
        Picture::Scatter { titles: [x, y], units, rows, emphasis, legend: colours } => {
            let dots: Vec<Dot<'_>> = rows
                .iter()
                .filter_map(|row| {
                    let place = *row.numbers.first()?;
                    Some(Dot { label: &row.label, place, class: series(row.series) })
                })
                .collect();
            let picture = match emphasis.len() == dots.len() {
                true => emphasized(description, [x, y], *units, &dots, emphasis),
                false => scatter(description, [x, y], *units, &dots),
            };
            let legend = legend(colours.iter().map(|row| (series(row.series), row.label.as_str())));
            std::iter::once(picture).chain((!colours.is_empty()).then_some(legend)).collect()
        }
    }
}

fn median(numbers: &[f64]) -> Option<f64> {
    let mut sorted = numbers.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len().checked_sub(1)? / 2;
    Some((sorted[middle] + sorted[sorted.len() / 2]) / 2.0)
}

fn legend<'a>(names: impl Iterator<Item = (String, &'a str)>) -> Markup {
    let entry = |(class, name): (String, &str)| {
        let mark = element("b", &[("class", &class)], [text("●")]);
        element("span", &[], [mark, text(" "), text(name)])
    };
    element("div", &[("class", "legend")], names.map(entry))
}

#[cfg(test)]
mod tests {
    use super::super::{Column, Row};
    use super::*;
    use crate::chart::Unit;

    const HOSTILE: &str = "\"><script>alert(1)</script><b>\u{1b}[31m&";

    fn document() -> Document {
        let row = |numbers| Row { label: HOSTILE.into(), series: 1, numbers };
        let points = || Row { label: HOSTILE.into(), series: 2, numbers: vec![[1.0, 2.0], [3.0, 4.0]] };
        let pictures = [
            Picture::Strips { unit: Unit::Bytes, rows: vec![row(vec![1.0, 5.0, 2.0])] },
            Picture::Lines { units: [Unit::Nanos, Unit::Bytes], rows: vec![points()] },
            Picture::Bars { unit: Unit::Bytes, parts: vec![HOSTILE.into()], rows: vec![row(vec![7.0])] },
            Picture::Scatter {
                titles: [HOSTILE.into(), HOSTILE.into()],
                units: [Unit::Nanos, Unit::Bytes],
                rows: vec![points()],
                emphasis: Vec::new(),
                legend: vec![Row { label: HOSTILE.into(), series: 2, numbers: Vec::new() }],
            },
        ];
        let figure = |picture| Figure { caption: HOSTILE.into(), picture };
        let table = |is_detail| Table {
            title: "PEAK RSS OF ALL".into(),
            aside: HOSTILE.into(),
            is_detail,
            columns: vec![Column::new(HOSTILE), Column::new("number"), Column::new("from")],
            rows: vec![vec![Cell::text(HOSTILE), Cell::spread("1", "1 (0..2)"), Cell::text("f</td>")]],
            more: vec![vec![Cell::text(HOSTILE), Cell::nothing(), Cell::text("folded")]],
        };
        Document {
            title: format!("heapwise replay {HOSTILE}"),
            lead: HOSTILE.into(),
            setup: vec![HOSTILE.into()],
            tables: vec![table(false), table(true)],
            figures: pictures.map(figure).into(),
            caveats: vec![HOSTILE.into()],
            conclusion: vec![HOSTILE.into()],
            snippets: vec![Snippet {
                title: HOSTILE.into(),
                language: Some("sh"),
                lines: vec!["one </pre>".into(), "two".into()],
            }],
        }
    }

    #[test]
    fn everything_is_shown_and_nothing_of_others_becomes_markup() {
        let page = html(&document());
        assert_eq!(page.matches("<svg").count(), 4);
        assert_eq!(page.matches("<rect").count(), 1);
        assert!(page.contains("<h2>Peak RSS of all</h2>"), "{page}");
        assert!(page.contains("<pre><code>one &lt;/pre&gt;\ntwo\n</code></pre>"), "{page}");
        assert!(page.contains("<td class=\"\">1 (0..2)</td><td class=\"words\">f&lt;/td&gt;</td>"), "{page}");
        assert!(page.contains("<details><summary>Peak RSS of all</summary>"), "{page}");
        let folded = page.split("<details><summary>1 more</summary>").nth(1).expect("what is folded");
        assert!(folded[..folded.find("</details>").unwrap()].contains("folded</td>"), "{page}");
        for never in ["<script", "<b>", "\u{1b}", "style=", "NaN"] {
            assert!(!page.contains(never), "{never}");
        }
    }

    #[test]
    fn a_document_without_pictures_has_no_empty_frame() {
        assert!(!html(&Document { figures: Vec::new(), ..document() }).contains("<figure"));
        assert_eq!((median(&[]), median(&[4.0]), median(&[9.0, 1.0])), (None, Some(4.0), Some(5.0)));
    }
}
