//! The tables of places and of threads.

use super::super::clock::clock;
use super::super::model::Model;
use super::super::rows::{Column, PlaceRow};
use super::super::update::ThreadRow;
use super::theme::Theme;
use heapwise_report::names::{cut, fit, width_of};
use heapwise_report::units::{bytes, count, signed};
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

/// From this width on all columns are shown, and from this one on most.
const WIDE: u16 = 100;
/// From here on there is room for one that not all recordings have.
const USUAL: u16 = 80;
const MEDIUM: u16 = 60;
/// A column of numbers, with a blank behind it: what stands above it, and how many columns of the terminal it takes.
#[derive(Clone, Copy)]
struct Head(&'static str, usize);

const SAMPLES: Head = Head("samples", 9);
const ALLOCATIONS: Head = Head("allocations", 14);

fn head_of(column: Column) -> Head {
    match column {
        Column::Requests => Head("allocs/s", 11),
        Column::Bytes => Head("bytes/s", 10),
        Column::Live => Head("live", 9),
        Column::Blocks => Head("blocks", 11),
        Column::Growth => Head("growth", 10),
    }
}

/// The columns that there is room for, with the one that is sorted by.
fn columns(width: u16, sort: Column, all: &[Column]) -> Vec<Column> {
    let is_shown = |column: &Column| match column {
        Column::Live => true,
        Column::Blocks => width >= WIDE || sort == Column::Blocks,
        column => width >= MEDIUM || sort == *column,
    };
    all.iter().copied().filter(is_shown).collect()
}

/// A number at the right of its column.
fn number(Head(_, width): Head, text: &str, style: Style) -> Span<'static> {
    let text = fit(text, width - 1);
    let gap = width - 1 - width_of(&text);
    Span::styled(format!("{:gap$}{text} ", ""), style)
}

fn heads(columns: &[Column], sort: Column, theme: &Theme) -> Vec<Span<'static>> {
    let head = |column: &Column| {
        let head = head_of(*column);
        match *column == sort {
            true => number(head, &format!("{}▾", head.0), theme.strong),
            false => number(head, head.0, theme.aside),
        }
    };
    columns.iter().map(head).collect()
}

/// What is left for names.
fn room_beside(numbers: &[Span<'_>], area: Rect) -> usize {
    let taken: usize = numbers.iter().map(|number| width_of(&number.content)).sum();
    usize::from(area.width).saturating_sub(taken)
}

/// What stands above the names: how many, and what they are of.
fn lead(what: &str, shown: usize, model: &Model) -> String {
    let filter =
        if model.filter.is_empty() { String::new() } else { format!(" with “{}”", model.filter) };
    let plural = if shown == 1 { "" } else { "s" };
    format!("{} {what}{plural}{filter}", count(shown as u64))
}

pub(super) fn places(frame: &mut Frame<'_>, area: Rect, model: &Model, theme: &Theme) {
    let rows = model.places();
    let is_sample = model.update.as_ref().is_some_and(|update| update.subject.sample_bytes > 1);
    let columns = columns(area.width, model.sort, &Column::ALL);
    let has_samples = is_sample && area.width >= USUAL;
    let mut head = heads(&columns, model.sort, theme);
    head.extend(has_samples.then(|| number(SAMPLES, SAMPLES.0, theme.aside)));
    let since = match &model.mark {
        Some(mark) => format!("; growth since {}", clock(mark.time_ns)),
        None if model.update.as_ref().is_some_and(|update| update.subject.goes_on) => {
            "; growth since this file began".to_owned()
        }
        None if model.update.as_ref().is_some_and(|update| update.subject.begins_late) => {
            "; growth since recording began".to_owned()
        }
        None => "; growth since the start".to_owned(),
    };
    let room = room_beside(&head, area);
    head.push(Span::styled(cut(&format!("{}{since}", lead("place", rows.len(), model)), room), theme.aside));
    let line = |row: &PlaceRow| {
        let mut line: Vec<_> = columns.iter().map(|column| cell(row, *column, model.sort, theme)).collect();
        line.extend(has_samples.then(|| number(SAMPLES, &count(row.samples), theme.aside)));
        line.extend(name(row, room, theme));
        Line::from(line)
    };
    let shown = rows.iter().skip(model.scroll).take(model.page).map(line);
    show(frame, area, std::iter::once(Line::from(head)).chain(shown).collect());
}

fn cell(row: &PlaceRow, column: Column, sort: Column, theme: &Theme) -> Span<'static> {
    let style = if column == sort { theme.strong } else { Style::new() };
    let (text, style) = match column {
        Column::Requests => (count(row.rate[0]), style),
        Column::Bytes => (bytes(row.rate[1]), style),
        Column::Live => (bytes(row.live), style),
        Column::Blocks => (count(row.blocks), style),
        Column::Growth => match row.growth {
            0 => ("0 B".to_owned(), style),
            growth => {
                let colour = if growth > 0 { theme.more } else { theme.less };
                (signed(growth < 0, bytes(growth.unsigned_abs())), style.patch(colour))
            }
        },
    };
    number(head_of(column), &text, style)
}

