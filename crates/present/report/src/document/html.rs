//! A document for a browser.

use super::{
    Alert, Block, Cell, Document, Evidence, Figure, Finding, Format, Link, Mark, Picture, Place, Role, Row,
    Section, Snippet, Stack, Table, Title, Words,
};
use crate::chart::{
    Bar, Curve, Dot, Strip, bars, class_of_part, emphasized, flame, lines, scatter, series, strip,
};
use crate::escape::markdown::code_spans;
use crate::html_page::{Markup, element, end_of_line, page, text};

/// Renders it as a whole file, without a script.
pub fn html(document: &Document) -> String {
    let mut parts = vec![element("h1", &[], [words(&document.title)])];
    if !document.aside.is_empty() {
        parts.push(paragraph("faint", &document.aside.as_str().into()));
    }
    for section in &document.sections {
        parts.extend(section.blocks(Format::Html).into_iter().flat_map(|blocks| written(section, &blocks)));
    }
    let name = document.title.plain();
    let name =
        name.strip_prefix("heapwise").map_or(name.as_str(), |rest| rest.trim_start_matches([' ', ':']));
    page(name, &parts.into_iter().collect())
}

fn words(words: &Words) -> Markup {
    let piece = |(role, piece): (Role, &str)| match role {
        Role::Prose => prose(piece),
        Role::Own => text(piece),
        Role::Name => element("code", &[], [text(piece)]),
        Role::Strong => element("strong", &[], [text(piece)]),
        Role::Faint | Role::Caveat => element("span", &[("class", "faint")], [text(piece)]),
        Role::Good => element("span", &[("class", "good")], [text(piece)]),
        Role::Bad => element("span", &[("class", "bad")], [text(piece)]),
    };
    let part = |(link, pieces): (Option<&Link>, Vec<(Role, &str)>)| {
        let shown = pieces.into_iter().map(piece);
        match link {
            Some(link) => element("a", &[("href", link.as_str())], shown),
            None => shown.collect(),
        }
    };
    words.linked().map(part).collect()
}

fn prose(sentence: &str) -> Markup {
    let part = |(is_code, part)| if is_code { element("code", &[], [text(part)]) } else { text(part) };
    code_spans(sentence).map(part).collect()
}

fn title(title: &Title) -> Markup {
    text(title.text())
}

fn paragraph(class: &str, what: &Words) -> Markup {
    element("p", &[("class", class)], [words(what)])
}

fn written(section: &Section, blocks: &[&Block]) -> Vec<Markup> {
    if section.is_folded {
        let summary = element("summary", &[], [title(&section.title)]);
        let content = blocks.iter().flat_map(|block| block_of(block));
        return vec![element("details", &[], std::iter::once(summary).chain(content))];
    }
    let mut parts = Vec::new();
    // Caveats need no title; errors do.
    let is_untitled = |block: &&Block| matches!(block, Block::Alert(alert) if alert.lead.is_empty());
    if !section.is_untitled() && !blocks.iter().any(is_untitled) {
        parts.push(element("h2", &[], [title(&section.title)]));
        let brackets = blocks.iter().filter_map(|block| match block {
            Block::Table(table) => Some(table.in_brackets),
            _ => None,
        });
        let asides = std::iter::once(section.aside.as_str()).chain(brackets);
        let asides: Vec<&str> = asides.filter(|aside| !aside.is_empty()).collect();
        if !asides.is_empty() {
            parts.push(paragraph("faint", &asides.join("; ").into()));
        }
    }
    parts.extend(blocks.iter().flat_map(|block| block_of(block)));
    parts
}

fn block_of(block: &Block) -> Vec<Markup> {
    match block {
        Block::Line(mark, what) => match mark {
            Mark::Setup => vec![paragraph("faint", what)],
            Mark::Labelled(label) => {
                vec![paragraph("", &Words::own(format!("{label}: ")).then(what.clone()))]
            }
            _ => vec![paragraph("", what)],
        },
        Block::Alert(alert) => alert_of(alert),
        Block::Finding(finding) => finding_of(finding),
        Block::Facts(facts) => {
            let line = |(name, what): &(Words, Words)| name.clone().and(Role::Own, ": ").then(what.clone());
            facts.iter().map(|fact| paragraph("", &line(fact))).collect()
        }
        Block::Table(table) => table_of(table),
        Block::Figures(figures) => pictures(&figures.0).into_iter().collect(),
        Block::Snippet(snippet) => snippet_of(snippet),
        Block::Listing(listing) => vec![code_of(&listing.plain())],
        Block::Stack(lead, stack) => vec![paragraph("", lead), stack_of(stack)],
        Block::Only(..) | Block::Course(_) => Vec::new(),
    }
}

