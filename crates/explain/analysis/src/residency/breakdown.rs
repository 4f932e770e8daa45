//! What the resident bytes of a process consist of at one moment.

use super::HeapSnapshot;
use super::allocator::Allocator;
use super::pages::{self, Page};
use crate::accounting::Breakdown;
use crate::by_allocator::{Divided, PartsByNumber};
use crate::heap::TouchedHeap;
use crate::units::{Bytes, Nanos};
use heapwise_trace::event::AllocatorNumber;
use heapwise_trace::file::pages::{MappingKind, PageRun};
use std::ops::Range;

/// glibc keeps each of its further arenas in pieces of this size and alignment (`HEAP_MAX_SIZE`: twice the largest
/// threshold for mappings, on machines with 64 bits).
const ARENA_BYTES: u64 = 64 << 20;
/// Of transparent huge pages on x86-64 and, with pages of 4 KiB, on 64-bit Arm.
const HUGE_PAGE_BYTES: u64 = 2 << 20;
/// If an allocator has mapped fewer pieces than this, all of them were noted when it did.
const MOST_NOTED: usize = 1000;
/// What a page without a live block is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Empty {
    FreePage,
    Metadata,
    Unrecorded,
    Unaccounted,
}

impl Allocator<'_> {
    /// Accounts for every resident byte of a snapshot.
    /// `touched_pages` are those that ever held a block, of the process itself and then of those that it was forked from.
    pub(crate) fn breakdown(
        &self,
        heap_snapshot: &HeapSnapshot,
        touched_pages: &[&TouchedHeap],
    ) -> Breakdown {
        self.divided(heap_snapshot, touched_pages, &[]).breakdown
    }

    /// The same with the parts of each allocator. `touched_by` are the pages that ever held a block of each one that is not found by
    /// name. A page belongs to the allocator of its first block, or that had blocks in it.
    pub(crate) fn divided(
        &self,
        heap_snapshot: &HeapSnapshot,
        touched_pages: &[&TouchedHeap],
        touched_by: &[(AllocatorNumber, TouchedHeap)],
    ) -> Divided {
        let mut parts = PartsByNumber::new();
        let had = |start: u64, end: u64| {
            let had = touched_by.iter().find(|(_, touched)| touched.any(start, end));
            had.map(|(number, _)| *number)
        };
        let snapshot = &heap_snapshot.snapshot;
        let page_bytes = snapshot.page_bytes;
        let mut sum = Breakdown {
            process: snapshot.process,
            time: Nanos(snapshot.time_ns),
            lazily_freed: Bytes(snapshot.lazily_freed_bytes),
            ..Breakdown::default()
        };
        let elsewhere = snapshot.mappings.iter().filter(|m| !m.kind.may_be_heap());
        sum.not_heap = Bytes(
            elsewhere.map(|m| m.resident_pages.saturating_mul(page_bytes)).fold(0, u64::saturating_add),
        );
        let noted = snapshot.mappings.iter().filter(|m| m.kind == MappingKind::Allocator).count();
        let is_noted = (1..MOST_NOTED).contains(&noted);
        let (mut kind, mut mapping) = (Surroundings::default(), 0);
        pages::each(heap_snapshot, self, |page| {
            let bytes = Bytes(page.bytes());
            if page.huge {
                sum.huge_pages += bytes;
            }
            if !page.blocks.is_empty() {
                sum.live += Bytes(page.live);
                sum.internal_fragmentation += Bytes(page.internal_fragmentation);
                sum.metadata += Bytes(page.header);
                let first = heap_snapshot.live.get(page.blocks.start);
                let of = parts.entry(first.map(|block| self.number(block)).unwrap_or_default()).or_default();
                of.live += Bytes(page.live);
                of.internal_fragmentation += Bytes(page.internal_fragmentation);
                of.metadata += Bytes(page.header);
                match heap_snapshot.before.has(&page.range) {
                    true => sum.before += Bytes(page.free()),
                    false => {
                        sum.external_fragmentation += Bytes(page.free());
                        of.external_fragmentation += Bytes(page.free());
                    }
                }
                return;
            }
            if heap_snapshot.before.has(&page.range) {
                sum.before += bytes;
                return;
            }
            if page.mapping.start != mapping {
                mapping = page.mapping.start;
                kind = Surroundings::of(page, touched_pages);
                kind.number = had(page.mapping.start, page.mapping.end).unwrap_or_default();
                // Memory of others that grew together with the allocator's is not its.
                kind.has_blocks &= !is_noted || page.mapping.kind != MappingKind::Anonymous;
            }
            match self.empty(page, &mut kind, touched_pages) {
                Empty::FreePage => {
                    sum.free_pages += bytes;
                    // A huge page may never have had a block where this part of it is: then it is that of the allocator which had one
                    // elsewhere in it, or else in its mapping.
                    let of = |part: &Range<u64>| {
                        let is_by_name = || touched_pages.iter().any(|t| t.any(part.start, part.end));
                        let by_name = || is_by_name().then_some(AllocatorNumber::BY_NAME);
                        had(part.start, part.end).or_else(by_name)
                    };
                    let of_whole = || if page.huge { of(&huge_page(&page.range)) } else { None };
                    let number = of(&page.range).or_else(of_whole).unwrap_or(kind.number);
                    parts.entry(number).or_default().free_pages += bytes;
                }
                Empty::Metadata => {
                    sum.metadata += bytes;
                    parts.entry(kind.number).or_default().metadata += bytes;
                }
                Empty::Unrecorded => sum.unrecorded += bytes,
                Empty::Unaccounted => sum.unaccounted += bytes,
            }
        });
        let requested = heap_snapshot.live.iter().fold(0u64, |sum, b| sum.saturating_add(b.size()));
        sum.live_not_resident = Bytes(requested.saturating_sub(sum.live.0));
        let seen = [sum.heap(), sum.before, sum.unrecorded, sum.not_heap, sum.unaccounted];
        let seen = seen.iter().fold(0u64, |sum, part| sum.saturating_add(part.0));
        // The kernel's own sum is read after the pages; the process went on in between.
        let missed = snapshot.rss_bytes.saturating_sub(seen);
        sum.unaccounted += Bytes(missed);
        sum.rss = Bytes(seen.saturating_add(missed));
        Divided { breakdown: sum, parts }
    }

    fn empty(
        &self,
        page: &Page<'_>,
        surroundings: &mut Surroundings,
        touched_pages: &[&TouchedHeap],
    ) -> Empty {
        let [own, ancestors @ ..] = touched_pages else { return Empty::Unrecorded };
        if own.any(page.range.start, page.range.end) {
            return Empty::FreePage;
        }
        // A huge page is resident as a whole, whatever was used of it. What a fork's parent has used of it is not known.
        let whole = huge_page(&page.range);
        if page.huge && !self.inherited && own.any(whole.start, whole.end) {
            return Empty::FreePage;
        }
        let heap = match page.mapping.kind {
            MappingKind::Allocator => true,
            MappingKind::Break if self.is_glibc || self.inherited => true,
            MappingKind::Anonymous if self.is_glibc => surroundings.is_arena(page, touched_pages),
            // The break of a process with another allocator is that of the C library, unless it has blocks.
            _ => surroundings.has_blocks,
        };
        match heap {
            // For a fork it is not known what its parent has left behind on the heap.
            true if self.inherited => Empty::Unaccounted,
            true if page.huge => Empty::FreePage,
            true => Empty::Metadata,
            // Its parent had a block there.
            false if ancestors.iter().any(|a| a.any(page.range.start, page.range.end)) => Empty::Unaccounted,
            false => Empty::Unrecorded,
        }
    }
}

