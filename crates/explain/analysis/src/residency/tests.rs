//! Snapshots that are made by hand.

use super::allocator::Allocator;
use super::{HeapSnapshot, map, pins};
use crate::accounting::Breakdown;
use crate::heap::{LiveBlock, TouchedHeap};
use crate::units::Bytes;
use crate::units::SiteId;
use heapwise_trace::event::AllocatorNumber;
use heapwise_trace::file::pages::{MappedPages, MappingKind, PageRun, Snapshot, UsableSizes};

const PAGE: u64 = 4096;

fn mapping(start: u64, kind: MappingKind, runs: &[(u64, u64)]) -> MappedPages {
    let runs: Vec<_> = runs
        .iter()
        .map(|&(page, pages)| PageRun { start: start + page * PAGE, pages, huge: false })
        .collect();
    MappedPages {
        start,
        end: start + 100 * PAGE,
        kind,
        resident_pages: runs.iter().map(|r| r.pages).sum(),
        runs,
    }
}

fn heap_snapshot(mappings: Vec<MappedPages>, live: &[(u64, u64, u32)]) -> HeapSnapshot {
    let rss = mappings.iter().map(|m| m.resident_pages * PAGE).sum();
    let live: Vec<_> =
        live.iter().map(|&(address, size, site)| LiveBlock::new(address, size, site)).collect();
    let live_bytes = live.iter().map(|b| b.size()).sum();
    let snapshot = Snapshot { page_bytes: PAGE, rss_bytes: rss, mappings, ..Snapshot::default() };
    HeapSnapshot { slot: 0, snapshot, live, live_bytes, before: super::before::Before::default() }
}

fn sizes() -> UsableSizes {
    let (allocator, sizes) = ("/lib/libc.so.6".into(), vec![24, 40, 56]);
    UsableSizes { allocator, header_bytes: 8, sizes, ..UsableSizes::default() }
}

fn sum(b: &Breakdown) -> Bytes {
    b.live
        + b.internal_fragmentation
        + b.external_fragmentation
        + b.free_pages
        + b.metadata
        + b.before
        + b.unrecorded
        + b.not_heap
        + b.unaccounted
}

const HEAP: u64 = 0x5555_0000_0000;

#[test]
fn each_byte_is_something() {
    let heap = mapping(HEAP, MappingKind::Break, &[(0, 4)]);
    let code = MappedPages { resident_pages: 7, ..mapping(0x7f00_0000_0000, MappingKind::File, &[]) };
    let mut heap_snapshot = heap_snapshot(vec![heap, code], &[(HEAP + 16, 20, 0), (HEAP + PAGE + 16, 40, 0)]);
    // The kernel has found a page more than there was a moment before.
    heap_snapshot.snapshot.rss_bytes += PAGE;
    let mut touched_pages = TouchedHeap::default();
    touched_pages.mark(HEAP + 2 * PAGE, 100);
    let sizes = sizes();
    let b =
        Allocator::new("/lib/libc.so.6", Some(&sizes), false).breakdown(&heap_snapshot, &[&touched_pages]);
    assert_eq!(b.live, Bytes(60));
    assert_eq!(b.internal_fragmentation, Bytes(4), "24 usable bytes for 20");
    assert_eq!(b.external_fragmentation, Bytes(2 * PAGE - 60 - 4 - 16));
    assert_eq!(b.free_pages, Bytes(PAGE), "the page that had a block before");
    assert_eq!(b.metadata, Bytes(16 + PAGE), "two headers, and a page that never had a block");
    assert_eq!((b.not_heap, b.unaccounted), (Bytes(7 * PAGE), Bytes(PAGE)));
    assert_eq!((sum(&b), b.rss), (Bytes(12 * PAGE), Bytes(12 * PAGE)));
}

#[test]
fn what_is_not_resident_is_distinguished() {
    let heap = mapping(HEAP, MappingKind::Anonymous, &[(0, 1), (8, 1)]);
    // A large block of ten pages of which the first and the ninth were touched.
    let heap_snapshot = heap_snapshot(vec![heap], &[(HEAP + 16, 10 * PAGE - 16, 0)]);
    let sizes = sizes();
    let b = Allocator::new("/lib/libc.so.6", Some(&sizes), false)
        .breakdown(&heap_snapshot, &[&TouchedHeap::default()]);
    assert_eq!((b.live, b.metadata), (Bytes(2 * PAGE - 16), Bytes(16)));
    assert_eq!(b.live_not_resident, Bytes(8 * PAGE));
    assert_eq!(sum(&b), b.rss);
}

