//! Adds up the sites of each allocator.

use crate::analysis::Site;
use crate::by_allocator::OfAllocator;
use heapwise_trace::event::AllocatorNumber;
use heapwise_trace::file::records::AllocatorInside;
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
