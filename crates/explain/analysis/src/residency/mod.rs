//! Resident pages and what is in them.
//!
//! The collector takes snapshots of the pages of a process, and notes the epoch of each. When the events have come that
//! far, the live blocks are copied beside the pages. Two snapshots are kept: at the highest resident set, and the last
//! one before the end. They are analysed when everything else is known ([`pages`]), but for requested snapshots, of
//! which there may be many.

pub(crate) mod allocator;
pub(crate) mod before;
pub(crate) mod breakdown;
mod contradiction;
pub(crate) mod map;
mod pages;
pub(crate) mod pins;
#[cfg(test)]
mod tests;

use crate::accounting::Breakdown;
use crate::heap::{LiveBlock, TouchedHeap};
use allocator::{Allocator, SizesByNumber};
use before::Before;
use heapwise_trace::event::AllocatorNumber;
use heapwise_trace::file::pages::{Reason, Snapshot, UsableSizes};
use heapwise_trace::file::records::ProcessInfo;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// What the accounts are made from.
#[derive(Debug)]
pub(crate) struct Pages {
    pub(crate) residency: Residency,
    /// Pages that ever held a block, of the process with the highest resident set, and then of those that it was forked from.
    pub(crate) touched_pages: Vec<TouchedHeap>,
    /// Those of each of its allocators but the one that is found by name.
    pub(crate) touched_by: Vec<(AllocatorNumber, TouchedHeap)>,
    /// Which allocator the blocks of each raw site are from; empty if all are from one.
    pub(crate) of_site: Vec<AllocatorNumber>,
}

impl Pages {
    /// What is known of the allocators of a process.
    pub(crate) fn allocator(&self, slot: u32) -> Allocator<'_> {
        self.residency.allocator(slot, &self.of_site)
    }
}

/// Pages of a process and its live blocks at the same moment.
#[derive(Debug)]
pub(crate) struct HeapSnapshot {
    /// The process in the ledger.
    pub(crate) slot: u32,
    pub(crate) snapshot: Snapshot,
    /// By ascending addresses once it is looked into; see [`HeapSnapshot::sort`].
    pub(crate) live: Vec<LiveBlock>,
    /// Their requested bytes.
    pub(crate) live_bytes: u64,
    /// What was resident when recording began, and has been since.
    pub(crate) before: Before,
}

impl HeapSnapshot {
    /// PERF: of the many snapshots of a heap that grows only the last one is analysed. Sorting each of them made the
    /// report on 30 million random events take 2.6 s instead of 2.1 s.
    fn sort(&mut self) {
        self.live.sort_unstable();
    }
}

/// What is known of the heap of a process.
#[derive(Debug)]
struct OfProcess {
    /// Its own allocator.
    allocator: String,
    /// The library whose functions are found by their names.
    by_name: String,
    /// Whether it has blocks of the process that it was forked from.
    inherited: bool,
}

/// Everything that was seen of pages.
#[derive(Debug, Default)]
pub(crate) struct Residency {
    /// By path of the allocator.
    sizes: FxHashMap<String, UsableSizes>,
    /// Of those inside of programs.
    inside: SizesByNumber,
    /// The builds whose sizes are not theirs.
    pub(crate) contradicted: BTreeMap<AllocatorNumber, String>,
    /// By process.
    heaps: FxHashMap<u32, OfProcess>,
    /// By process: what was resident when recording began, where that was in the middle.
    before: FxHashMap<usize, Before>,
    /// The snapshot at the highest resident set.
    pub(crate) peak: Option<HeapSnapshot>,
    /// The last snapshot of the same process.
    pub(crate) latest: Option<HeapSnapshot>,
    /// Accounts of the requested snapshots.
    pub(crate) requested: Vec<Breakdown>,
    /// PERF: buffers to be used again, of two snapshots at most. A heap that grows is copied dozens of times, and memory that is fresh each time
    /// would have to be faulted in each time.
    spare: Vec<Vec<LiveBlock>>,
}