/// The function, and where it is. The place gives way only if that is not enough.
fn name(row: &PlaceRow, room: usize, theme: &Theme) -> Vec<Span<'static>> {
    let Some(name) = &row.name else {
        return vec![Span::styled(fit("(names are being looked up)", room), theme.aside)];
    };
    // Where there is little room, folders go first.
    let fits = |at: &str| width_of(&name.function) + width_of(at) + 2 <= room;
    let at = if fits(&name.at) { &name.at } else { name.at.rsplit('/').next().unwrap_or_default() };
    let at = if fits(at) { at.to_owned() } else { fit(at, room / 2) };
    let gap = if at.is_empty() { 0 } else { width_of(&at) + 2 };
    let function = fit(&name.function, room.saturating_sub(gap));
    let place = if at.is_empty() { String::new() } else { format!("  {at}") };
    vec![Span::raw(function), Span::styled(place, theme.aside)]
}

pub(super) fn threads(frame: &mut Frame<'_>, area: Rect, model: &Model, theme: &Theme) {
    const COLUMNS: [Column; 3] = [Column::Requests, Column::Bytes, Column::Live];
    let rows = model.threads();
    // What places alone can be sorted by is the live bytes here.
    let sort = if COLUMNS.contains(&model.sort) { model.sort } else { Column::Live };
    let columns = columns(area.width, sort, &COLUMNS);
    let has_total = area.width >= MEDIUM;
    let mut head = heads(&columns, sort, theme);
    head.extend(has_total.then(|| number(ALLOCATIONS, ALLOCATIONS.0, theme.aside)));
    let room = room_beside(&head, area);
    head.push(Span::styled(cut(&lead("thread", rows.len(), model), room), theme.aside));
    let is_alone = model.update.as_ref().is_none_or(|update| update.subject.processes < 2);
    let line = |row: &&ThreadRow| {
        let style = if row.has_ended { theme.aside } else { Style::new() };
        let cell = |column: &Column| {
            let style = if *column == sort { style.patch(theme.strong) } else { style };
            let text = match column {
                Column::Requests => count(row.rate[0]),
                Column::Bytes => bytes(row.rate[1]),
                _ => bytes(row.live),
            };
            number(head_of(*column), &text, style)
        };
        let mut line: Vec<_> = columns.iter().map(cell).collect();
        let total = row.totals.allocations + row.totals.reallocations;
        line.extend(has_total.then(|| number(ALLOCATIONS, &count(total), style)));
        // A process's first thread has its id.
        let of = if is_alone || row.tid == row.pid { String::new() } else { format!(" of {}", row.pid) };
        let ended = if row.has_ended { ", ended" } else { "" };
        line.push(Span::styled(fit(&format!("{} ({}{of}{ended})", row.name, row.tid), room), style));
        Line::from(line)
    };
    let shown = rows.iter().skip(model.scroll).take(model.page).map(line);
    show(frame, area, std::iter::once(Line::from(head)).chain(shown).collect());
}

fn show(frame: &mut Frame<'_>, area: Rect, lines: Vec<Line<'static>>) {
    frame.render_widget(Paragraph::new(lines), area);
}
