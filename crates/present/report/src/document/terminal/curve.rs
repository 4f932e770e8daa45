//! Memory over time, drawn with characters.

use super::page::{Page, right};
use crate::document::Role;
use crate::units::{bytes, time};
use heapwise_analysis::MemorySample;

const ROWS: usize = 8;
/// Columns of the labels at the left.
const LABELS: usize = 11;

/// The course of live and resident bytes.
#[derive(Clone, Debug)]
pub struct Course {
    /// No more than fit on the terminal; see [`Course::columns`].
    pub samples: Vec<MemorySample>,
    /// How long the run took, in nanoseconds.
    pub duration_ns: u64,
    /// Whether only ASCII characters may be used.
    pub ascii: bool,
}

impl Course {
    /// How many samples there is room for.
    pub fn columns(style: crate::Style) -> usize {
        style.columns() - LABELS - 2
    }

    /// The meaning of the characters, in words.
    pub fn legend(&self) -> String {
        let brush = self.brush();
        let full = brush.live[brush.live.len() - 1];
        match self.samples.iter().any(|s| s.rss.is_some_and(|r| r.0 > 0)) {
            true => format!("{full} live, {} resident (RSS)", brush.rss),
            false => format!("{full} live"),
        }
    }

    /// The highest number; nothing for a run that is too short to have a course.
    pub fn highest(&self) -> Option<u64> {
        let highest = self.samples.iter().map(|s| s.live.0.max(s.rss.map_or(0, |r| r.0))).max()?;
        (self.samples.len() >= 8 && highest > 0).then_some(highest)
    }

    fn brush(&self) -> Brush {
        if self.ascii { ASCII } else { UNICODE }
    }
}

/// The characters for drawing.
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

/// The chart.
pub(super) fn over_time(page: &mut Page, course: &Course) {
    let Some(highest) = course.highest() else { return };
    let (samples, brush) = (&course.samples, course.brush());
    // A run with few samples is drawn wide, each sample in several columns.
    let wide = ((page.columns - LABELS - 2) / samples.len()).max(1);
    for row in (0..ROWS).rev() {
        let label = match row {
            r if r == ROWS - 1 => bytes(highest),
            r if r == ROWS / 2 - 1 => bytes(highest / 2),
            _ => String::new(),
        };
        let cells: String =
            samples.iter().flat_map(|s| std::iter::repeat_n(cell(s, row, highest, &brush), wide)).collect();
        let axis = format!("{} {}", right(&label, LABELS), brush.axis);
        page.line([(Role::Faint, axis), (Role::Own, cells)]);
    }
    let n = samples.len() * wide;
    let last = time(samples.last().map_or(0, |s| s.time.0).max(course.duration_ns));
    let line: String = std::iter::repeat_n(brush.line, n).collect();
    page.line([(Role::Faint, format!("{} {}{line}", right("0", LABELS), brush.corner))]);
    let times = format!("{}0{}", " ".repeat(LABELS + 2), right(&last, n.saturating_sub(1)));
    page.line([(Role::Faint, if course.ascii { times.replace('µ', "u") } else { times })]);
}

/// What is in a cell: the part of its height that is live, else whether it is resident.
fn cell(sample: &MemorySample, row: usize, highest: u64, brush: &Brush) -> char {
    let height = |n: u64| n as f64 / highest as f64 * ROWS as f64 - row as f64;
    let live = height(sample.live.0);
    let rss = height(sample.rss.map_or(0, |r| r.0));
    let steps = brush.live.len() as f64;
    // Any value above zero is visible in the lowest row.
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