/// Resident sets that differ by less than this share count as equally high.
const SAME_HEIGHT: u64 = 33;
/// Most requested snapshots that are kept; more make no better report.
const MOST_REQUESTED: usize = 10_000;

impl Residency {
    pub(crate) fn add_sizes(&mut self, sizes: UsableSizes) {
        match sizes.number {
            AllocatorNumber::BY_NAME => drop(self.sizes.insert(sizes.allocator.clone(), sizes)),
            number => {
                // What the allocator says itself comes after what another build says, and holds.
                self.contradicted.remove(&number);
                self.inside.insert(number, sizes);
            }
        }
    }

    /// Notes which allocators a process has, and whether it is a fork.
    pub(crate) fn describe(&mut self, slot: u32, info: &ProcessInfo) {
        let by_name = if info.by_name.is_empty() { &info.allocator } else { &info.by_name };
        let (allocator, by_name) = (info.allocator.clone(), by_name.clone());
        self.heaps.insert(slot, OfProcess { allocator, by_name, inherited: info.forked_from.is_some() });
    }

    /// Notes which pages are resident. Returns those that were when recording began. `line` is the process, and those that it was
    /// forked from.
    pub(crate) fn before(&mut self, line: &[usize], snapshot: &Snapshot) -> Before {
        let Some(&slot) = line.first() else { return Before::default() };
        if snapshot.reason == Reason::Begin {
            self.before.insert(slot, Before::of(snapshot));
        } else if let Some(of_line) = line.iter().find_map(|slot| self.before.get(slot)) {
            // A fork has what its parent had.
            let mut before = of_line.clone();
            before.keep(snapshot);
            self.before.insert(slot, before);
        }
        self.before.get(&slot).cloned().unwrap_or_default()
    }

    /// What is known of the allocators of a process. `of_site` has those of all raw sites' blocks; empty if all are from the one that is
    /// found by name.
    fn allocator<'a>(&'a self, slot: u32, of_site: &'a [AllocatorNumber]) -> Allocator<'a> {
        static UNKNOWN: OfProcess =
            OfProcess { allocator: String::new(), by_name: String::new(), inherited: false };
        let of = self.heaps.get(&slot).unwrap_or(&UNKNOWN);
        let allocator = Allocator::new(&of.allocator, self.sizes.get(&of.by_name), of.inherited);
        allocator.with_sites(of_site, &self.inside)
    }

    /// Gives up the sizes that blocks contradict.
    fn check(&mut self, heap_snapshot: &HeapSnapshot, of_site: &[AllocatorNumber]) {
        if self.inside.is_empty() {
            return;
        }
        let allocator = self.allocator(heap_snapshot.slot, of_site);
        for number in contradiction::contradicted(&heap_snapshot.live, &allocator) {
            let sizes = self.inside.remove(&number);
            self.contradicted.extend(sizes.map(|sizes| (number, sizes.allocator)));
        }
    }

    /// Whether a snapshot is needed at all; copying the live blocks takes time.
    pub(crate) fn wants(&self, slot: u32, snapshot: &Snapshot, live_bytes: u64) -> bool {
        let same = self.peak.as_ref().is_some_and(|peak| peak.slot == slot);
        same || snapshot.reason == Reason::Requested || self.is_peak(snapshot, live_bytes)
    }

    /// Whether a snapshot is closer to the peak than the one that was kept for it so far. The resident set of many
    /// programs does not shrink when their data is freed; of snapshots at nearly the same height the one with the most
    /// live bytes is the one that explains it.
    fn is_peak(&self, snapshot: &Snapshot, live_bytes: u64) -> bool {
        let Some(peak) = &self.peak else { return true };
        let (before, now) = (peak.snapshot.rss_bytes, snapshot.rss_bytes);
        let margin = before / SAME_HEIGHT;
        now > before + margin || (now >= before - margin && live_bytes > peak.live_bytes)
    }

