//! The sums.

use super::{Subject, counted, short};
use crate::document::{Block, Cell, Column, Section, Table, Words};
use crate::units::{about, bytes, count, share, time};
use heapwise_analysis::Analysis;
use heapwise_diagnosis::{Diagnosis, time_of_pages_again};

pub(super) fn sections(subject: &Subject<'_>) -> Vec<Section> {
    let analysis = subject.analysis;
    let t = &analysis.totals;
    let columns = [
        Column::new("total").least(17),
        Column::new("value").least(14).before(""),
        Column::new("note").before("   "),
    ];
    let mut table = Table { is_headless: true, ..Table::new(columns) };
    let mut row = |name: &str, value: String, note: String| {
        table.row([Cell::own(name), Cell::number(value), Cell::text(Words::faint(note))]);
    };
    // A request is an allocation or a reallocation: the bytes are those of both.
    let requests = t.allocations.saturating_add(t.reallocations).max(1);
    let average = bytes((t.allocated_bytes.0 as f64 / requests as f64).round() as u64);
    let asked = format!("{} requested, {average} a request", bytes(t.allocated_bytes.0));
    row("allocations", count(t.allocations), asked);
    if t.reallocations > 0 {
        row("reallocations", count(t.reallocations), "a buffer that grows, for instance".to_owned());
    }
    if analysis.sampled.is_none() {
        let temporary =
            format!("{}: freed before the next allocation", share(t.temporary_allocations, t.allocations));
        row("temporary", count(t.temporary_allocations), temporary);
    }
    let carried = analysis.carried;
    if analysis.meta.part > 1 {
        let note = format!("in {}, from the file before", counted(carried.blocks, "block", "blocks"));
        row("live at the start", bytes(carried.bytes.0), note);
    }
    let at = time(analysis.memory.live_peak_at.0);
    let blocks = |n| counted(n, "block", "blocks");
    let peak = format!("in {}, {at} after the start", blocks(t.peak_live_blocks));
    row("peak live", bytes(t.peak_live_bytes.0), peak);
    let mut exit = match t.live_at_exit_blocks {
        0 => "everything was freed".to_owned(),
        n => format!("in {}", blocks(n)),
    };
    if t.never_freed_bytes > t.live_at_exit_bytes {
        let all = bytes(t.never_freed_bytes.0);
        // Processes that ran one after the other leave more in all than there ever was.
        exit += &format!(" at once; {all} never freed");
    }
    let goes_on = analysis.processes.iter().any(|process| process.still_running);
    row(if goes_on { "live at the end" } else { "live at exit" }, bytes(t.live_at_exit_bytes.0), exit);
    let rss = analysis.memory.peak_rss.0;
    if rss > 0 {
        let note = rss_note(analysis, subject.diagnosis);
        let shared = match analysis.memory.shared_pages_count_once {
            _ if analysis.processes.len() == 1 => "",
            true => "shared pages count once (PSS)",
            false => "shared pages count for each process",
        };
        // Both have room in a line of a terminal only if the first is a word or two.
        match shared {
            "" => row("peak RSS", bytes(rss), note),
            shared if note.len() < 30 => row("peak RSS", bytes(rss), format!("{note}; {shared}")),
            shared => {
                row("peak RSS", bytes(rss), note);
                row("", String::new(), shared.to_owned());
            }
        }
    }
    if let Some(measured) = analysis.allocator_time() {
        let note = format!("± {}, from {} measured calls", time(measured.error.0), count(measured.samples));
        row("in allocator", time(measured.time.0), note);
    }
    let pages = time_of_pages_again(analysis).0;
    if pages > 0 && pages.saturating_mul(short::WORTH) >= analysis.duration.0 {
        let note = "at most: large blocks are mapped anew each time";
        row("new pages", about(pages), note.to_owned());
    }
    let troubles = [
        ("refused", t.failed_allocations, "calls that the allocator could not fulfil"),
        ("lost events", t.lost_events, "the numbers above are too low by these"),
    ];
    for (name, n, note) in troubles.into_iter().filter(|(_, n, _)| *n > 0) {
        row(name, count(n), note.to_owned());
    }
    vec![Section::new("Totals", [Block::Table(table)])]
}

/// What the highest resident set says about the heap.
pub(crate) fn rss_note(analysis: &Analysis, diagnosis: &Diagnosis) -> String {
    let factor = analysis.memory.peak_rss.0 as f64 / analysis.totals.peak_live_bytes.0.max(1) as f64;
    match (&diagnosis.unseen, &analysis.accounting.at_peak) {
        (Some(unseen), Some(look)) => {
            let share = share(unseen.unrecorded.0, look.rss.0);
            match analysis.is_of_the_peak(look) {
                true => format!("{share} of it unrecorded"),
                false => format!("{share} of {} at {} unrecorded", bytes(look.rss.0), time(look.time.0)),
            }
        }
        (Some(_), None) => "it is not known how much of it is recorded".to_owned(),
        (_, Some(look)) if look.before > look.not_heap && look.before > look.live => {
            format!("{} of it from before the recording", share(look.before.0, look.rss.0))
        }
        // Memory that was asked for and never touched, for instance.
        _ if factor < 0.95 => {
            format!(
                "{} of the live peak",
                share(analysis.memory.peak_rss.0, analysis.totals.peak_live_bytes.0)
            )
        }
        _ if factor < 100.0 => format!("{factor:.1} times the live peak"),
        _ => "mostly not heap".to_owned(),
    }
}
