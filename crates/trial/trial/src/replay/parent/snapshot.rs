//! What the resident memory of the standing worker consists of.

use super::memory::Memory;
use crate::supervise::Child;
use heapwise_analysis::{Breakdown, Heap, account_for};
use heapwise_collector::residency;
use heapwise_trace::file::pages::UsableSizes;
use std::ops::Range;
use std::sync::atomic::Ordering;

/// Accounts for it. `None` if the process cannot be examined any more.
pub(super) fn take(process: &Child, memory: &Memory, sizes: Option<&UsableSizes>) -> Option<Breakdown> {
    let handles: Vec<u64> = memory
        .threads()
        .filter(|t| t.has_begun.load(Ordering::Relaxed) == 1 && t.has_ended.load(Ordering::Relaxed) == 0)
        .map(|t| t.handle.load(Ordering::Relaxed))
        .filter(|&handle| handle != 0)
        .collect();
    let snapshot = residency::of_worker(process.id().cast_unsigned(), memory.inode(), &handles).ok()?;
    let page = snapshot.page_bytes;
    let runs = snapshot.mappings.iter().filter(|m| m.kind.may_be_heap()).flat_map(|m| &m.runs);
    let resident: Vec<Range<u64>> = runs.map(|run| run.start..run.start + run.pages * page).collect();
    let live = memory.live_blocks();
    let touched_pages = memory.pages_that_held_blocks(&resident);
    let allocator = sizes.map_or("", |sizes| sizes.allocator.as_str());
    Some(account_for(snapshot, Heap { allocator, sizes, live: &live, touched_pages: &touched_pages }))
}
