//! What the program said of itself: its marks, and what its spans allocated. Nothing for a program that said nothing.

use super::page::{Ink, Page, counted, right};
use crate::escape::terminal::escape;
use crate::units::{bytes, count, signed, time};
use heapwise_analysis::{Analysis, Mark, MarkKind, MarkMoment, Marks, Span};

/// From so many columns on there is room for all numbers of a span.
const WIDE: usize = 100;

/// Marks, then spans.
pub(crate) fn marks(page: &mut Page, analysis: &Analysis, top: usize) {
    let marks = &analysis.marks;
    list(page, marks, top);
    spans(page, marks, top);
}

/// A name for people. It may be anything, also nothing.
pub(crate) fn name_of(name: &str) -> String {
    if name.is_empty() { "(no name)".to_owned() } else { escape(name).into_owned() }
}

/// The marks that are worth a line: all, if they are few, else those that are no part of a span, and of very many some over the
/// whole run. Says of how many.
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

fn list(page: &mut Page, marks: &Marks, top: usize) {
    let (shown, n) = worth_a_line(marks, top);
    if shown.is_empty() {
        return;
    }
    let some = if n > shown.len() {
        format!("{} of {}, over the whole run", shown.len(), count(n as u64))
    } else {
        String::new()
    };
    page.heading("MARKS", &some);
    let head = format!("  {}  {}  {}  mark", right("time", 9), right("live", 9), right("resident", 9));
    page.line(&[(Some(Ink::Faint), &head)]);
    for (kind, at, mark) in shown {
        let rss = at.rss.map_or_else(|| "–".to_owned(), |rss| bytes(rss.0));
        let numbers = format!(
            "  {}  {}  {}  ",
            right(&time(at.time.0), 9),
            right(&bytes(at.live.0), 9),
            right(&rss, 9)
        );
        let what = match kind {
            MarkKind::Point => "",
            MarkKind::Begin => " begins",
            MarkKind::End => " ends",
        };
        page.line(&[(None, &numbers), (Some(Ink::Name), &name_of(&mark.name)), (None, what)]);
    }
    if marks.not_listed() > 0 {
        let more = counted(marks.not_listed(), "more mark is", "more marks are");
        page.line(&[(Some(Ink::Faint), &format!("  {more} not listed one by one; spans count them all"))]);
    }
}

/// A column: its title, its width, and what is in it of spans that were seen as a whole.
type Column = (&'static str, usize, fn(&Span) -> String);

const COLUMNS: [Column; 3] = [
    ("time", 9, |s| time(s.time.0)),
    ("requests", 11, |s| count(s.allocations + s.reallocations)),
    ("bytes", 9, |s| bytes(s.allocated_bytes.0)),
];
const MORE_COLUMNS: [Column; 3] = [
    ("longest", 9, |s| time(s.longest.0)),
    ("bytes each", 10, |s| bytes(s.allocated_bytes.0 / s.count.max(1))),
    ("left at most", 12, |s| growth(s.largest_growth_bytes)),
];

/// Bytes with a sign where they are fewer.
pub(crate) fn growth(n: i64) -> String {
    let amount = bytes(n.unsigned_abs());
    if n < 0 { signed(true, amount) } else { amount }
}

fn spans(page: &mut Page, marks: &Marks, top: usize) {
    if marks.spans.is_empty() {
        return;
    }
    page.heading("SPANS", "by their own thread; spans inside of others count in both");
    let mut columns = COLUMNS.to_vec();
    if page.columns >= WIDE {
        columns.extend(MORE_COLUMNS);
    }
    let head: String =
        columns.iter().map(|(title, width, _)| format!("  {}", right(title, *width))).collect();
    page.line(&[(Some(Ink::Faint), &format!("  {}{head}  span", right("count", 9)))]);
    for span in marks.spans.iter().take(top) {
        let cell = |(_, width, cell): &Column| {
            let text = if span.count == 0 { "–".to_owned() } else { cell(span) };
            format!("  {}", right(&text, *width))
        };
        let numbers: String = columns.iter().map(cell).collect();
        let numbers = format!("  {}{numbers}  ", right(&count(span.count), 9));
        page.line(&[(None, &numbers), (Some(Ink::Name), &name_of(&span.name))]);
        let odd = odd(span);
        if !odd.is_empty() {
            page.line(&[(Some(Ink::Faint), &format!("             {odd}"))]);
        }
    }
    if marks.spans.len() > top {
        let more = counted((marks.spans.len() - top) as u64, "more name", "more names");
        page.line(&[(Some(Ink::Faint), &format!("  and {more}"))]);
    }
}

/// What was seen of spans only in half.
pub(crate) fn odd(span: &Span) -> String {
    let parts = [(span.unended, "without an end"), (span.unbegun, "without a begin")];
    let parts = parts.into_iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{} {what}", count(n)));
    parts.collect::<Vec<_>>().join(", ")
}
