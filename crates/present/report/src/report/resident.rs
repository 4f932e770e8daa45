//! What resident memory consists of.

use super::Subject;
use super::allocators;
use super::rows::file_name;
use crate::document::{Alert, Block, Cell, Column, Mark, Role, Section, Shown, Table, Words};
use crate::units::{bytes, count, share, time};
use heapwise_analysis::{AllocatorNumber, Analysis, Breakdown, Bytes, Warning};
use heapwise_diagnosis::Verdict;

/// Its name, how large it is, and what it is: for a narrow terminal, and in a few more words.
type Part = (&'static str, fn(&Breakdown) -> Bytes, [&'static str; 2]);

/// The part that belongs to no allocator.
pub(crate) const NOT_HEAP: &str = "not heap";
/// The part that belongs to no recorded one.
pub(crate) const UNRECORDED: &str = "unrecorded";
/// The parts of resident memory.
pub(crate) const PARTS: [Part; 9] = [
    ("live", |b| b.live, ["requested", "requested and not freed"]),
    ("internal fragmentation", |b| b.internal_fragmentation, ["size class", "usable minus requested bytes"]),
    ("external fragmentation", |b| b.external_fragmentation, ["used pages", "free bytes beside live blocks"]),
    ("free pages", |b| b.free_pages, ["all free", "resident, without a live block"]),
    ("metadata", |b| b.metadata, ["own tables", "the allocator's own tables"]),
    ("from before", |b| b.before, ["earlier", "resident when recording began"]),
    (UNRECORDED, |b| b.unrecorded, ["not seen", "other allocators, mmap"]),
    (NOT_HEAP, |b| b.not_heap, ["code, files", "code, stacks, files"]),
    ("unaccounted", |b| b.unaccounted, ["unexplained", "not explained"]),
];

/// Rows of places that pin pages.
const MOST_PINS: usize = 3;
/// A place that pins less than this, or than one part in so many of what is resident, is not worth a row.
const LEAST_PINNED: u64 = 64 << 10;
const PINNED_SHARE: u64 = 100;

/// The accounts at the peak and at the end, and the verdict; if pages were not measured, that and why.
pub(super) fn sections(subject: &Subject<'_>) -> Vec<Section> {
    let analysis = subject.analysis;
    let accounting = &analysis.accounting;
    let (Some(peak), Some(end)) = (&accounting.at_peak, &accounting.at_end) else {
        let alert = Alert { items: vec![(why_unseen(analysis).into(), String::new())], ..Alert::default() };
        let section = Section::new("Resident memory", [Block::Alert(alert)]).only(Shown::Terminal);
        return vec![section.aside("not accounted for: no page was examined")];
    };
    // Of several processes, this is about one.
    let is_missed = analysis.processes.len() == 1 && !analysis.is_of_the_peak(peak);
    let mut blocks = vec![Block::Table(parts(peak, end, is_missed))];
    if is_missed {
        let peak = bytes(analysis.memory.peak_rss.0);
        let sentence = format!("the peak of {peak} lay between two looks at the pages");
        blocks.push(Block::line(Mark::Indented, Words::faint(sentence)));
    }
    for (what, part) in [("in huge pages", peak.huge_pages), ("freed lazily (MADV_FREE)", peak.lazily_freed)]
    {
        if part.0 * 20 > peak.rss.0 {
            let sentence = format!(
                "{} of the {} is {what}",
                bytes(part.0),
                if is_missed { "highest look" } else { "peak" }
            );
            blocks.push(Block::line(Mark::Indented, Words::faint(sentence)));
        }
    }
    blocks.extend(block_sizes(analysis));
    if let Some(Verdict { sentence, remedy, .. }) = &subject.diagnosis.verdict {
        blocks.push(Block::line(Mark::Point, Words::of(Role::Strong, sentence.as_str())));
        blocks.push(Block::line(Mark::Nested, remedy.as_str()));
    }
    blocks.extend(pins(subject, peak.rss.min(end.rss)));
    let process = if analysis.processes.len() > 1 { which(analysis, peak) } else { String::new() };
    vec![Section::new("Resident memory", blocks).aside(format!("what it consists of{process}"))]
}

