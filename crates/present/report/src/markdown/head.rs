//! What ran, what could not be seen, and what it adds up to.

use super::escape::{Spot, code, prose};
use super::table::Table;
use crate::names::fit;
use crate::text::head::ending;
use crate::text::page::counted;
use crate::units::{bytes, count, share, time};
use heapwise_analysis::Analysis;

/// Characters of a command line that are shown.
const LONGEST_COMMAND: usize = 200;

pub(crate) fn command_line(analysis: &Analysis) -> String {
    code(&fit(&analysis.meta.command.join(" "), LONGEST_COMMAND), Spot::Line)
}

pub(super) fn command(out: &mut String, analysis: &Analysis) {
    out.push_str(&format!("### heapwise: {}\n\n", command_line(analysis)));
    let mut facts = vec![ending(analysis)];
    if analysis.processes.len() != 1 || analysis.threads.len() != 1 {
        facts.push(counted(analysis.processes.len() as u64, "process", "processes"));
        facts.push(counted(analysis.threads.len() as u64, "thread", "threads"));
    }
    if let Some(process) = analysis.processes.first().filter(|p| !p.allocator.is_empty()) {
        let file = process.allocator.rsplit('/').next().unwrap_or(&process.allocator);
        facts.push(format!("malloc of {}", code(file, Spot::Line)));
    }
    out.push_str(&facts.join(" · "));
    out.push('\n');
}

pub(super) fn caveats(out: &mut String, analysis: &Analysis) {
    let spots = analysis.blind_spots.iter().map(|s| format!("not seen: {}; {}", s.what, s.remedy));
    let warnings = analysis.warnings.iter().map(|w| format!("{w}: {}", w.hint()));
    let cut = (analysis.stacks.cut_share() >= 0.01).then(|| {
        let share = share(analysis.stacks.cut_captures, analysis.stacks.captures);
        format!("{share} of the stacks end before the thread's first function")
    });
    warn(out, spots.chain(warnings).chain(cut));
}

/// A list of what to know before the numbers are trusted.
pub(crate) fn warn(out: &mut String, warnings: impl Iterator<Item = String>) {
    let mut warnings = warnings.peekable();
    if warnings.peek().is_some() {
        out.push_str("\n> [!WARNING]\n");
    }
    for warning in warnings {
        out.push_str(&format!("> - {}\n", prose(&warning, Spot::Line)));
    }
}

pub(super) fn totals(out: &mut String, analysis: &Analysis) {
    let t = &analysis.totals;
    let mut table = Table::new(&["total", "value:", "note"]);
    let mut row = |name: &str, value: String, note: String| table.row(&[name.to_owned(), value, note]);
    row("allocations", count(t.allocations), format!("{} requested", bytes(t.allocated_bytes.0)));
    row("resizes", count(t.reallocations), String::new());
    if analysis.sampled.is_none() {
        let temporary =
            format!("{}: freed before the next allocation", share(t.temporary_allocations, t.allocations));
        row("temporary", count(t.temporary_allocations), temporary);
    }
    row(
        "peak live",
        bytes(t.peak_live_bytes.0),
        format!("in {}", counted(t.peak_live_blocks, "block", "blocks")),
    );
    row(
        "live at exit",
        bytes(t.live_at_exit_bytes.0),
        format!("in {}", counted(t.live_at_exit_blocks, "block", "blocks")),
    );
    if analysis.memory.peak_rss.0 > 0 {
        row("peak RSS", bytes(analysis.memory.peak_rss.0), String::new());
    }
    row("duration", time(analysis.duration.0), "while being recorded".to_owned());
    if t.failed_allocations > 0 {
        row(
            "refused",
            count(t.failed_allocations),
            "requests that the allocator could not fulfil".to_owned(),
        );
    }
    if t.lost_events > 0 {
        row("lost events", count(t.lost_events), "the numbers above are too low by these".to_owned());
    }
    out.push('\n');
    out.push_str(&table.finish());
}
