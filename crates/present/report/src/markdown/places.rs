//! The user's places that cost most, and their stacks.

use super::escape::{Spot, block, code};
use super::table::{Table, folded};
use crate::names::fit;
use crate::text::TextOptions;
use crate::text::page::counted;
use crate::text::rows::{Measure, Row, Rows, function_of, place_of};
use crate::units::{bytes, count, share};
use heapwise_analysis::{Analysis, Site};

/// Frames of a stack that are shown. A comment has 65,536 characters on GitHub.
const MOST_FRAMES: usize = 40;
/// Characters of a name that are shown.
const LONGEST_NAME: usize = 120;

/// A table: its title, what it is sorted by, and what its sum is.
type Ranking = (&'static str, Measure, fn(&Analysis) -> u64);

const RANKINGS: [Ranking; 2] = [
    ("Most allocations", |s| s.allocations, |a| a.totals.allocations),
    ("Live at the peak", |s| s.peak_bytes, |a| a.totals.peak_live_bytes.0),
];

/// A name for a cell.
pub(crate) fn cell(name: &str) -> String {
    code(&fit(name, LONGEST_NAME), Spot::Cell)
}

/// The tables.
pub(super) fn places(out: &mut String, analysis: &Analysis, rows: &Rows, options: &TextOptions) {
    for (title, measure, whole) in RANKINGS {
        let whole = whole(analysis);
        let top = rows.top(measure, options.top);
        if top.is_empty() {
            continue;
        }
        let titles =
            ["share:", "allocations:", "temporary:", "bytes:", "at the peak:", "at exit:", "place", "via"];
        let mut table = Table::new(&titles);
        for row in &top {
            let s = &row.sums;
            table.row(&[
                share(measure(s), whole),
                count(s.allocations),
                count(s.temporary),
                bytes(s.bytes),
                bytes(s.peak_bytes),
                bytes(s.exit_bytes),
                place(row),
                if row.via(measure).0.is_empty() { String::new() } else { cell(row.via(measure).0) },
            ]);
        }
        let n = rows.list.iter().filter(|r| measure(&r.sums) > 0).count();
        out.push_str(&format!("\n#### {title}\n\n{}", table.finish()));
        if n > top.len() {
            out.push_str(&format!(
                "\nand {}\n",
                counted((n - top.len()) as u64, "more place", "more places")
            ));
        }
    }
}

fn place(row: &Row) -> String {
    let function = cell(&row.function);
    if row.place.is_empty() { function } else { format!("{function} {}", cell(&row.place)) }
}

/// The stacks of the places with most allocations, folded.
pub(super) fn stacks(out: &mut String, analysis: &Analysis, rows: &Rows, options: &TextOptions) {
    let measure = RANKINGS[0].1;
    let mut content = String::new();
    for row in rows.top(measure, options.top) {
        let Some((id, others)) = row.main_site(measure) else { continue };
        let Some(site) = analysis.sites().get(id.0 as usize) else { continue };
        let name = code(&fit(&row.function, LONGEST_NAME), Spot::Line);
        content.push_str(&format!("{name}, {}", counted(site.allocations, "allocation", "allocations")));
        if others > 0 {
            let others = counted(others as u64, "more stack", "more stacks");
            content.push_str(&format!(" (and {others} through the same place)"));
        }
        content.push_str(&format!("\n\n{}\n", stack(analysis, site, options)));
    }
    if !content.is_empty() {
        out.push_str(&folded("Stacks of the places with most allocations", &content));
    }
}

/// A site's stack as a block of code.
pub(crate) fn stack(analysis: &Analysis, site: &Site, options: &TextOptions) -> String {
    let frames = analysis.stack(site);
    let lines = frames.iter().take(MOST_FRAMES).enumerate().map(|(i, frame)| {
        let mark = if site.user_frame == Some(i) { '>' } else { ' ' };
        let (function, place) = (function_of(frame), place_of(frame, options));
        format!("{mark} {}  {}", fit(&function, LONGEST_NAME), fit(&place, LONGEST_NAME))
            .trim_end()
            .to_owned()
    });
    let mut lines: Vec<String> = lines.collect();
    if frames.len() > MOST_FRAMES {
        lines.push(format!("  … {} more frames", frames.len() - MOST_FRAMES));
    }
    block(&lines)
}
