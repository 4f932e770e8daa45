//! Goes through the resident pages of a heap together with the live blocks, both by ascending addresses.

use super::HeapSnapshot;
use super::allocator::Allocator;
use heapwise_trace::file::pages::{MappedPages, PageRun};
use std::ops::Range;

/// A resident page and what live blocks have of it.
#[derive(Debug)]
pub(super) struct Page<'a> {
    pub(super) mapping: &'a MappedPages,
    pub(super) range: Range<u64>,
    pub(super) huge: bool,
    /// Requested bytes.
    pub(super) live: u64,
    /// Usable bytes behind them.
    pub(super) internal_fragmentation: u64,
    pub(super) header: u64,
    /// Indices of the live blocks that reach into it.
    pub(super) blocks: Range<usize>,
}

impl Page<'_> {
    pub(super) fn bytes(&self) -> u64 {
        self.range.end - self.range.start
    }

    /// Bytes that belong to no live block.
    pub(super) fn free(&self) -> u64 {
        self.bytes().saturating_sub(self.live + self.internal_fragmentation + self.header)
    }
}

/// Pages that are gone through at most: those of a heap of 256 GiB. A damaged recording may claim any number.
const MOST_PAGES: u64 = 1 << 26;

/// Blocks that are looked at on all pages together. A block lies on few pages, or has its pages for itself; in a damaged recording
/// all may lie on top of each other.
const MOST_STEPS: u64 = 1 << 29;

/// Bytes that two ranges have in common.
fn common(a: Range<u64>, b: &Range<u64>) -> u64 {
    a.end.min(b.end).saturating_sub(a.start.max(b.start))
}

/// Calls `visit` for each resident page of mappings that may be heap.
pub(super) fn each<'a>(
    heap_snapshot: &'a HeapSnapshot,
    allocator: &Allocator<'_>,
    mut visit: impl FnMut(&Page<'a>),
) {
    let page_bytes = heap_snapshot.snapshot.page_bytes.max(1);
    let blocks = &heap_snapshot.live;
    // Header, requested and usable end of a block.
    let extent = |i: usize| {
        let block = &blocks[i];
        let (header, usable) = allocator.extent(block, page_bytes);
        let start = block.address();
        (
            start.saturating_sub(header),
            start,
            start.saturating_add(block.size()),
            start.saturating_add(usable),
        )
    };
    let mut first = 0;
    let mut left = MOST_PAGES;
    let mut steps = MOST_STEPS;
    for mapping in heap_snapshot.snapshot.mappings.iter().filter(|m| m.kind.may_be_heap()) {
        for &PageRun { start, pages, huge } in &mapping.runs {
            // Blocks in front of a run lie on pages that are not resident. Searching is faster than going by them.
            first += blocks[first..]
                .partition_point(|b| b.address().saturating_add(b.size()).saturating_add(page_bytes) < start);
            let pages = pages.min(left);
            left -= pages;
            for n in 0..pages {
                let range = start + n * page_bytes..start + (n + 1) * page_bytes;
                while first < blocks.len() && extent(first).3 <= range.start {
                    first += 1;
                }
                let mut page = Page {
                    mapping,
                    range,
                    huge,
                    live: 0,
                    internal_fragmentation: 0,
                    header: 0,
                    blocks: first..first,
                };
                // The first block that the next page may have, too.
                let mut reaching = None;
                while page.blocks.end < blocks.len() && steps > 0 {
                    steps -= 1;
                    let (header, start, requested, usable) = extent(page.blocks.end);
                    if header >= page.range.end {
                        break;
                    }
                    page.header += common(header..start, &page.range);
                    page.live += common(start..requested, &page.range);
                    page.internal_fragmentation += common(requested..usable, &page.range);
                    if usable > page.range.end && reaching.is_none() {
                        reaching = Some(page.blocks.end);
                    }
                    page.blocks.end += 1;
                }
                visit(&page);
                first = reaching.unwrap_or(page.blocks.end);
            }
        }
    }
}
