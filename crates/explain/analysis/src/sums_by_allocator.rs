//! Adds up the sites of each allocator.

use crate::analysis::Site;
use crate::by_allocator::OfAllocator;
use crate::units::Bytes;
use heapwise_trace::event::AllocatorNumber;
use heapwise_trace::file::records::{AllocatorInside, ProcessIndex};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// What the sites of each allocator amount to.
pub(crate) fn totals<'a>(
    sites: impl Iterator<Item = (AllocatorNumber, &'a Site)>,
    inside: &[AllocatorInside],
) -> Vec<OfAllocator> {
    let mut all: BTreeMap<AllocatorNumber, OfAllocator> = BTreeMap::new();
    for (number, site) in sites.filter(|(_, site)| site.allocations + site.reallocations > 0) {
        let is_one = number != AllocatorNumber::BY_NAME && number != AllocatorNumber::OTHERS;
        let of = all.entry(number).or_insert_with(|| OfAllocator {
            number,
            inside: inside.iter().find(|inside| is_one && inside.number == number.0).cloned(),
            ..OfAllocator::default()
        });
        of.allocations = of.allocations.saturating_add(site.allocations);
        of.allocated_bytes += site.allocated_bytes;
        of.peak_live_bytes += site.peak_bytes;
        of.peak_live_blocks = of.peak_live_blocks.saturating_add(site.peak_blocks);
        of.live_at_exit_bytes += site.live_at_exit_bytes;
        of.live_at_exit_blocks = of.live_at_exit_blocks.saturating_add(site.live_at_exit_blocks);
    }
    all.into_values().collect()
}

/// The live bytes of each allocator of each process when all together had most, the one with most of them first.
pub(crate) fn by_process<'a>(
    sites: impl Iterator<Item = (AllocatorNumber, &'a Site)>,
) -> FxHashMap<ProcessIndex, Vec<(AllocatorNumber, Bytes)>> {
    let mut all: BTreeMap<(ProcessIndex, AllocatorNumber), (Bytes, Bytes)> = BTreeMap::new();
    for (number, site) in sites {
        if let Some(process) = site.process {
            let (peak, allocated) = all.entry((process, number)).or_default();
            *peak += site.peak_bytes;
            *allocated += site.allocated_bytes;
        }
    }
    // A process that was over by then has none; what was requested decides.
    let mut sorted: Vec<_> = all.into_iter().collect();
    sorted.sort_by_key(|(_, amounts)| std::cmp::Reverse(*amounts));
    let mut found: FxHashMap<_, Vec<_>> = FxHashMap::default();
    for ((process, number), (peak, _)) in sorted {
        found.entry(process).or_default().push((number, peak));
    }
    found
}
