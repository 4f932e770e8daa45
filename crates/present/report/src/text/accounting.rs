//! What resident memory consists of.

use super::page::{Ink, Page, left, right};
use super::rows::Rows;
use crate::escape::terminal::escape;
use crate::units::{bytes, count, share, time};
use heapwise_analysis::{Analysis, Breakdown, Bytes, Warning};
use heapwise_diagnosis::{Diagnosis, Verdict};

type Part = (&'static str, fn(&Breakdown) -> Bytes, &'static str);

/// The parts of resident memory, and what they are in a few words.
const PARTS: [Part; 7] = [
    ("live", |b| b.live, "as requested"),
    ("rounding", |b| b.rounding, "added to requests"),
    ("holes", |b| b.holes, "free, beside live blocks"),
    ("retained", |b| b.retained, "free pages, not given back"),
    ("metadata", |b| b.metadata, "the allocator's own"),
    ("not heap", |b| b.not_heap, "code, stacks, files"),
    ("unaccounted", |b| b.unaccounted, "not explained"),
];

/// Columns: name, two pairs of bytes and share, explanation.
const NAME: usize = 12;
const BYTES: usize = 10;
const SHARE: usize = 8;
/// Rows of places that pin pages.
const MOST_PINS: usize = 3;
/// A place that pins less than this is not worth a row.
const LEAST_PINNED: u64 = 64 << 10;

/// The accounts at the peak and at the end, and the verdict; if no pages were seen, that and why.
pub(crate) fn accounts(page: &mut Page, analysis: &Analysis, diagnosis: &Diagnosis, rows: &Rows) {
    let accounting = &analysis.accounting;
    let (Some(peak), Some(end)) = (&accounting.at_peak, &accounting.at_end) else {
        page.heading("RESIDENT MEMORY", "not accounted for: no page was looked at");
        page.paragraph(Some(Ink::Caveat), "  ! ", why_unseen(analysis));
        return;
    };
    let process = if analysis.processes.len() > 1 { which(analysis, peak) } else { String::new() };
    page.heading("RESIDENT MEMORY", &format!("what it consists of{process}"));
    let moment = |b: &Breakdown| format!("at {}", time(b.time.0));
    let both = peak.time != end.time;
    let columns = BYTES + SHARE;
    let mut titles = format!("  {}{}", " ".repeat(NAME), right("at the peak", columns));
    let mut times = format!("  {}{}", " ".repeat(NAME), right(&moment(peak), columns));
    if both {
        titles.push_str(&right("at the end", columns));
        times.push_str(&right(&moment(end), columns));
    }
    page.line(&[(Some(Ink::Faint), &titles)]);
    page.line(&[(Some(Ink::Faint), &times)]);
    let cell =
        |b: &Breakdown, part: Bytes| right(&bytes(part.0), BYTES) + &right(&share(part.0, b.rss.0), SHARE);
    let total = |b: &Breakdown| right(&bytes(b.rss.0), BYTES) + &" ".repeat(SHARE);
    for (name, part, what) in PARTS {
        if part(peak).0 == 0 && part(end).0 == 0 {
            continue;
        }
        let mut numbers = cell(peak, part(peak));
        if both {
            numbers.push_str(&cell(end, part(end)));
        }
        page.line(&[
            (None, "  "),
            (None, &left(name, NAME)),
            (None, &numbers),
            (Some(Ink::Faint), &format!("   {what}")),
        ]);
    }
    let mut numbers = total(peak);
    if both {
        numbers.push_str(&total(end));
    }
    page.line(&[(None, "  "), (Some(Ink::Heading), &left("RSS", NAME)), (None, &numbers)]);
    for (what, part) in
        [("in huge pages", peak.huge_pages), ("given up lazily (MADV_FREE)", peak.lazily_freed)]
    {
        if part.0 * 20 > peak.rss.0 {
            page.paragraph(Some(Ink::Faint), "  ", &format!("{} of the peak is {what}", bytes(part.0)));
        }
    }
    if !accounting.knows_block_sizes {
        let text =
            "the allocator did not tell how large its blocks are: what it adds to requests counts as holes";
        page.paragraph(Some(Ink::Caveat), "  ! ", text);
    }
    if let Some(Verdict { sentence, remedy, .. }) = &diagnosis.verdict {
        page.empty();
        page.paragraph(Some(Ink::Name), "  → ", sentence);
        page.paragraph(None, "    ", remedy);
    }
    pins(page, analysis, rows);
}

/// What probably kept heapwise from looking at pages.
fn why_unseen(analysis: &Analysis) -> &'static str {
    if analysis.is_from_inside() {
        return "a program that records itself does not look at them";
    }
    let lost = |w: &Warning| matches!(w, Warning::SkippedSections { .. } | Warning::Damaged { .. });
    if analysis.warnings.iter().any(lost) {
        return "the part of the recording that has the looks is probably damaged";
    }
    // How many pages are resident is told to everybody, which ones is not. Whoever's number is asked for the first time is
    // looked at as well, so numbers without a look mean that it was refused. Without numbers there was no time, or the look
    // that a process waits for in exit() was refused.
    if analysis.memory.rss.is_empty() {
        "it was probably over too soon and without exit(), or the system refused"
    } else {
        "the system probably refused: another user's process, or an undumpable one"
    }
}

fn which(analysis: &Analysis, moment: &Breakdown) -> String {
    let process = analysis.processes.iter().find(|p| p.index == moment.process);
    let process = process.map(|p| {
        let program = p.command.first().map_or("?", |c| c.rsplit('/').next().unwrap_or(c));
        format!(", of process {} ({})", p.pid, escape(program))
    });
    process.unwrap_or_default()
}

/// Places whose blocks keep mostly empty pages.
fn pins(page: &mut Page, analysis: &Analysis, rows: &Rows) {
    let pins = analysis.accounting.pinned.iter().filter(|p| p.bytes.0 >= LEAST_PINNED).take(MOST_PINS);
    for pinned in pins {
        let Some(row) = rows.of(pinned.site) else { continue };
        let place = if row.place.is_empty() { String::new() } else { format!(" ({})", row.place) };
        let text = format!(
            "{} is free in {} pages that only {} blocks of {}{place} keep",
            bytes(pinned.bytes.0),
            count(pinned.pages),
            count(pinned.blocks),
            row.function
        );
        page.paragraph(None, "  pinned: ", &text);
    }
}
