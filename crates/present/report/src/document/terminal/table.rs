//! Tables for a terminal: columns of words give way to those of numbers, and ranges are shown if all of them fit.

use super::page::{Page, Run, left, right, runs, width};
use crate::document::{Cell, Column, Format, Place, Role, Row, Stack, Table, Words};
use crate::escape::terminal::escape;
use crate::names::{fit, width_of};

/// A column of words is not made narrower than this.
const LEAST_WORDS: usize = 8;
/// A name is not made narrower than this for the sake of ranges.
const NAME: usize = 24;
/// The least width of a function's name next to its place.
const LEAST_FUNCTION: usize = 12;

/// Columns that are shown, with how wide they are.
struct Layout<'a> {
    /// Their places in the table.
    shown: Vec<usize>,
    widths: Vec<usize>,
    is_right: Vec<bool>,
    /// Whether cells are shown in full.
    is_whole: bool,
    table: &'a Table,
}

impl<'a> Layout<'a> {
    fn new(table: &'a Table, columns: usize) -> Self {
        let is_shown = |column: &Column| {
            column.shown.has(Format::Terminal) && column.needs <= columns && !column.is_lead
        };
        let shown: Vec<usize> = (0..table.columns.len()).filter(|at| is_shown(&table.columns[*at])).collect();
        let is_right = shown.iter().map(|at| table.has_numbers(*at) && !table.columns[*at].is_left).collect();
        let mut layout = Self { shown, widths: Vec::new(), is_right, is_whole: true, table };
        layout.widths = layout.needed();
        let least = layout.widths.iter().zip(&layout.is_right);
        let least = least.map(|(width, is_right)| if *is_right { *width } else { (*width).min(NAME) });
        if layout.gaps() + least.sum::<usize>() > columns || !layout.has_ranges() {
            layout.is_whole = false;
            layout.widths = layout.needed();
        }
        while layout.gaps() + layout.widths.iter().sum::<usize>() > columns {
            let least = |at: usize| layout.column(at).least.max(LEAST_WORDS);
            let gives_way = |at: &usize| !layout.is_right[*at] && layout.widths[*at] > least(*at);
            let words = (0..layout.widths.len()).filter(gives_way);
            let Some(at) = words.max_by_key(|at| layout.widths[*at]) else { break };
            layout.widths[at] -= 1;
        }
        layout
    }

    fn column(&self, at: usize) -> &'a Column {
        &self.table.columns[self.shown[at]]
    }

    /// What is between columns, and before the first one.
    fn gaps(&self) -> usize {
        let between = (1..self.shown.len()).map(|at| width_of(self.column(at).before));
        self.table.indent + between.sum::<usize>()
    }

    /// Whether any cell has more than its short form.
    fn has_ranges(&self) -> bool {
        let at = |row: &Row, at: usize| row.cells.get(self.shown[at]).is_some_and(|c| c.short != c.whole);
        self.table
            .rows
            .iter()
            .any(|row| (0..self.shown.len()).any(|n| !self.column(n).is_brief && at(row, n)))
    }

    fn words(&self, row: &'a Row, at: usize) -> Option<&'a Words> {
        let cell = row.cells.get(self.shown[at]).filter(|cell| cell.place.is_none())?;
        Some(if self.is_whole && !self.column(at).is_brief { &cell.whole } else { &cell.short })
    }

    fn title(&self, at: usize) -> &'a str {
        let column = self.column(at);
        column.short.as_ref().unwrap_or(&column.title)
    }

    /// The width that each column needs. A place uses what is left.
    fn needed(&self) -> Vec<usize> {
        let wide = |words: &Words| width_of(&escape(&words.plain()));
        let of = |at: usize| {
            let cells = self.table.rows.iter().filter_map(|row| self.words(row, at)).map(wide).max();
            let column = self.column(at);
            let titles = [self.title(at), &column.below].map(|title| width_of(&escape(title)));
            let titles = if self.table.is_headless { 0 } else { titles[0].max(titles[1]) };
            cells.unwrap_or(0).max(titles).max(column.least)
        };
        (0..self.shown.len()).map(of).collect()
    }

    fn aligned(&self, at: usize, text: &str) -> String {
        if self.is_right[at] { right(text, self.widths[at]) } else { left(text, self.widths[at]) }
    }

    fn gap(&self, at: usize) -> Run {
        let gap = if at == 0 { " ".repeat(self.table.indent) } else { self.column(at).before.to_owned() };
        (Role::Own, gap)
    }

    /// A line of the head.
    fn head(&self, page: &mut Page, title: impl Fn(usize) -> &'a str) {
        let cell = |at| [self.gap(at), (Role::Faint, self.aligned(at, &escape(title(at))))];
        page.line((0..self.shown.len()).flat_map(cell));
    }

    /// The pieces of a cell, as wide as its column.
    fn cell(&self, row: &'a Row, at: usize) -> Vec<Run> {
        // The first column of words names the row.
        let plain = if at == 0 && !self.is_right[0] { Role::Name } else { Role::Own };
        let Some(words) = self.words(row, at) else { return Vec::new() };
        let mut pieces = runs(words, plain);
        let n = width(&pieces);
        match pieces.as_mut_slice() {
            _ if n > self.widths[at] => {
                let whole: String = pieces.iter().map(|(_, text)| text.as_str()).collect();
                vec![(pieces[0].0, fit(&whole, self.widths[at]))]
            }
            _ => {
                let space = (Role::Own, " ".repeat(self.widths[at] - n));
                pieces.insert(if self.is_right[at] { 0 } else { pieces.len() }, space);
                pieces
            }
        }
    }

    /// Where a place begins, if there is a column of them.
    fn places_from(&self) -> Option<usize> {
        let last = self.shown.len().checked_sub(1)?;
        let is_place = |row: &Row| row.cells.get(self.shown[last]).is_some_and(|cell| cell.place.is_some());
        let before = self.widths[..last].iter().sum::<usize>();
        self.table.rows.iter().any(is_place).then(|| self.gaps() + before)
    }
}

