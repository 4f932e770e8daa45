//! Memory over time, drawn with characters.

use super::page::Ink;
use super::page::{Page, right};
use crate::units::{bytes, time};
use heapwise_analysis::{Analysis, MemorySample};

const ROWS: usize = 8;
/// Columns of the labels at the left.
const LABELS: usize = 11;

/// What is drawn with.
struct Brush {
    /// From nearly nothing to a whole cell.
    live: &'static [char],
    rss: char,
    axis: char,
    corner: char,
    line: char,
}

const UNICODE: Brush =
    Brush {
        live: &['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'], rss: '░', axis: '┤', corner: '└', line: '─'
    };
const ASCII: Brush = Brush { live: &['#'], rss: '.', axis: '|', corner: '+', line: '-' };

/// The chart of live and resident bytes; nothing for a run that is too short to have a course.
pub(crate) fn over_time(page: &mut Page, analysis: &Analysis, ascii: bool) {
    let columns = page.columns - LABELS - 2;
    let samples = analysis.memory.samples(columns);
    let highest = samples.iter().map(|s| s.live.0.max(s.rss.map_or(0, |r| r.0))).max().unwrap_or(0);
    if samples.len() < 8 || highest == 0 {
        return;
    }
    let brush = if ascii { ASCII } else { UNICODE };
    let has_rss = samples.iter().any(|s| s.rss.is_some_and(|r| r.0 > 0));
    let full = brush.live[brush.live.len() - 1];
    let legend =
        if has_rss { format!("{full} live, {} resident (RSS)", brush.rss) } else { format!("{full} live") };
    page.heading("MEMORY OVER TIME", &legend);
    // A run with few samples is drawn wide, each sample in several columns.
    let wide = (columns / samples.len()).max(1);
    for row in (0..ROWS).rev() {
        let label = match row {
            r if r == ROWS - 1 => bytes(highest),
            r if r == ROWS / 2 - 1 => bytes(highest / 2),
            _ => String::new(),
        };
        let cells: String =
            samples.iter().flat_map(|s| std::iter::repeat_n(cell(s, row, highest, &brush), wide)).collect();
        let axis = format!("{} {}", right(&label, LABELS), brush.axis);
        page.line(&[(Some(Ink::Faint), &axis), (None, &cells)]);
    }
    let n = samples.len() * wide;
    let last = time(samples.last().map_or(0, |s| s.time.0).max(analysis.duration.0));
    let line: String = std::iter::repeat_n(brush.line, n).collect();
    page.line(&[(Some(Ink::Faint), &format!("{} {}{line}", right("0", LABELS), brush.corner))]);
    let times = format!("{}0{}", " ".repeat(LABELS + 2), right(&last, n.saturating_sub(1)));
    let times = if ascii { times.replace('µ', "u") } else { times };
    page.line(&[(Some(Ink::Faint), &times)]);
}

/// What is in a cell: the part of its height that is live, else whether it is resident.
fn cell(sample: &MemorySample, row: usize, highest: u64, brush: &Brush) -> char {
    let height = |n: u64| n as f64 / highest as f64 * ROWS as f64 - row as f64;
    let live = height(sample.live.0);
    let rss = height(sample.rss.map_or(0, |r| r.0));
    let steps = brush.live.len() as f64;
    // Whatever is not nothing is seen in the lowest row.
    if live >= 1.0 {
        brush.live[brush.live.len() - 1]
    } else if live * steps >= 0.5 || (row == 0 && sample.live.0 > 0 && rss < 0.5) {
        brush.live[((live * steps).round() as usize).clamp(1, brush.live.len()) - 1]
    } else if rss >= 0.5 {
        brush.rss
    } else {
        ' '
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use heapwise_analysis::{Bytes, Nanos};

    #[test]
    fn cells_are_filled_from_below() {
        let sample = MemorySample { time: Nanos(0), rss: Some(Bytes(80)), live: Bytes(25) };
        let column: String = (0..ROWS).map(|row| cell(&sample, row, 80, &UNICODE)).collect();
        assert_eq!(column, "██▄░░░░░");
        let column: String = (0..ROWS).map(|row| cell(&sample, row, 160, &ASCII)).collect();
        assert_eq!(column, "#..."[..1].to_owned() + "...    ");
    }
}
