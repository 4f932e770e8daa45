//! The field `memory`: curves, what resident bytes consist of, and the verdict.

use super::marks::marks;
use crate::report::allocators;
use crate::schema::report::{AllocatorParts, Breakdown, Memory, OfAllocator, Pinned, Sample, Verdict};
use heapwise_analysis::{self as analysis, Analysis};
use heapwise_diagnosis as diagnosis;

/// Points of `samples`.
const MOST_SAMPLES: usize = 1000;

pub(super) fn memory(analysis: &Analysis, verdict: Option<&diagnosis::Verdict>) -> Memory {
    let accounting = &analysis.accounting;
    let breakdown = |b: &analysis::Breakdown| breakdown(analysis, b);
    let samples = analysis.memory.samples(MOST_SAMPLES).into_iter().map(|s| Sample {
        time_ns: s.time.0,
        rss_bytes: s.rss.map(|b| b.0),
        live_bytes: s.live.0,
        fragmentation: s
            .rss
            .filter(|_| s.live.0 > 0)
            .map(|rss| (rss.0 as f64 - s.live.0 as f64) / s.live.0 as f64),
    });
    let pinned = accounting.pinned.iter().map(|p| Pinned {
        site: p.site.0,
        bytes: p.bytes.0,
        blocks: p.blocks,
        pages: p.pages,
    });
    Memory {
        peak_rss_bytes: Some(analysis.memory.peak_rss.0).filter(|&bytes| bytes > 0),
        shared_pages_count_once: analysis.memory.shared_pages_count_once,
        samples: samples.collect(),
        marks: marks(analysis),
        marks_not_listed: analysis.marks.not_listed(),
        at_peak: accounting.at_peak.as_ref().map(breakdown),
        at_end: accounting.at_end.as_ref().map(breakdown),
        knows_block_sizes: accounting.knows_block_sizes,
        snapshots: accounting.snapshots.iter().map(breakdown).collect(),
        pinned: pinned.collect(),
        verdict: verdict.map(|v| Verdict {
            kind: v.kind.id().to_owned(),
            sentence: v.sentence.clone(),
            remedy: v.remedy.clone(),
        }),
        allocators: by_allocator(analysis),
    }
}

/// The part of each allocator, unless the only one is found by name.
pub(crate) fn by_allocator(analysis: &Analysis) -> Vec<OfAllocator> {
    let all =
        Some(&analysis.allocators).filter(|all| all.len() > 1 || all.iter().any(|of| of.inside.is_some()));
    all.into_iter().flatten().map(|of| of_allocator(analysis, of)).collect()
}

fn of_allocator(analysis: &Analysis, of: &analysis::OfAllocator) -> OfAllocator {
    let inside = of.inside.as_ref();
    OfAllocator {
        name: allocators::name(analysis, of),
        allocator: inside.map(|inside| inside.allocator.clone()).filter(|name| !name.is_empty()),
        file: inside.map(|inside| inside.file.clone()),
        allocations: of.allocations,
        allocated_bytes: of.allocated_bytes.0,
        peak_live_bytes: of.peak_live_bytes.0,
        peak_live_blocks: of.peak_live_blocks,
        live_at_exit_bytes: of.live_at_exit_bytes.0,
        live_at_exit_blocks: of.live_at_exit_blocks,
        at_peak: parts(&of.at_peak),
        at_end: parts(&of.at_end),
        block_sizes_of: of.block_sizes_of.clone(),
    }
}

fn parts(parts: &analysis::Parts) -> AllocatorParts {
    AllocatorParts {
        live_bytes: parts.live.0,
        internal_fragmentation_bytes: parts.internal_fragmentation.0,
        external_fragmentation_bytes: parts.external_fragmentation.0,
        free_pages_bytes: parts.free_pages.0,
        metadata_bytes: parts.metadata.0,
    }
}

/// What the resident bytes of a moment consist of.
pub(crate) fn breakdown(analysis: &Analysis, b: &analysis::Breakdown) -> Breakdown {
    Breakdown {
        time_ns: b.time.0,
        pid: analysis.processes.iter().find(|p| p.index == b.process).map(|p| p.pid),
        rss_bytes: b.rss.0,
        live_bytes: b.live.0,
        internal_fragmentation_bytes: b.internal_fragmentation.0,
        external_fragmentation_bytes: b.external_fragmentation.0,
        free_pages_bytes: b.free_pages.0,
        metadata_bytes: b.metadata.0,
        before_bytes: b.before.0,
        unrecorded_bytes: b.unrecorded.0,
        not_heap_bytes: b.not_heap.0,
        unaccounted_bytes: b.unaccounted.0,
        lazily_freed_bytes: b.lazily_freed.0,
        huge_pages_bytes: b.huge_pages.0,
        live_not_resident_bytes: b.live_not_resident.0,
    }
}
