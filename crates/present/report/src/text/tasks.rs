//! Tables of processes and threads, when there are several.

use super::page::{Ink, counted};
use super::page::{Page, left, right};
use crate::escape::terminal::escape;
use crate::units::{bytes, count};
use heapwise_analysis::{Analysis, Totals};

const HEAD: [&str; 3] = ["allocations", "bytes", "peak live"];

fn numbers(t: &Totals) -> String {
    format!(
        "{}  {}  {}",
        right(&count(t.allocations), 13),
        right(&bytes(t.allocated_bytes.0), 10),
        right(&bytes(t.peak_live_bytes.0), 10)
    )
}

fn head(last: &str, name: &str, columns: usize) -> String {
    let [a, b, c] = HEAD;
    format!("  {}  {}  {}  {}{last}", left(name, columns), right(a, 13), right(b, 10), right(c, 10))
}

/// The processes with most allocations.
pub(crate) fn processes(page: &mut Page, analysis: &Analysis, top: usize) {
    if analysis.processes.len() < 2 {
        return;
    }
    page.heading("PROCESSES", &format!("{} in all", count(analysis.processes.len() as u64)));
    let room = page.columns - 2 - 2 - 37 - 2 - 9;
    page.line(&[(Some(Ink::Faint), &head("   at exit", "process", room))]);
    let mut list: Vec<_> = analysis.processes.iter().collect();
    list.sort_by_key(|p| std::cmp::Reverse(p.totals.allocations));
    for process in list.iter().take(top) {
        let command = process.command.join(" ");
        let running = if process.still_running { " (still running)" } else { "" };
        let name = left(&format!("{}{running} {}", process.pid, escape(&command)), room);
        let exit = right(&bytes(process.totals.live_at_exit_bytes.0), 9);
        page.line(&[
            (None, "  "),
            (Some(Ink::Name), &name),
            (None, "  "),
            (None, &numbers(&process.totals)),
            (None, " "),
            (None, &exit),
        ]);
    }
    more(page, list.len(), top, "process", "processes");
}

/// The threads with most allocations.
pub(crate) fn threads(page: &mut Page, analysis: &Analysis, top: usize) {
    if analysis.threads.len() < 2 {
        return;
    }
    let n = count(analysis.threads.len() as u64);
    page.heading("THREADS", &format!("{n} in all; elsewhere: its blocks that another thread freed"));
    let room = page.columns - 2 - 2 - 37 - 2 - 13;
    page.line(&[(Some(Ink::Faint), &head("      elsewhere", "thread", room))]);
    let mut list: Vec<_> = analysis.threads.iter().collect();
    list.sort_by_key(|t| std::cmp::Reverse((t.totals.allocations, t.totals.deallocations)));
    for thread in list.iter().take(top) {
        let name = left(&format!("{} {}", thread.tid, escape(&thread.name)), room);
        let elsewhere = right(&count(thread.freed_elsewhere_blocks), 13);
        page.line(&[
            (None, "  "),
            (Some(Ink::Name), &name),
            (None, "  "),
            (None, &numbers(&thread.totals)),
            (None, "  "),
            (None, &elsewhere),
        ]);
    }
    more(page, list.len(), top, "thread", "threads");
}

fn more(page: &mut Page, n: usize, top: usize, one: &str, many: &str) {
    if n > top {
        let one = format!("more {one}");
        let many = format!("more {many}");
        let text = format!("  and {}", counted((n - top) as u64, &one, &many));
        page.line(&[(Some(Ink::Faint), &text)]);
    }
}
