//! Draws the state of the view.

mod head;
mod memory;
mod table;
#[cfg(test)]
mod tests;
mod theme;

pub(super) use theme::Theme;

use super::keys::KEYS;
use super::model::{Model, Table};
use heapwise_report::names::{fit, width_of};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Clear, Paragraph};

/// From this height on curves have several lines, and there is room for what resident memory consists of.
const HIGH: u16 = 18;
const VERY_HIGH: u16 = 30;

/// Draws all of it.
pub(super) fn draw(frame: &mut Frame<'_>, model: &mut Model, theme: &Theme) {
    model.settle();
    let area = frame.area();
    let lines = match area.height {
        VERY_HIGH.. => 3,
        HIGH.. => 2,
        8.. => 1,
        _ => 0,
    };
    let has_parts = u16::from(area.height >= HIGH);
    let [head, curves, sums, parts, body, foot] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Length(2 * lines),
        Constraint::Length(u16::from(area.height >= 6)),
        Constraint::Length(has_parts),
        Constraint::Min(0),
        Constraint::Length(u16::from(area.height >= 3)),
    ])
    .areas(area);
    put(frame, head, head::line(model, head.width, theme));
    match &model.update {
        Some(update) => {
            memory::curves(frame, curves, update, theme);
            put(frame, sums, head::sums(update, sums.width, theme));
            put(frame, parts, memory::parts(update, parts.width, theme));
        }
        None => put(frame, sums, Line::styled(fit(&model.waits, sums.width.into()), theme.strong)),
    }
    model.page = usize::from(body.height.saturating_sub(1)).max(1);
    match model.table {
        _ if model.has_help => help(frame, body, theme),
        _ if model.update.is_none() => {}
        Table::Places => table::places(frame, body, model, theme),
        Table::Threads => table::threads(frame, body, model, theme),
    }
    put(frame, foot, footer(model, foot.width, theme));
}

/// A line in the area, if that has one.
fn put(frame: &mut Frame<'_>, area: Rect, line: Line<'_>) {
    if area.height > 0 {
        frame.render_widget(line, area);
    }
}

fn footer(model: &Model, width: u16, theme: &Theme) -> Line<'static> {
    let width = usize::from(width);
    if model.is_typing {
        let text = format!("filter: {}▏ enter keeps it, esc shows all", model.filter);
        return Line::styled(fit(&text, width), theme.strong);
    }
    if let Some(text) = model.message() {
        return Line::styled(fit(text, width), theme.strong);
    }
    let mut line = Line::default();
    let mut room = width;
    for key in KEYS.iter().filter(|key| !key.word.is_empty()) {
        let word = format!(" {}  ", key.word);
        let takes = width_of(key.name) + width_of(&word);
        let Some(left) = room.checked_sub(takes) else { break };
        room = left;
        line.push_span(Span::styled(key.name, theme.strong));
        line.push_span(Span::raw(word));
    }
    line
}

/// Explanations of the columns that their heads do not give.
const COLUMNS: &[&str] = &[
    "allocs/s, bytes/s: allocations and reallocations over the last seconds",
    "live, blocks: requested and not freed; growth: live bytes since the mark",
    "RSS and live are drawn over the whole run, on one scale",
];

fn help(frame: &mut Frame<'_>, area: Rect, theme: &Theme) {
    let wide = KEYS.iter().map(|key| width_of(key.name)).max().unwrap_or(0);
    let room = usize::from(area.width).saturating_sub(wide + 2);
    let keys = KEYS.iter().map(|key| {
        let name = format!("{:<wide$}  ", key.name);
        Line::from(vec![Span::styled(name, theme.strong), Span::raw(fit(key.help, room))])
    });
    let columns = COLUMNS.iter().map(|text| Line::styled(fit(text, area.width.into()), theme.aside));
    frame.render_widget(Clear, area);
    frame.render_widget(Paragraph::new(keys.chain(columns).collect::<Vec<_>>()), area);
}