/// The explanation of what is in brackets, if cells are shown in full.
pub(super) fn in_brackets(table: &Table, columns: usize) -> &'static str {
    if Layout::new(table, columns).is_whole { table.in_brackets } else { "" }
}

/// Writes a table.
pub(super) fn table(page: &mut Page, table: &Table) {
    let layout = Layout::new(table, page.columns);
    if !table.is_headless {
        layout.head(page, |at| layout.title(at));
        if (0..layout.shown.len()).any(|at| !layout.column(at).below.is_empty()) {
            layout.head(page, |at| &layout.column(at).below);
        }
    }
    let lead = table.columns.iter().position(|column| column.is_lead && column.shown.has(Format::Terminal));
    let from = layout.places_from();
    for row in &table.rows {
        if let Some(cell) = lead.and_then(|at| row.cells.get(at)) {
            write_lead(page, cell);
        }
        let mut line: Vec<Run> = Vec::new();
        for at in 0..layout.shown.len() {
            line.push(layout.gap(at));
            line.extend(layout.cell(row, at));
        }
        let place = row.cells.iter().find_map(|cell| cell.place.as_ref()).filter(|_| from.is_some());
        match (place, from) {
            (Some(place), Some(from)) => write_place(page, line, from, place),
            _ => page.line(line),
        }
        if !row.note.is_empty() {
            let indent = table.indent + layout.widths.first().unwrap_or(&0) + 2;
            page.paragraph(&" ".repeat(indent), Role::Faint, &row.note.as_str().into());
        }
        row.stack.iter().for_each(|stack| write_stack(page, stack));
    }
    if let Some(rest) = &table.rest {
        page.line([(Role::Faint, format!("{}{rest}", " ".repeat(from.unwrap_or(2))))]);
    }
}

/// The line above rows that names their subject.
fn write_lead(page: &mut Page, cell: &Cell) {
    let indent = (Role::Own, "  ".to_owned());
    match &cell.place {
        Some(place) => write_place(page, vec![indent], 2, place),
        None if cell.whole.is_empty() => {}
        None => page.line(std::iter::once(indent).chain(runs(&cell.whole, Role::Name))),
    }
}