    /// Pages to go through at once when a snapshot is taken: those of a requested one.
    pub(crate) fn pages_of(snapshot: &Snapshot) -> u64 {
        if snapshot.reason != Reason::Requested {
            return 0;
        }
        let heaps = snapshot.mappings.iter().filter(|m| m.kind.may_be_heap());
        heaps.flat_map(|m| &m.runs).fold(0u64, |sum, run| sum.saturating_add(run.pages))
    }

    /// An empty buffer for the live blocks of a snapshot that is [wanted](Self::wants) and taken next. Those that it will
    /// replace are given up by then: a heap may have millions of blocks.
    pub(crate) fn make_room(&mut self, slot: u32, snapshot: &Snapshot, live_bytes: u64) -> Vec<LiveBlock> {
        self.replace(slot, snapshot, live_bytes);
        self.spare.pop().unwrap_or_default()
    }

    /// Gives up what a snapshot replaces, and returns where it belongs.
    fn replace(
        &mut self,
        slot: u32,
        snapshot: &Snapshot,
        live_bytes: u64,
    ) -> Option<&mut Option<HeapSnapshot>> {
        let is_peak = self.is_peak(snapshot, live_bytes);
        if !is_peak && self.peak.as_ref().is_none_or(|peak| peak.slot != slot) {
            return None;
        }
        // One at the peak is the last one of its process, too.
        let peak = if is_peak { self.peak.take() } else { None };
        for mut replaced in self.latest.take().into_iter().chain(peak) {
            replaced.live.clear();
            self.spare.push(replaced.live);
        }
        Some(if is_peak { &mut self.peak } else { &mut self.latest })
    }

    /// Takes a snapshot, together with the live blocks of its moment.
    /// `of_site` has the allocators of all raw sites' blocks.
    pub(crate) fn take(
        &mut self,
        mut heap_snapshot: HeapSnapshot,
        touched_pages: &[&TouchedHeap],
        of_site: &[AllocatorNumber],
    ) {
        if heap_snapshot.snapshot.reason == Reason::Requested && self.requested.len() < MOST_REQUESTED {
            heap_snapshot.sort();
            self.check(&heap_snapshot, of_site);
            let allocator = self.allocator(heap_snapshot.slot, of_site);
            let breakdown = allocator.breakdown(&heap_snapshot, touched_pages);
            self.requested.push(breakdown);
        }
        let (slot, live_bytes) = (heap_snapshot.slot, heap_snapshot.live_bytes);
        if let Some(place) = self.replace(slot, &heap_snapshot.snapshot, live_bytes) {
            *place = Some(heap_snapshot);
        }
    }

    /// When the last snapshot was taken that is kept, and of which process.
    pub(crate) fn newest_look(&self) -> Option<(u64, u32)> {
        self.peak.iter().chain(&self.latest).map(|kept| (kept.snapshot.time_ns, kept.slot)).max()
    }

    /// The account of that snapshot. `touched_pages` has those of the process, and then of those that it was forked from.
    pub(crate) fn newest<'a>(
        &mut self,
        touched_pages: impl FnOnce(u32) -> Vec<&'a TouchedHeap>,
        of_site: &[AllocatorNumber],
    ) -> Option<Breakdown> {
        let (mut peak, mut latest) = (self.peak.take(), self.latest.take());
        let newest = peak.iter_mut().chain(&mut latest).max_by_key(|kept| kept.snapshot.time_ns);
        let breakdown = newest.map(|kept| {
            kept.sort();
            self.check(kept, of_site);
            self.allocator(kept.slot, of_site).breakdown(kept, &touched_pages(kept.slot))
        });
        (self.peak, self.latest) = (peak, latest);
        breakdown
    }

    /// No more snapshots: those that are kept are prepared for the analysis. `of_site` has the allocators of all raw sites' blocks.
    pub(crate) fn finish(&mut self, of_site: &[AllocatorNumber]) {
        self.spare = Vec::new();
        let (mut peak, mut latest) = (self.peak.take(), self.latest.take());
        for heap_snapshot in peak.iter_mut().chain(&mut latest) {
            heap_snapshot.sort();
            self.check(heap_snapshot, of_site);
        }
        (self.peak, self.latest) = (peak, latest);
    }
}
