//! Resident and live memory over time, and what resident memory consists of.

use super::super::clock::clock;
use super::super::update::Update;
use super::theme::Theme;
use heapwise_analysis::Breakdown;
use heapwise_report::names::{fit, width_of};
use heapwise_report::units::bytes;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Paragraph, Sparkline};

/// Columns in front of the curves.
const LABEL: u16 = 15;

/// Two curves on one scale, one below the other, so that they can be distinguished without colours.
pub(super) fn curves(frame: &mut Frame<'_>, area: Rect, update: &Update, theme: &Theme) {
    let [above, below] =
        Layout::vertical([Constraint::Length(area.height / 2), Constraint::Min(0)]).areas(area);
    let sums = &update.sums;
    let has_ended = update.end.is_some();
    let rss: Vec<u64> = update.curve.iter().map(|point| point.rss.map_or(0, |rss| rss.0)).collect();
    let live: Vec<u64> = update.curve.iter().map(|point| point.live.0).collect();
    let most = rss.iter().chain(&live).copied().max().unwrap_or(0).max(1);
    // Nothing is resident of a program that has ended.
    let rss_label = match has_ended {
        true => ["RSS".to_owned(), peak(sums.peak_rss.0)],
        false => [format!("RSS  {}", bytes(sums.rss.0)), peak(sums.peak_rss.0)],
    };
    let live_label = [format!("live {}", bytes(sums.live.0)), peak(sums.peak_live.0)];
    curve(frame, above, rss_label, &rss, most, theme.rss, theme);
    curve(frame, below, live_label, &live, most, theme.live, theme);
}

fn peak(most: u64) -> String {
    format!("peak {}", bytes(most))
}

fn curve(
    frame: &mut Frame<'_>,
    area: Rect,
    [name, peak]: [String; 2],
    points: &[u64],
    most: u64,
    style: Style,
    theme: &Theme,
) {
    let [label, graph] = Layout::horizontal([Constraint::Length(LABEL), Constraint::Min(0)]).areas(area);
    let name = if area.height == 1 && name == "RSS" { format!("RSS {peak}") } else { name };
    let lines = vec![
        Line::styled(fit(&name, LABEL.into()), theme.strong),
        Line::styled(fit(&peak, LABEL.into()), theme.aside),
    ];
    frame.render_widget(Paragraph::new(lines), label);
    let columns = columns(points, graph.width.into());
    frame.render_widget(Sparkline::default().data(&columns).max(most).style(style), graph);
}

/// So many columns, each with the highest point that is in it.
fn columns(points: &[u64], n: usize) -> Vec<u64> {
    if points.is_empty() {
        return Vec::new();
    }
    let at = |column: usize| column * points.len() / n;
    let of = |column| points[at(column)..at(column + 1).max(at(column) + 1)].iter().copied().max();
    (0..n).map(|column| of(column).unwrap_or(0)).collect()
}

/// The parts that pages were divided into, largest first.
pub(super) fn parts(update: &Update, width: u16, theme: &Theme) -> Line<'static> {
    let width = usize::from(width);
    let Some(parts) = &update.parts else {
        let why = match update.subject.sample_bytes > 1 {
            true => "what RSS consists of cannot be said of a sample: --sample=1 records everything",
            false => "what RSS consists of: its pages were not looked at yet",
        };
        return Line::styled(fit(why, width), theme.aside);
    };
    let mut named = named(parts);
    named.sort_by_key(|(_, part)| std::cmp::Reverse(*part));
    named.retain(|(_, part)| *part > 0);
    let past = if update.parts_are_past { "before its end, " } else { "" };
    let lead = format!("{past}RSS {} at {}: ", bytes(parts.rss.0), clock(parts.time.0));
    let mut text = String::new();
    let mut rest: u64 = named.iter().map(|(_, part)| part).sum();
    let room = width.saturating_sub(width_of(&lead));
    for (n, (name, part)) in named.iter().enumerate() {
        let separator = if n == 0 { "" } else { " · " };
        let with = format!("{text}{separator}{name} {}", bytes(*part));
        rest -= part;
        let others = if rest > 0 { format!(" · rest {}", bytes(rest)) } else { String::new() };
        if width_of(&with) + width_of(&others) > room {
            text = format!("{text}{separator}rest {}", bytes(rest + part));
            break;
        }
        text = with;
    }
    Line::from(vec![Span::styled(lead, theme.aside), Span::raw(fit(&text, room))])
}

fn named(parts: &Breakdown) -> Vec<(&'static str, u64)> {
    vec![
        ("live", parts.live.0),
        ("internal fragmentation", parts.internal_fragmentation.0),
        ("external fragmentation", parts.external_fragmentation.0),
        ("free pages", parts.free_pages.0),
        ("metadata", parts.metadata.0),
        ("from before", parts.before.0),
        ("unrecorded", parts.unrecorded.0),
        ("not heap", parts.not_heap.0),
        ("unaccounted", parts.unaccounted.0),
    ]
}

#[cfg(test)]
mod tests {
    use super::columns;

    #[test]
    fn columns_show_the_highest_point_and_young_runs_fill_the_line() {
        assert_eq!(columns(&[1, 9, 2, 3], 2), [9, 3]);
        assert_eq!(columns(&[1, 9], 4), [1, 1, 9, 9]);
        assert_eq!(columns(&[5], 3), [5, 5, 5]);
        assert!(columns(&[], 3).is_empty() && columns(&[1], 0).is_empty());
    }
}
