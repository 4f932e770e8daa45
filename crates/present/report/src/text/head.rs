//! What ran, what could not be seen, and what it adds up to.

use super::page::{Ink, counted};
use super::page::{Page, left};
use crate::escape::terminal::escape;
use crate::units::{bytes, count, share, time};
use heapwise_analysis::Analysis;

/// What ran and how it ended.
pub(crate) fn command(page: &mut Page, analysis: &Analysis) {
    let command = analysis.meta.command.join(" ");
    page.line(&[(Some(Ink::Heading), "heapwise: "), (Some(Ink::Heading), &escape(&command))]);
    let mut facts = vec![ending(analysis)];
    if analysis.processes.len() != 1 || analysis.threads.len() != 1 {
        let (processes, threads) = (analysis.processes.len() as u64, analysis.threads.len() as u64);
        facts.push(counted(processes, "process", "processes"));
        facts.push(counted(threads, "thread", "threads"));
    }
    facts.push(interception(analysis));
    page.paragraph(Some(Ink::Faint), "", &facts.join(" · "));
}

/// How it ended, and how long it took.
pub(crate) fn ending(analysis: &Analysis) -> String {
    let took = time(analysis.duration.0);
    let Some(end) = &analysis.end else { return format!("no recorded end, at least {took}") };
    match (end.signal, end.exit_code) {
        (Some(signal), _) => format!("ended by signal {signal} after {took}"),
        (None, Some(code)) => format!("exited with {code} after {took}"),
        (None, None) => format!("took {took}"),
    }
}

fn interception(analysis: &Analysis) -> String {
    let mode = escape(&analysis.meta.interception);
    let mut allocators: Vec<_> =
        analysis.processes.iter().map(|p| p.allocator.as_str()).filter(|a| !a.is_empty()).collect();
    allocators.dedup();
    let name = |path: &str| escape(path.rsplit('/').next().unwrap_or(path)).into_owned();
    let wrapper = mode == "wrapper";
    let below = if wrapper { " over " } else { ", malloc of " };
    let of = match allocators.as_slice() {
        [] => String::new(),
        [one] => format!("{below}{}", name(one)),
        [first, more @ ..] => format!("{below}{} and {} more", name(first), more.len()),
    };
    if mode.is_empty() && of.is_empty() {
        return "interception unknown".to_owned();
    }
    let door = match () {
        () if mode.is_empty() => "?",
        () if wrapper => "heapwise::Allocator",
        () => &mode,
    };
    format!("seen by {door}{of}")
}

/// Blind spots and warnings.
pub(crate) fn caveats(page: &mut Page, analysis: &Analysis) {
    if !analysis.blind_spots.is_empty() {
        page.empty();
        page.line(&[(Some(Ink::Caveat), "NOT SEEN")]);
        for spot in &analysis.blind_spots {
            page.paragraph(None, "  ! ", &escape(&spot.what));
            if !spot.remedy.is_empty() {
                page.paragraph(Some(Ink::Faint), "    ", &escape(&spot.remedy));
            }
        }
    }
    let cut = analysis.stacks.cut_share();
    if analysis.warnings.is_empty() && cut < 0.01 {
        return;
    }
    page.empty();
    page.line(&[(Some(Ink::Caveat), "WARNINGS")]);
    for warning in &analysis.warnings {
        page.paragraph(None, "  ! ", &escape(&warning.to_string()));
        page.paragraph(Some(Ink::Faint), "    ", warning.hint());
    }
    if cut >= 0.01 {
        let share = share(analysis.stacks.cut_captures, analysis.stacks.captures);
        page.paragraph(
            None,
            "  ! ",
            &format!("{share} of the stacks end before the thread's first function"),
        );
        page.paragraph(
            Some(Ink::Faint),
            "    ",
            "their inner frames are right; code without unwind tables, or more than 16,384 frames, are below them",
        );
    }
}

/// Instead of tables, when there was no event at all.
pub(crate) fn nothing(page: &mut Page, analysis: &Analysis) {
    page.empty();
    page.line(&[(Some(Ink::Caveat), "NO ALLOCATION WAS SEEN")]);
    let joined = analysis.processes.len() as u64;
    let what = if joined == 0 {
        "No process joined the recording, so the program's allocator calls did not pass by heapwise."
    } else {
        "The program joined the recording, and made no allocator call that passed by heapwise."
    };
    page.paragraph(None, "  ", what);
    if analysis.blind_spots.is_empty() {
        page.paragraph(None, "  ", "What usually is the reason:");
        let reasons = [
            "the program is linked statically, or is set-uid: the loader does not preload anything into it",
            "it brings its own allocator (jemalloc, mimalloc, a Rust #[global_allocator]) inside the executable: build it without, or record with the allocator's shared library preloaded",
            "recording was held off with a delay, and the program ended before",
            "it only started other programs, and following them was turned off",
        ];
        for reason in reasons {
            page.paragraph(None, "  - ", reason);
        }
    } else {
        page.paragraph(None, "  ", "See NOT SEEN above for the reason and what to do.");
    }
}

/// The sums.
pub(crate) fn totals(page: &mut Page, analysis: &Analysis) {
    let t = &analysis.totals;
    page.heading("TOTALS", "");
    let mut row = |name: &str, value: String, note: String| {
        let name = left(&format!("  {name}"), 19);
        let value = format!("{value:>14}");
        page.line(&[(None, &name), (Some(Ink::Heading), &value), (None, "   "), (Some(Ink::Faint), &note)]);
    };
    // By the row's own number. What reallocations asked for is in the bytes.
    let average = (t.allocated_bytes.0 as f64 / t.allocations.max(1) as f64).round() as u64;
    let asked = format!("{} requested, {} each on average", bytes(t.allocated_bytes.0), bytes(average));
    row("allocations", count(t.allocations), asked);
    if t.reallocations > 0 {
        row("resizes", count(t.reallocations), "a Vec or String that grows, for instance".to_owned());
    }
    if analysis.sampled.is_none() {
        let temporary =
            format!("{}: freed before the next allocation", share(t.temporary_allocations, t.allocations));
        row("temporary", count(t.temporary_allocations), temporary);
    }
    let at = time(analysis.memory.live_peak_at.0);
    let blocks = |n| counted(n, "block", "blocks");
    row(
        "peak live",
        bytes(t.peak_live_bytes.0),
        format!("in {}, {at} after the start", blocks(t.peak_live_blocks)),
    );
    let exit = if t.live_at_exit_blocks == 0 {
        "everything was freed".to_owned()
    } else {
        format!("in {}", blocks(t.live_at_exit_blocks))
    };
    row("live at exit", bytes(t.live_at_exit_bytes.0), exit);
    let rss = analysis.memory.peak_rss.0;
    if rss > 0 {
        let factor = rss as f64 / t.peak_live_bytes.0.max(1) as f64;
        let note = if factor < 100.0 {
            format!("{factor:.1} times the live peak")
        } else {
            "mostly not heap".to_owned()
        };
        row("peak RSS", bytes(rss), note);
    }
    if let Some(measured) = analysis.allocator_time().filter(|t| t.samples > 0) {
        let note = format!("± {}, from {} measured calls", time(measured.error.0), count(measured.samples));
        row("in allocator", time(measured.time.0), note);
    }
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
}
