//! The program's marks, and what its spans allocated. Nothing for a program without any.

use super::{Subject, counted, rest};
use crate::document::{Block, Cell, Column, Mark as Line, Role, Row, Section, Shown, Table, Words};
use crate::units::{bytes, count, time};
use heapwise_analysis::{Mark, MarkKind, MarkMoment, Marks, Span};

/// From this many columns on there is room for all numbers of a span.
const WIDE: usize = 100;

/// A name for people. It may be any text, even empty.
fn name_of(name: &str) -> Words {
    Words::name(if name.is_empty() { "(no name)" } else { name })
}

/// The marks that are listed: all, if they are few, otherwise those that are no part of a span, and of very many a selection over
/// the whole run. Also returns the number that the selection was made from.
fn worth_a_line(marks: &Marks, top: usize) -> (Vec<(MarkKind, MarkMoment, &Mark)>, usize) {
    let mut moments = marks.moments();
    if moments.len() > top {
        moments.retain(|(kind, _, _)| *kind == MarkKind::Point);
    }
    let n = moments.len();
    if n > top {
        let chosen = (0..top).filter_map(|i| moments.get(i * (n - 1) / (top - 1).max(1)).copied());
        moments = chosen.collect();
    }
    (moments, n)
}

pub(super) fn marks(subject: &Subject<'_>) -> Vec<Section> {
    let marks = &subject.analysis.marks;
    let (shown, n) = worth_a_line(marks, subject.options.top);
    if shown.is_empty() {
        return Vec::new();
    }
    let some = if n > shown.len() {
        format!("{} of {}, over the whole run", shown.len(), count(n as u64))
    } else {
        String::new()
    };
    let numbers = ["time", "live", "resident"].map(|title| Column::new(title).least(9));
    let mut table = Table::new(numbers.into_iter().chain([Column::new("mark")]));
    for (kind, at, mark) in shown {
        let rss = at.rss.map_or_else(|| "–".to_owned(), |rss| bytes(rss.0));
        let what = match kind {
            MarkKind::Point => "",
            MarkKind::Begin => " begins",
            MarkKind::End => " ends",
        };
        let name = Cell::text(name_of(&mark.name).and(Role::Own, what));
        let numbers = [time(at.time.0), bytes(at.live.0), rss].map(Cell::number);
        table.row(numbers.into_iter().chain([name]));
    }
    let mut blocks = vec![Block::Table(table)];
    if marks.not_listed() > 0 {
        let more = counted(marks.not_listed(), "more mark is", "more marks are");
        let more = format!("{more} not listed one by one; spans count them all");
        blocks.push(Block::line(Line::Indented, Words::faint(more)));
    }
    vec![Section::new("Marks", blocks).aside(some).only(Shown::Terminal)]
}

/// Bytes with a sign where they are fewer.
fn growth(n: i64) -> String {
    let sign = if n < 0 { "−" } else { "" };
    format!("{sign}{}", bytes(n.unsigned_abs()))
}

pub(super) fn spans(subject: &Subject<'_>) -> Vec<Section> {
    let (spans, top) = (&subject.analysis.marks.spans, subject.options.top);
    if spans.is_empty() {
        return Vec::new();
    }
    let columns = [
        Column::new("span").only(Shown::Pages),
        Column::new("count").least(9),
        Column::new("time").least(9),
        Column::new("allocations").least(11),
        Column::new("bytes").least(9),
        Column::new("longest").least(9).needs(WIDE),
        Column::new("bytes each").least(10).needs(WIDE).only(Shown::Terminal),
        Column::new("left at most").least(12).needs(WIDE),
        Column::new("span").only(Shown::Terminal),
        Column::new("seen in half").only(Shown::Pages),
    ];
    let row = |span: &Span| {
        let numbers = [
            time(span.time.0),
            count(span.allocations),
            bytes(span.allocated_bytes.0),
            time(span.longest.0),
            bytes(span.allocated_bytes.0 / span.count.max(1)),
            growth(span.largest_growth_bytes),
        ];
        // No span has both a begin and an end.
        let numbers =
            numbers.map(|number| Cell::number(if span.count == 0 { "–".to_owned() } else { number }));
        let name = Cell::text(name_of(&span.name));
        let cells = [name.clone(), Cell::number(count(span.count))].into_iter().chain(numbers);
        let odd = odd(span);
        let cells = cells.chain([name, Cell::own(odd.clone())]);
        Row { note: odd, ..Row::of(cells) }
    };
    let table = Table {
        rows: spans.iter().take(top).map(row).collect(),
        rest: rest(spans.len(), top, "name", "names"),
        ..Table::new(columns)
    };
    let aside = "by their own thread; spans inside of others count in both";
    vec![Section::new("Spans", [Block::Table(table)]).aside(aside)]
}

/// Spans without a begin or without an end.
fn odd(span: &Span) -> String {
    let parts = [(span.unended, "without an end"), (span.unbegun, "without a begin")];
    let parts = parts.into_iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{} {what}", count(n)));
    parts.collect::<Vec<_>>().join(", ")
}
