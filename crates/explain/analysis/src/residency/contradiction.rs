//! Whether the sizes that were measured of another build of an allocator can be those of the one inside of the program.
//!
//! Blocks do not overlap. Where many would, were they as large as the other build's, the two have other size classes: jemalloc can be
//! built with others, and redis does so. The other way around, where the real blocks are larger, nothing contradicts; then what
//! lies behind them is external fragmentation.

use super::allocator::Allocator;
use crate::heap::LiveBlock;
use heapwise_trace::event::AllocatorNumber;
use std::collections::BTreeMap;

/// One in so many blocks may overlap the next one without a contradiction: what threads did at the moment of the snapshot is not in
/// order to the last event.
const TOLERANCE: u64 = 100;

/// The allocators inside of the program whose blocks cannot have the measured sizes. The blocks have ascending addresses.
pub(super) fn contradicted(live: &[LiveBlock], allocator: &Allocator<'_>) -> Vec<AllocatorNumber> {
    // Of each one: blocks, and those that overlap.
    let mut counts: BTreeMap<AllocatorNumber, (u64, u64)> = BTreeMap::new();
    for pair in live.windows(2) {
        let [block, next] = pair else { continue };
        let number = allocator.number(block);
        if number == AllocatorNumber::BY_NAME {
            continue;
        }
        let Some(sizes) = allocator.sizes(number) else { continue };
        let end = block.address().saturating_add(sizes.of(block.size()));
        let (blocks, overlapping) = counts.entry(number).or_default();
        *blocks += 1;
        *overlapping += u64::from(end > next.address().saturating_sub(sizes.header_bytes));
    }
    let contradicted =
        counts.into_iter().filter(|(_, (blocks, overlapping))| overlapping * TOLERANCE > *blocks);
    contradicted.map(|(number, _)| number).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use heapwise_trace::file::pages::UsableSizes;

    fn contradicts(distance: u64, size: u64) -> bool {
        let number = AllocatorNumber(1);
        let sizes = UsableSizes { number, sizes: vec![16, 32, 48, 64], ..UsableSizes::default() };
        let inside = BTreeMap::from([(number, sizes)]);
        let of_site = [AllocatorNumber::BY_NAME, number];
        let allocator = Allocator::new("", None, false).with_sites(&of_site, &inside);
        let live: Vec<_> = (0..50).map(|i| LiveBlock::new(4096 + i * distance, size, 1)).collect();
        // What another allocator has is not looked at.
        let others: Vec<_> =
            live.iter().map(|block| LiveBlock::new(block.address(), block.size(), 0)).collect();
        assert_eq!(contradicted(&others, &allocator), []);
        contradicted(&live, &allocator) == [number]
    }

    #[test]
    fn blocks_that_would_overlap_contradict() {
        assert!(contradicts(24, 20), "blocks of 24 bytes, which the other build does not have");
        assert!(!contradicts(32, 20), "blocks of 32 bytes");
        assert!(!contradicts(64, 20), "smaller blocks than the real ones");
    }
}