fn alert_of(alert: &Alert) -> Vec<Markup> {
    let class = if alert.is_severe { "finding" } else { "note" };
    let item = |(what, remedy): &(Words, String)| {
        let remedy = if remedy.is_empty() { String::new() } else { format!("; {remedy}") };
        paragraph(class, &what.clone().and(Role::Own, remedy))
    };
    alert.items.iter().map(item).collect()
}

fn finding_of(finding: &Finding) -> Vec<Markup> {
    let number = finding.number.map(|number| format!("{number}. ")).unwrap_or_default();
    let head = Words::of(Role::Strong, format!("{number}{}", finding.title));
    let mut parts = vec![paragraph("finding", &head), paragraph("faint", &finding.tags.join(" · ").into())];
    let (Evidence::Sentences(evidence) | Evidence::Lines(evidence)) = &finding.evidence;
    let mut lines = evidence.clone();
    lines.extend(finding.saves.iter().map(|[_, saves]| format!("would save {saves}")));
    lines.extend((!finding.cost.is_empty()).then(|| format!("costs: {}", finding.cost)));
    lines.push(format!("→ {}", finding.remedy));
    parts.extend(lines.into_iter().map(|line| paragraph("", &line.into())));
    parts
}

/// Lines to be pasted literally, or sentences.
fn snippet_of(snippet: &Snippet) -> Vec<Markup> {
    let mut parts = vec![element("p", &[("class", "")], [title(&snippet.title), text(":")])];
    match snippet.language {
        None => {
            parts.extend(snippet.lines.iter().map(|sentence| paragraph("note", &sentence.as_str().into())))
        }
        Some(_) => parts.push(code_of(&snippet.lines)),
    }
    parts
}

fn code_of(lines: &[String]) -> Markup {
    // Each separately: an end of line inside of one is part of the text that is quoted.
    let lines: Markup = lines.iter().flat_map(|line| [text(line), end_of_line()]).collect();
    element("pre", &[], [element("code", &[], [lines])])
}

fn stack_of(stack: &Stack) -> Markup {
    let lines = stack.frames.iter().map(|frame| {
        let mark = if frame.is_users { '>' } else { ' ' };
        format!("{mark} {}  {}", frame.function, frame.at).trim_end().to_owned()
    });
    code_of(&lines.collect::<Vec<_>>())
}

fn table_of(table: &Table) -> Vec<Markup> {
    let mut parts = vec![rows(table, &table.rows)];
    parts.extend(table.rest.iter().map(|rest| paragraph("faint", &rest.as_str().into())));
    if !table.more.is_empty() {
        let summary = element("summary", &[], [text(&format!("{} more", table.more.len()))]);
        parts.push(element("details", &[], [summary, rows(table, &table.more)]));
    }
    parts
}