/// The huge page that a page is a part of, if it is.
fn huge_page(page: &Range<u64>) -> Range<u64> {
    let start = page.start & !(HUGE_PAGE_BYTES - 1);
    start..start.saturating_add(HUGE_PAGE_BYTES)
}

/// What is known of the mapping that a page lies in.
#[derive(Clone, Copy, Debug, Default)]
struct Surroundings {
    has_blocks: bool,
    /// The allocator that has had blocks in it.
    number: AllocatorNumber,
    /// Start of the last piece of 64 MiB that was looked up, and whether it is an arena's.
    piece: Option<(u64, bool)>,
}

impl Surroundings {
    fn of(page: &Page<'_>, touched_pages: &[&TouchedHeap]) -> Self {
        let runs = &page.mapping.runs;
        let page_bytes = page.bytes();
        let ends = |run: &PageRun| run.start + run.pages * page_bytes;
        let has =
            |touched_pages: &&TouchedHeap| runs.iter().any(|run| touched_pages.any(run.start, ends(run)));
        Self { has_blocks: touched_pages.iter().any(has), ..Self::default() }
    }

    /// Whether the page belongs to an arena of glibc: its piece begins in the same mapping, and there with blocks.
    fn is_arena(&mut self, page: &Page<'_>, touched_pages: &[&TouchedHeap]) -> bool {
        let start = page.range.start & !(ARENA_BYTES - 1);
        match self.piece {
            Some((piece, is_arena)) if piece == start => is_arena,
            _ => {
                let begins = |touched_pages: &&TouchedHeap| touched_pages.any(start, start + page.bytes());
                let is_arena = start >= page.mapping.start && touched_pages.iter().any(begins);
                self.piece = Some((start, is_arena));
                is_arena
            }
        }
    }
}
