//! Tables of processes and threads, when there are several.

use super::{Subject, rest};
use crate::document::{Block, Cell, Column, Section, Shown, Table, Words};
use crate::units::{bytes, count};
use heapwise_analysis::Totals;

pub(super) fn sections(subject: &Subject<'_>) -> Vec<Section> {
    let sections = [processes(subject), threads(subject)].into_iter().flatten();
    sections.map(|section| section.only(Shown::Terminal)).collect()
}

/// A table of those with most allocations.
fn table<T>(
    titles: [&str; 2],
    noun: [&str; 2],
    top: usize,
    all: &[T],
    row: impl Fn(&T) -> (String, &Totals, String),
) -> Table {
    let columns = [titles[0], "allocations", "bytes", "peak live", titles[1]];
    let least = [0, 13, 10, 10, 9];
    let mut table =
        Table::new(columns.iter().zip(least).map(|(title, least)| Column::new(*title).least(least)));
    for one in all.iter().take(top) {
        let (name, t, last) = row(one);
        let numbers = [count(t.allocations), bytes(t.allocated_bytes.0), bytes(t.peak_live_bytes.0), last];
        let name = Cell::text(Words::name(name));
        table.row(std::iter::once(name).chain(numbers.map(Cell::number)));
    }
    Table { rest: rest(all.len(), top, noun[0], noun[1]), ..table }
}

fn processes(subject: &Subject<'_>) -> Option<Section> {
    let mut list: Vec<_> = subject.analysis.processes.iter().collect();
    if list.len() < 2 {
        return None;
    }
    list.sort_by_key(|p| std::cmp::Reverse(p.totals.allocations));
    let table =
        table(["process", "at exit"], ["process", "processes"], subject.options.top, &list, |process| {
            let running = if process.still_running { " (still running)" } else { "" };
            let name = format!("{}{running} {}", process.pid, super::command_line(&process.command));
            (name, &process.totals, bytes(process.totals.live_at_exit_bytes.0))
        });
    let aside = format!("{} in all", count(list.len() as u64));
    Some(Section::new("Processes", [Block::Table(table)]).aside(aside))
}

fn threads(subject: &Subject<'_>) -> Option<Section> {
    let mut list: Vec<_> = subject.analysis.threads.iter().collect();
    if list.len() < 2 {
        return None;
    }
    list.sort_by_key(|t| std::cmp::Reverse((t.totals.allocations, t.totals.deallocations)));
    let table = table(["thread", "elsewhere"], ["thread", "threads"], subject.options.top, &list, |thread| {
        (format!("{} {}", thread.tid, thread.name), &thread.totals, count(thread.freed_elsewhere_blocks))
    });
    let n = count(list.len() as u64);
    let aside = format!("{n} in all; elsewhere: its blocks that another thread freed");
    Some(Section::new("Threads", [Block::Table(table)]).aside(aside))
}