/// Some rows of a table.
fn rows(table: &Table, shown_rows: &[Row]) -> Markup {
    let columns: Vec<usize> =
        (0..table.columns.len()).filter(|at| table.columns[*at].shown.has(Format::Html)).collect();
    let class = |at: usize| if at > 0 && !table.has_numbers(at) { "words" } else { "" };
    let head = columns.iter().map(|at| {
        let column = &table.columns[*at];
        let below = (!column.below.is_empty()).then(|| element("small", &[], [text(&column.below)]));
        element("th", &[("class", class(*at))], std::iter::once(text(&column.title)).chain(below))
    });
    let empty = Cell::empty();
    let row = |row: &Row| {
        let cells = columns.iter().map(|at| {
            let cell = row.cells.get(*at).unwrap_or(&empty);
            let class = if cell.is_number { "" } else { class(*at) };
            let place = cell.place.as_ref().map(Place::words);
            element("td", &[("class", class)], [words(place.as_ref().unwrap_or(&cell.whole))])
        });
        element("tr", &[], cells)
    };
    let head = element("tr", &[], head);
    let rows = std::iter::once(head).chain(shown_rows.iter().map(row));
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

/// A picture, with a legend where the picture itself has no names.
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
        Picture::Flame(root) => vec![flame(description, root)],
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
    use super::super::{Column, Figures, Numbers, StackFrame};
    use super::*;
    use crate::chart::Unit;

    const HOSTILE: &str = "\"><script>alert(1)</script><b>\u{1b}[31m&";

    fn document() -> Document {
        let row = |numbers| Numbers { label: HOSTILE.into(), series: 1, numbers };
        let points = || Numbers { label: HOSTILE.into(), series: 2, numbers: vec![[1.0, 2.0], [3.0, 4.0]] };
        let pictures = [
            Picture::Strips { unit: Unit::Bytes, rows: vec![row(vec![1.0, 5.0, 2.0])] },
            Picture::Lines { units: [Unit::Nanos, Unit::Bytes], rows: vec![points()] },
            Picture::Bars { unit: Unit::Bytes, parts: vec![HOSTILE.into()], rows: vec![row(vec![7.0])] },
            Picture::Scatter {
                titles: [HOSTILE.into(), HOSTILE.into()],
                units: [Unit::Nanos, Unit::Bytes],
                rows: vec![points()],
                emphasis: Vec::new(),
                legend: vec![Numbers { label: HOSTILE.into(), series: 2, numbers: Vec::new() }],
            },
        ];
        let figure = |picture| Figure { caption: HOSTILE.into(), picture };
        let table = || {
            let mut table = Table::new([Column::new(HOSTILE), Column::new("number"), Column::new("from")]);
            table.row([Cell::text(HOSTILE), Cell::spread("1", "1 (0..2)"), Cell::text("f</td>")]);
            table.more.push(Row::of([Cell::text(HOSTILE), Cell::nothing(), Cell::text("folded")]));
            Block::Table(table)
        };
        let snippet = Snippet {
            title: Title::Given(HOSTILE.into()),
            language: Some("sh"),
            lines: vec!["one </pre>".into(), "two".into()],
        };
        let place =
            Place { function: HOSTILE.into(), at: HOSTILE.into(), via: HOSTILE.into(), ..Place::default() };
        let mut places = Table::new([Column::new("place")]);
        places.row([Cell::place(place)]);
        let finding = Finding {
            title: HOSTILE.into(),
            tags: vec![HOSTILE.into()],
            evidence: Evidence::Lines(vec![HOSTILE.into()]),
            remedy: HOSTILE.into(),
            ..Finding::default()
        };
        let frame = StackFrame { function: HOSTILE.into(), at: HOSTILE.into(), ..StackFrame::default() };
        let stack = Stack { frames: vec![frame], notes: Vec::new() };
        let sections = vec![
            Section::untitled([Block::line(Mark::Setup, HOSTILE), Block::line(Mark::Labelled("x"), HOSTILE)]),
            Section::conclusion([HOSTILE.to_owned()]),
            Section::caveats([HOSTILE.to_owned()]).expect("a caveat"),
            Section::untitled([
                Block::Figures(Figures(pictures.map(figure).into())),
                Block::Snippet(snippet),
            ]),
            Section::new("Peak RSS of all", [table(), Block::Finding(finding)]).aside(HOSTILE),
            Section::new("Peak RSS of all", [table(), Block::Table(places)]).folded(),
            Section::untitled([Block::Stack(HOSTILE.into(), stack)]),
        ];
        Document { title: format!("heapwise replay {HOSTILE}").into(), aside: HOSTILE.into(), sections }
    }

    #[test]
    fn what_is_between_two_backticks_is_code() {
        let page = |text: &str| words(&Words::from(text)).to_string();
        assert_eq!(page("call `f(<b>)` often"), "call <code>f(&lt;b&gt;)</code> often");
        assert_eq!(page("one ` alone"), "one ` alone");
    }

    #[test]
    fn neighbours_with_the_same_link_are_one() {
        let (here, there) = (Link::new(&["a"], []), Link::new(&["b"], [("<", "\"")]));
        let line = Words::own("service ").and(Role::Name, "<x>").to(&here).and(Role::Own, " · ");
        let line = line.then(Words::own("next").to(&there));
        let expected = "<a href=\"/a\">service <code>&lt;x&gt;</code></a> · <a href=\"/b?<=%22\">next</a>";
        assert_eq!(words(&line).to_string(), expected.replace("?<", "?&lt;"));
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
        let sections = vec![Section::untitled([Block::Figures(Figures::default())])];
        assert!(!html(&Document { sections, ..document() }).contains("<figure"));
        assert_eq!((median(&[]), median(&[4.0]), median(&[9.0, 1.0])), (None, Some(4.0), Some(5.0)));
    }
}