#[test]
fn a_program_s_own_mappings_are_unrecorded_and_an_allocator_s_are_heap() {
    let own = mapping(HEAP, MappingKind::Anonymous, &[(0, 3)]);
    let tables = mapping(HEAP << 1, MappingKind::Allocator, &[(0, 5)]);
    let heap_snapshot = heap_snapshot(vec![own, tables], &[]);
    let b = Allocator::new("/lib/libjemalloc.so.2", None, false)
        .breakdown(&heap_snapshot, &[&TouchedHeap::default()]);
    assert_eq!((b.unrecorded, b.metadata, b.not_heap), (Bytes(3 * PAGE), Bytes(5 * PAGE), Bytes(0)));
    assert_eq!(sum(&b), b.rss);
}

#[test]
fn what_grew_together_with_an_allocator_s_mappings_is_not_its() {
    let mixed = mapping(HEAP, MappingKind::Anonymous, &[(0, 3)]);
    let mut touched_pages = TouchedHeap::default();
    touched_pages.mark(HEAP, 10);
    let parts = |mappings: Vec<MappedPages>| {
        let heap_snapshot = heap_snapshot(mappings, &[]);
        let b =
            Allocator::new("/lib/libjemalloc.so.2", None, false).breakdown(&heap_snapshot, &[&touched_pages]);
        assert_eq!(sum(&b), b.rss);
        (b.free_pages, b.metadata, b.unrecorded)
    };
    // Without notes of what the allocator has mapped, a mapping with a block is its.
    assert_eq!(parts(vec![mixed.clone()]), (Bytes(PAGE), Bytes(2 * PAGE), Bytes(0)));
    let noted = mapping(HEAP << 1, MappingKind::Allocator, &[(0, 1)]);
    assert_eq!(parts(vec![mixed, noted]), (Bytes(PAGE), Bytes(PAGE), Bytes(2 * PAGE)));
}

#[test]
fn below_the_break_lies_the_heap_of_the_c_library_whoever_is_recorded() {
    let heap = || heap_snapshot(vec![mapping(HEAP, MappingKind::Break, &[(0, 3)])], &[]);
    let parts = |allocator: &str| {
        let b = Allocator::new(allocator, None, false).breakdown(&heap(), &[&TouchedHeap::default()]);
        (b.metadata, b.unrecorded)
    };
    assert_eq!(parts("/lib/libc.so.6"), (Bytes(3 * PAGE), Bytes(0)));
    assert_eq!(parts("mimalloc"), (Bytes(0), Bytes(3 * PAGE)), "only blocks of mimalloc are recorded");
}

#[test]
fn what_a_fork_inherited_is_not_what_was_never_recorded() {
    // Not where an arena of glibc would begin.
    let start = (HEAP << 1) + (1 << 20);
    let heap_snapshot = heap_snapshot(vec![mapping(start, MappingKind::Anonymous, &[(0, 2), (50, 3)])], &[]);
    let mut of_parent = TouchedHeap::default();
    of_parent.mark(start + 10, 2 * PAGE - 20);
    let touched_pages = [&TouchedHeap::default(), &of_parent];
    let b = Allocator::new("/lib/libc.so.6", None, true).breakdown(&heap_snapshot, &touched_pages);
    assert_eq!((b.unaccounted, b.unrecorded), (Bytes(2 * PAGE), Bytes(3 * PAGE)));
}

#[test]
fn a_fork_does_not_know_what_its_parent_left_on_the_heap() {
    let heap_snapshot = heap_snapshot(vec![mapping(HEAP, MappingKind::Break, &[(0, 3)])], &[]);
    let b =
        Allocator::new("/lib/libc.so.6", None, true).breakdown(&heap_snapshot, &[&TouchedHeap::default()]);
    assert_eq!(b.unaccounted, Bytes(3 * PAGE));
}

#[test]
fn pages_are_pinned_by_the_only_place_that_has_blocks_in_them() {
    let heap = mapping(HEAP, MappingKind::Break, &[(0, 5)]);
    let live = [
        (HEAP + 16, 100, 0),
        // Two sites of one place, which is one wherever it is the other that comes first.
        (HEAP + PAGE, 50, 1),
        (HEAP + PAGE + 64, 50, 2),
        // Two places.
        (HEAP + 2 * PAGE, 10, 0),
        (HEAP + 2 * PAGE + 64, 10, 1),
        // More than half full.
        (HEAP + 3 * PAGE, 3000, 0),
        (HEAP + 4 * PAGE, 60, 2),
    ];
    let heap_snapshot = heap_snapshot(vec![heap], &live);
    let allocator = Allocator::new("", None, false);
    let (sites, places) = ([SiteId(0), SiteId(1), SiteId(2)], [7, 8, 8]);
    let pinned = pins::pinned(&heap_snapshot, &allocator, &sites, &places);
    let found: Vec<_> = pinned.iter().map(|p| (p.site.0, p.bytes.0, p.blocks, p.pages)).collect();
    assert_eq!(found, [(1, 2 * PAGE - 160, 3, 2), (0, PAGE - 100, 1, 1)]);
}

