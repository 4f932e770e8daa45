//! Whether what is seen at the end says something about the run.
//!
//! Nearly every program has freed its blocks when it ends, and nearly every allocator then holds pages without any.
//! That is no finding. It is one for a program that goes on like this for a good part of its life, or that ends with its
//! data in place.

use heapwise_analysis::{Analysis, Breakdown, Nanos};

/// Share of the run during which memory has to be mostly unused.
const IDLE_SHARE: f64 = 0.2;
/// And so long, since nothing is gained for others in less: for most of a run that is short itself, less is enough.
const IDLE_NS: u64 = 1_000_000_000;
const MOST_SHARE: f64 = 0.5;
/// What a program needs to free its blocks and to end is no part of its life.
const ENDING_NS: u64 = 100_000_000;
/// A process that ends with this share of the live bytes of its peak has not cleared up.
const KEPT_SHARE: f64 = 0.05;

/// Whether the program held mostly unused memory for a good part of its run, and still did at the end.
pub(crate) fn idles(analysis: &Analysis, peak: &Breakdown, end: &Breakdown) -> bool {
    if returned_memory(peak, end) || end.live.0.saturating_mul(4) > end.rss.0 {
        return false;
    }
    let samples = analysis.memory.samples(1000);
    let is_idle = |rss: u64, live: u64| rss.saturating_mul(2) >= peak.rss.0 && live.saturating_mul(4) < rss;
    let idle = samples.iter().filter(|s| s.rss.is_some_and(|rss| is_idle(rss.0, s.live.0))).count();
    let width = samples.last().map_or(0, |last| last.time.0 / samples.len() as u64);
    let (time, share) = (idle as u64 * width, idle as f64 / samples.len().max(1) as f64);
    share >= IDLE_SHARE && time >= IDLE_NS || share >= MOST_SHARE && time >= ENDING_NS
}

/// Whether this look is like the rest of the run, and not only what is left after clearing up.
pub(crate) fn counts(analysis: &Analysis, peak: &Breakdown, end: &Breakdown, look: &Breakdown) -> bool {
    let process = analysis.processes.iter().find(|process| process.index == look.process);
    // In a short run the only look may be that of the end.
    let most = process.map_or(peak.live, |process| process.totals.peak_live_bytes.max(peak.live));
    let has_its_data = look.live.0 > 0 && look.live.0 as f64 >= KEPT_SHARE * most.0 as f64;
    has_its_data || idles(analysis, peak, end)
}

/// How long before a look at pages the program's live bytes were at their highest, if that is what the pages are from: most of what
/// is resident was live, most of what is free was freed since, and that was not so long before that anything was to be gained in between.
/// `None` if it goes on like this, or ends so with its data in place.
pub(crate) fn since_the_live_peak(
    analysis: &Analysis,
    peak: &Breakdown,
    last: &Breakdown,
    look: &Breakdown,
) -> Option<Nanos> {
    let is_its_end = std::ptr::eq(look, last) && counts(analysis, peak, last, look);
    let ago = look.time.0.checked_sub(analysis.memory.live_peak_at.0)?;
    let process = analysis.processes.iter().find(|process| process.index == look.process)?;
    let most = process.totals.peak_live_bytes.0;
    // The moment is that of all processes together, so it has to be this one's as well.
    let has_the_peak = most.saturating_mul(10) >= analysis.totals.peak_live_bytes.0.saturating_mul(9);
    let freed_since = most.saturating_sub(look.live.0);
    let was_most = most.saturating_mul(2) >= look.rss.0 && freed_since.saturating_mul(2) >= look.free_pages.0;
    let is_short = ago < IDLE_NS || (ago as f64) < IDLE_SHARE * analysis.duration.0 as f64;
    (has_the_peak && was_most && is_short && !is_its_end && !idles(analysis, peak, last))
        .then_some(Nanos(ago))
}

/// Whether the memory of the peak was returned to the system by the end: then free pages at the peak were on their way out.
pub(crate) fn returned_memory(peak: &Breakdown, end: &Breakdown) -> bool {
    end.rss.0.saturating_mul(2) < peak.rss.0
}