/// A place after the cells of its line. The function that is called there comes last, in a second line if there is no room.
fn write_place(page: &mut Page, mut line: Vec<Run>, from: usize, place: &Place) {
    let room = page.columns.saturating_sub(from).max(LEAST_FUNCTION);
    let status = if place.status.is_empty() { String::new() } else { format!("  ({})", place.status) };
    let function = fit(&escape(&place.function), room.saturating_sub(status.len()));
    // Readers open the place: it keeps its columns, and the function's name is shortened.
    let at = match escape(&place.at) {
        at if at.is_empty() => String::new(),
        at => fit(&format!("{}{at}", if place.is_past { "was " } else { "" }), room - LEAST_FUNCTION),
    };
    let note = escape(&place.note()).into_owned();
    let wide = |text: &str| width_of(text) + if text.is_empty() { 0 } else { 2 };
    let first = width_of(&function) + status.len();
    line.extend([(Role::Name, function), (Role::Strong, status)]);
    let gap = || (Role::Own, "  ".to_owned());
    let next_line = || vec![(Role::Own, " ".repeat(from))];
    if first + wide(&at) > room {
        page.line(std::mem::replace(&mut line, next_line()));
        let rest = fit(&note, room.saturating_sub(wide(&at)));
        line.extend([(Role::Own, at), gap(), (Role::Faint, rest)]);
    } else {
        let is_one_line = first + wide(&at) + wide(&note) <= room;
        line.extend([gap(), (Role::Own, at)]);
        if is_one_line {
            line.push(gap());
        } else {
            page.line(std::mem::replace(&mut line, next_line()));
        }
        line.push((Role::Faint, fit(&note, room)));
    }
    page.line(line);
}

/// The whole stack below a row.
fn write_stack(page: &mut Page, stack: &Stack) {
    for frame in &stack.frames {
        let mark = if frame.is_users { "    > " } else { "      " };
        let inlined = if frame.is_inlined { "  (inlined)" } else { "" };
        let at = escape(&frame.at).into_owned();
        let behind = mark.len() + 2 + width_of(&at) + inlined.len();
        let function = fit(&escape(&frame.function), page.columns.saturating_sub(behind).max(20));
        let start = (Role::Own, format!("{mark}{function}  "));
        page.line([start, (Role::Faint, at), (Role::Faint, inlined.to_owned())]);
    }
    for note in &stack.notes {
        page.line([(Role::Faint, format!("      {note}"))]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::style::Style;

    fn shown(table: &Table, width: usize) -> String {
        let mut page = Page::new(Style { color: false, width });
        super::table(&mut page, table);
        page.finish()
    }

    #[test]
    fn a_column_of_words_gives_way_and_one_of_numbers_does_not() {
        let mut table = Table::new(["a", "b", "c"].map(Column::new));
        table.row([Cell::text("name"), Cell::number("1,000,000"), Cell::text("x".repeat(90))]);
        assert_eq!(Layout::new(&table, 80).widths, [4, 9, 61]);
    }

    #[test]
    fn ranges_are_there_if_there_is_room_for_all() {
        let mut table =
            Table::new([Column::new("who"), Column::new("time"), Column::new("never").needs(100)]);
        table.row([
            Cell::text("one"),
            Cell::spread("5 s", format!("5 s ({})", "4..".repeat(20))),
            Cell::own("x"),
        ]);
        assert!(!shown(&table, 60).contains("4..") && shown(&table, 90).contains("4.."));
        assert!(!shown(&table, 90).contains("never") && shown(&table, 100).contains("never"));
    }

    #[test]
    fn a_place_takes_as_many_lines_as_it_has_to() {
        let place = |at: &str| {
            let mut table = Table::new([Column::new("n"), Column::new("where")]);
            let place = Place {
                function: "f\u{1b}".repeat(5),
                at: at.into(),
                via: "callee".into(),
                ..Place::default()
            };
            table.row([Cell::number("7"), Cell::place(place)]);
            shown(&table, 60)
        };
        let name = "f\\u{1b}".repeat(5);
        assert_eq!(place("a.rs:1"), format!("  n  where\n  7  {name}  a.rs:1  via callee\n"));
        assert_eq!(
            place("of/a.rs:1234"),
            format!("  n  where\n  7  {name}  of/a.rs:1234\n     via callee\n")
        );
        let long = "folder/of/files/a.rs:1";
        assert_eq!(place(long), format!("  n  where\n  7  {name}\n     {long}  via callee\n"));
    }
}