/// Whose blocks' sizes are not known, or those of another build.
fn block_sizes(analysis: &Analysis) -> Vec<Block> {
    let caveat = |text: String| Block::line(Mark::Item, Words::of(Role::Caveat, text));
    if !analysis.accounting.knows_block_sizes && analysis.allocators.len() < 2 {
        let contradicted = analysis.allocators.first().and_then(|of| of.contradicted.as_ref());
        let why = contradicted.map(|build| format!(" (they are not those of {build})")).unwrap_or_default();
        let text = format!(
            "the sizes of the allocator's blocks are not known{why}: internal fragmentation counts as external"
        );
        return vec![caveat(text)];
    }
    let with_blocks = analysis.allocators.iter().filter(|of| of.at_peak.live.0 > 0 || of.at_end.live.0 > 0);
    let sentences = with_blocks.filter_map(|of| {
        let name = allocators::name(analysis, of);
        let why = of.contradicted.as_ref().map(|build| format!(" (they are not those of {build})"));
        match &of.block_sizes_of {
            None => Some(caveat(format!(
                "the sizes of the blocks of {name} are not known{}: their internal fragmentation counts as external",
                why.unwrap_or_default()
            ))),
            Some(build) if of.number != AllocatorNumber::BY_NAME => {
                let text = format!("internal fragmentation of {name}: by the block sizes of {build}, which no live block contradicts");
                Some(Block::line(Mark::Indented, Words::faint(text)))
            }
            Some(_) => None,
        }
    });
    sentences.collect()
}

fn parts(peak: &Breakdown, end: &Breakdown, is_missed: bool) -> Table {
    let is_one = (peak.time, peak.rss, peak.live) == (end.time, end.rss, end.live);
    let highest = if is_missed { ["highest look", "highest"] } else { ["at the peak", "peak"] };
    let moments = [(highest[0], highest[1], peak), ("at the end", "end", end)];
    let moments = &moments[..if is_one { 1 } else { 2 }];
    // A name that is cut would be a riddle, and what it means stands in the last column, which gives way instead.
    let longest = PARTS.iter().filter(|part| moments.iter().any(|(_, _, moment)| part.1(moment).0 > 0));
    let longest = longest.map(|part| part.0.len()).max().unwrap_or(0);
    let mut columns = vec![Column::new("part").least(longest.max(11))];
    for (title, short, moment) in moments {
        let bytes = Column::new(*title).short(*short).below(format!("at {}", time(moment.time.0))).least(10);
        columns.extend([bytes, Column::new("share").short("").least(6)]);
    }
    columns.push(Column::new("what it is").short(""));
    let mut table = Table::new(columns);
    let cells = |part: fn(&Breakdown) -> Bytes| {
        let cell = move |b: &Breakdown| [bytes(part(b).0), share(part(b).0, b.rss.0)].map(Cell::number);
        moments.iter().flat_map(move |(_, _, moment)| cell(moment))
    };
    for (name, part, [short, what]) in PARTS {
        if moments.iter().any(|(_, _, moment)| part(moment).0 > 0) {
            let what = Cell::text(Words::faint(what)).or(Words::faint(short));
            table.row(std::iter::once(Cell::own(name)).chain(cells(part)).chain([what]));
        }
    }
    let rss = Cell::text(Words::of(Role::Strong, "RSS"));
    table.row(std::iter::once(rss).chain(cells(|b| b.rss)).chain([Cell::empty()]));
    table
}

/// The probable reason why heapwise could not examine pages.
pub(crate) fn why_unseen(analysis: &Analysis) -> &'static str {
    if analysis.is_from_inside() {
        return "a program that records itself does not examine them";
    }
    if analysis.sampled.is_some() {
        return "a sample does not say which blocks are in which page; record without --sample for that";
    }
    let lost = |w: &Warning| matches!(w, Warning::SkippedSections { .. } | Warning::Damaged { .. });
    if analysis.warnings.iter().any(lost) {
        return "the part of the recording that has the snapshots is probably damaged";
    }
    // Every user may read how many pages of a process are resident, but not which ones. When the number is read for the first
    // time, the pages are examined as well, so numbers without a snapshot of pages mean that access was refused. Without numbers
    // there was no time, or access was refused for the snapshot that a process waits for in exit().
    if analysis.memory.rss.is_empty() {
        "the program probably ended too soon and without exit(), or the system refused"
    } else {
        "the system probably refused: another user's process, or an undumpable one"
    }
}

fn which(analysis: &Analysis, moment: &Breakdown) -> String {
    let process = analysis.processes.iter().find(|p| p.index == moment.process);
    let process = process.map(|p| {
        let program = p.command.first().map_or("?", |command| file_name(command));
        format!(", of process {} ({program})", p.pid)
    });
    process.unwrap_or_default()
}

/// Places whose blocks keep mostly empty pages resident, of so much that is resident.
fn pins<'a>(subject: &'a Subject<'_>, rss: Bytes) -> impl Iterator<Item = Block> + 'a {
    let least = LEAST_PINNED.max(rss.0 / PINNED_SHARE);
    let pinned = subject.analysis.accounting.pinned.iter();
    pinned.filter(move |p| p.bytes.0 >= least).take(MOST_PINS).filter_map(|pinned| {
        let text = format!(
            "{} of free bytes in {} pages that only {} blocks of {} keep resident",
            bytes(pinned.bytes.0),
            count(pinned.pages),
            count(pinned.blocks),
            subject.rows.of(pinned.site)?.in_words()
        );
        Some(Block::line(Mark::Labelled("pinned"), text))
    })
}
