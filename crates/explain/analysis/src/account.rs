//! Makes the accounts of resident memory, of a recording's processes and of any whose live blocks are known.

use crate::accounting::{Accounting, Breakdown};
use crate::analysis::Analysis;
use crate::by_allocator::{Divided, OfAllocator};
use crate::heap::{LiveBlock, TouchedHeap};
use crate::residency::{self, HeapSnapshot, Pages, map, pins};
use crate::units::{Bytes, SiteId};
use heapwise_trace::file::pages::{Snapshot, UsableSizes};
use rustc_hash::FxHashMap;
use std::ops::Range;

/// What is known of a heap besides its resident pages, for [`account_for`].
#[derive(Clone, Copy, Debug)]
pub struct Heap<'a> {
    /// Path of the allocator's object file.
    pub allocator: &'a str,
    /// How large its blocks are, if that is known.
    pub sizes: Option<&'a UsableSizes>,
    /// Address and requested bytes of each live block.
    pub live: &'a [(u64, u64)],
    /// Ranges of addresses that ever held blocks.
    pub touched_pages: &'a [Range<u64>],
}

/// Accounts for the resident bytes of any process whose live blocks are known at the moment of the snapshot.
pub fn account_for(snapshot: Snapshot, heap: Heap<'_>) -> Breakdown {
    let mut touched_pages = TouchedHeap::default();
    heap.touched_pages
        .iter()
        .for_each(|range| touched_pages.mark(range.start, range.end.saturating_sub(range.start)));
    let mut live: Vec<LiveBlock> =
        heap.live.iter().map(|&(address, size)| LiveBlock::new(address, size, 0)).collect();
    live.sort_unstable();
    let live_bytes = live.iter().map(|block| block.size()).sum();
    let heap_snapshot = HeapSnapshot { slot: 0, snapshot, live, live_bytes, before: Default::default() };
    residency::allocator::Allocator::new(heap.allocator, heap.sizes, false)
        .breakdown(&heap_snapshot, &[&touched_pages])
}

/// What an allocator takes beside a block that was requested with this size.
fn beside_block(sizes: &UsableSizes, requested: Bytes) -> Bytes {
    Bytes(sizes.header_bytes.saturating_add(sizes.of(requested.0)).saturating_sub(requested.0))
}

impl Analysis {
    /// What the allocator takes beside a block of a site's largest size, if that is known.
    pub fn beside(&self, site: SiteId) -> Option<Bytes> {
        self.accounting.beside.get(&site).copied()
    }

    /// Makes the accounts; `site_of` has the site of each raw one.
    pub(crate) fn account(&mut self, site_of: &[SiteId]) {
        let pages = &self.residency;
        let Pages { residency, touched_pages, touched_by, .. } = pages;
        let all: Vec<&TouchedHeap> = touched_pages.iter().collect();
        let divided = |heap_snapshot: &HeapSnapshot| {
            pages.allocator(heap_snapshot.slot).divided(heap_snapshot, &all, touched_by)
        };
        let latest = residency.latest.as_ref().or(residency.peak.as_ref());
        let (peak, end) = (residency.peak.as_ref().map(divided), latest.map(divided));
        for of in &mut self.allocators {
            let parts = |of_all: &Option<Divided>| of_all.as_ref()?.parts.get(&of.number).copied();
            (of.at_peak, of.at_end) = (parts(&peak).unwrap_or_default(), parts(&end).unwrap_or_default());
            let slot = residency.peak.as_ref().map(|heap_snapshot| heap_snapshot.slot);
            let sizes = slot.and_then(|slot| pages.allocator(slot).sizes(of.number));
            of.block_sizes_of = sizes.map(|sizes| sizes.allocator.clone());
            of.contradicted = residency.contradicted.get(&of.number).cloned();
        }
        let (at_peak, at_end) = (peak.map(|peak| peak.breakdown), end.map(|end| end.breakdown));
        // What is pinned is best seen when most is free beside live blocks.
        let end_has_more =
            at_end.map(|b| b.external_fragmentation) > at_peak.map(|b| b.external_fragmentation);
        let heap_snapshot = if end_has_more { latest } else { residency.peak.as_ref() };
        let (page_map, pinned) = match heap_snapshot {
            Some(heap_snapshot) => {
                let allocator = pages.allocator(heap_snapshot.slot);
                let pinned = pins::pinned(heap_snapshot, &allocator, site_of, &self.places_of_sites());
                (
                    touched_pages
                        .first()
                        .map(|touched_pages| map::map(heap_snapshot, &allocator, touched_pages)),
                    pinned,
                )
            }
            None => (None, Vec::new()),
        };
        let mut beside = FxHashMap::default();
        if let Some(heap_snapshot) = &residency.peak {
            let allocator = pages.allocator(heap_snapshot.slot);
            for (raw, id) in site_of.iter().enumerate() {
                let number = pages.of_site.get(raw).copied().unwrap_or_default();
                if let (Some(sizes), Some(site)) = (allocator.sizes(number), self.sites.get(id.0 as usize)) {
                    // A place with blocks of several allocators has the largest.
                    let known: &mut Bytes = beside.entry(*id).or_default();
                    *known = (*known).max(beside_block(sizes, site.largest_bytes));
                }
            }
        }
        let snapshots = residency.requested.clone();
        let has_blocks = |of: &&OfAllocator| (of.at_peak.live + of.at_end.live).0 > 0;
        let knows_block_sizes = heap_snapshot.is_some()
            && self.allocators.iter().filter(has_blocks).all(|of| of.block_sizes_of.is_some());
        self.accounting =
            Accounting { at_peak, at_end, knows_block_sizes, snapshots, page_map, pinned, beside };
    }

    /// A number for each site's place in the user's code: sites with the same nearest frame have the same.
    fn places_of_sites(&self) -> Vec<u32> {
        let mut known = FxHashMap::default();
        let places = self.sites.iter().map(|site| {
            let mut frames = self.stacks_by_name.frames(site.stack).flat_map(|list| self.names.frames(list));
            let frame = site.user_frame.and_then(|at| frames.nth(at));
            let place = frame.map(|(f, _)| (f.function, f.file, f.line, f.address));
            let next = known.len() as u32;
            // A site without a frame of the user's is a separate place.
            place.map_or(site.id.0 | 1 << 31, |place| *known.entry(place).or_insert(next))
        });
        places.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_and_the_rest_of_the_size_class_are_beside_a_block() {
        let glibc = UsableSizes { header_bytes: 8, sizes: vec![24, 40, 56], ..UsableSizes::default() };
        let jemalloc = UsableSizes { sizes: vec![8, 16, 24, 32], ..UsableSizes::default() };
        let beside = |sizes, requested| beside_block(sizes, Bytes(requested)).0;
        assert_eq!([16, 24, 25].map(|size| beside(&glibc, size)), [16, 8, 23]);
        assert_eq!([16, 24, 25].map(|size| beside(&jemalloc, size)), [0, 0, 7]);
    }
}
