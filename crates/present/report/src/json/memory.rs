//! The field `memory`: curves, what resident bytes consist of, and the verdict.

use super::marks::{JsonMark, marks};
use heapwise_analysis::{Analysis, Breakdown, Pinned};
use heapwise_diagnosis::Verdict;
use serde::Serialize;

/// Points of `samples`.
const MOST_SAMPLES: usize = 1000;

#[derive(Serialize)]
pub(super) struct Memory<'a> {
    /// Null if it was not measured.
    peak_rss_bytes: Option<u64>,
    samples: Vec<Sample>,
    marks: Vec<JsonMark<'a>>,
    marks_not_listed: u64,
    at_peak: Option<JsonBreakdown>,
    at_end: Option<JsonBreakdown>,
    knows_block_sizes: bool,
    snapshots: Vec<JsonBreakdown>,
    pinned: Vec<JsonPinned>,
    verdict: Option<JsonVerdict<'a>>,
}

#[derive(Serialize)]
struct Sample {
    time_ns: u64,
    rss_bytes: Option<u64>,
    live_bytes: u64,
    /// (resident - live) / live; null without either.
    fragmentation: Option<f64>,
}

#[derive(Serialize)]
struct JsonBreakdown {
    time_ns: u64,
    pid: Option<u32>,
    rss_bytes: u64,
    live_bytes: u64,
    rounding_bytes: u64,
    holes_bytes: u64,
    retained_bytes: u64,
    metadata_bytes: u64,
    not_heap_bytes: u64,
    unaccounted_bytes: u64,
    lazily_freed_bytes: u64,
    huge_pages_bytes: u64,
    live_not_resident_bytes: u64,
}

#[derive(Serialize)]
struct JsonPinned {
    site: u32,
    bytes: u64,
    blocks: u64,
    pages: u64,
}

#[derive(Serialize)]
struct JsonVerdict<'a> {
    kind: &'static str,
    sentence: &'a str,
    remedy: &'a str,
}

impl<'a> Memory<'a> {
    pub(super) fn new(analysis: &'a Analysis, verdict: Option<&'a Verdict>) -> Self {
        let accounting = &analysis.accounting;
        let breakdown = |b: &Breakdown| JsonBreakdown::new(analysis, b);
        let samples = analysis.memory.samples(MOST_SAMPLES).into_iter().map(|s| Sample {
            time_ns: s.time.0,
            rss_bytes: s.rss.map(|b| b.0),
            live_bytes: s.live.0,
            fragmentation: s
                .rss
                .filter(|_| s.live.0 > 0)
                .map(|rss| (rss.0 as f64 - s.live.0 as f64) / s.live.0 as f64),
        });
        let pinned = accounting.pinned.iter().map(|p: &Pinned| JsonPinned {
            site: p.site.0,
            bytes: p.bytes.0,
            blocks: p.blocks,
            pages: p.pages,
        });
        Self {
            peak_rss_bytes: Some(analysis.memory.peak_rss.0).filter(|&bytes| bytes > 0),
            samples: samples.collect(),
            marks: marks(analysis),
            marks_not_listed: analysis.marks.not_listed(),
            at_peak: accounting.at_peak.as_ref().map(breakdown),
            at_end: accounting.at_end.as_ref().map(breakdown),
            knows_block_sizes: accounting.knows_block_sizes,
            snapshots: accounting.snapshots.iter().map(breakdown).collect(),
            pinned: pinned.collect(),
            verdict: verdict.map(|v| JsonVerdict {
                kind: v.kind.id(),
                sentence: &v.sentence,
                remedy: &v.remedy,
            }),
        }
    }
}

impl JsonBreakdown {
    fn new(analysis: &Analysis, b: &Breakdown) -> Self {
        Self {
            time_ns: b.time.0,
            pid: analysis.processes.iter().find(|p| p.index == b.process).map(|p| p.pid),
            rss_bytes: b.rss.0,
            live_bytes: b.live.0,
            rounding_bytes: b.rounding.0,
            holes_bytes: b.holes.0,
            retained_bytes: b.retained.0,
            metadata_bytes: b.metadata.0,
            not_heap_bytes: b.not_heap.0,
            unaccounted_bytes: b.unaccounted.0,
            lazily_freed_bytes: b.lazily_freed.0,
            huge_pages_bytes: b.huge_pages.0,
            live_not_resident_bytes: b.live_not_resident.0,
        }
    }
}