#[test]
fn a_map_shows_how_full_pages_are() {
    let heap = mapping(HEAP, MappingKind::Break, &[(0, 2), (4, 1), (99, 1)]);
    let heap_snapshot =
        heap_snapshot(vec![heap], &[(HEAP, PAGE, 0), (HEAP + PAGE, PAGE / 2, 0), (HEAP + 99 * PAGE, 1, 0)]);
    let mut touched_pages = TouchedHeap::default();
    touched_pages.mark(HEAP + 4 * PAGE, 1);
    let map = map::map(&heap_snapshot, &Allocator::new("", None, false), &touched_pages);
    assert_eq!(map.cell, Bytes(PAGE));
    let regions: Vec<_> = map.regions.iter().map(|r| (r.address, r.cells.clone())).collect();
    assert_eq!(regions, [(HEAP, vec![254, 127, 255, 255, 0]), (HEAP + 99 * PAGE, vec![1])]);
}

#[test]
fn of_looks_at_nearly_one_height_the_one_with_most_live_bytes_counts() {
    // Room may be made for a snapshot before there is a copy of its blocks: then no more than two copies are ever there.
    for makes_room in [false, true] {
        let mut residency = super::Residency::default();
        let touched_pages = TouchedHeap::default();
        for (pages, live) in [(80, 10), (100, 3000), (101, 100), (99, 4000), (60, 5000)] {
            let heap = mapping(HEAP, MappingKind::Break, &[(0, pages)]);
            let mut heap_snapshot = heap_snapshot(vec![heap], &[(HEAP, live, 0)]);
            assert!(residency.wants(0, &heap_snapshot.snapshot, heap_snapshot.live_bytes));
            if makes_room {
                let room = residency.make_room(0, &heap_snapshot.snapshot, heap_snapshot.live_bytes);
                let kept = [&residency.peak, &residency.latest].into_iter().flatten().count();
                assert!(room.is_empty() && kept + residency.spare.len() <= 1);
                let copied = std::mem::replace(&mut heap_snapshot.live, room);
                heap_snapshot.live.extend(copied);
            }
            residency.take(heap_snapshot, &[&touched_pages], &[]);
        }
        assert_eq!(residency.peak.as_ref().map(|l| l.live_bytes), Some(4000));
        assert_eq!(residency.latest.as_ref().map(|l| l.live_bytes), Some(5000));
    }
}

/// The second allocator has had a block in the first of three pages, which are parts of one huge page; the C library has had one in the
/// last.
#[test]
fn a_part_of_a_huge_page_without_a_block_is_its_mappings_allocators() {
    let other = AllocatorNumber(3);
    let mut huge = mapping(HEAP, MappingKind::Allocator, &[(0, 3)]);
    huge.runs[0].huge = true;
    let (mut all, mut of_other) = (TouchedHeap::default(), TouchedHeap::default());
    all.mark(HEAP + 16, 20);
    of_other.mark(HEAP + 16, 20);
    all.mark(HEAP + 2 * PAGE, 20);
    let divided = Allocator::new("/lib/libc.so.6", None, false).divided(
        &heap_snapshot(vec![huge], &[]),
        &[&all],
        &[(other, of_other)],
    );
    let free = |number| divided.parts.get(&number).map_or(0, |parts| parts.free_pages.0);
    assert_eq!([free(other), free(AllocatorNumber::BY_NAME)], [2 * PAGE, PAGE]);
    assert_eq!(divided.breakdown.free_pages, Bytes(3 * PAGE));
}

/// Beside glibc, a mapping of its own is another allocator's or no one's, but for huge pages in which a block has been.
#[test]
fn a_huge_page_that_had_a_block_is_free_as_a_whole_in_any_mapping() {
    let pages_of_one = (2 << 20) / PAGE;
    let own = |is_huge: bool, is_fork: bool| {
        let mut own = mapping(HEAP, MappingKind::Anonymous, &[(0, 2 * pages_of_one)]);
        own.end = HEAP + 2 * pages_of_one * PAGE;
        own.runs[0].huge = is_huge;
        let mut touched = TouchedHeap::default();
        touched.mark(HEAP + 5 * PAGE, 20);
        let allocator = Allocator::new("/lib/x86_64-linux-gnu/libc.so.6", None, is_fork);
        allocator.breakdown(&heap_snapshot(vec![own], &[]), &[&touched])
    };
    let (huge, small, of_fork) = (own(true, false), own(false, false), own(true, true));
    assert_eq!(of_fork.free_pages, Bytes(PAGE), "what its parent had there is not known");
    assert_eq!([huge.free_pages, huge.unrecorded].map(|b| b.0), [2 << 20, 2 << 20]);
    assert_eq!([small.free_pages.0, small.unrecorded.0], [PAGE, (4 << 20) - PAGE]);
}
