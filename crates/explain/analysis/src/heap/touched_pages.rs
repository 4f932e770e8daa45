//! Which pages ever held a block of a process.
//!
//! A resident page without a live block is a *free page* if there once was one, and something else if there never was. So
//! every block marks its pages when it is handed out. A bit for each page, in pieces of 2 MiB of address space that are
//! found through a small table of the last ones; blocks larger than that are kept as ranges.

use crate::budget::{Budget, price};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// Bytes of what a bit stands for. Pages are at least so large on all processors that heapwise records on.
pub(crate) const BIT_BYTES: u64 = 1 << BIT_SHIFT;
const BIT_SHIFT: u32 = 12;
/// Binary logarithm of the bits of a piece: 64 bytes, a cache line.
const PIECE_SHIFT: u32 = 9;
const PIECE_BYTES: u64 = 1 << (BIT_SHIFT + PIECE_SHIFT);
/// Pieces and ranges that are kept at most, for damaged recordings: programs do not have two tebibytes of heap.
const MOST: usize = 1 << 20;
const NEAR: usize = 64;

/// Pages that ever held a block.
#[derive(Debug)]
pub(crate) struct TouchedHeap {
    pieces: FxHashMap<u64, u32>,
    bits: Vec<[u64; 8]>,
    /// Number and index of pieces that were marked lately.
    near: [(u64, u32); NEAR],
    /// Start and end of large blocks, grown together where they touch.
    ranges: BTreeMap<u64, u64>,
    /// Most ranges that there were at a time.
    paid_ranges: usize,
    budget: Budget,
}

impl Default for TouchedHeap {
    fn default() -> Self {
        Self::new(Budget::default())
    }
}

impl TouchedHeap {
    /// One that grows as far as the budget allows.
    pub(crate) fn new(budget: Budget) -> Self {
        Self {
            pieces: FxHashMap::default(),
            bits: Vec::new(),
            near: [(u64::MAX, 0); NEAR],
            ranges: BTreeMap::new(),
            paid_ranges: 0,
            budget,
        }
    }

    /// Marks the pages of a block.
    #[inline(always)]
    pub(crate) fn mark(&mut self, address: u64, size: u64) {
        let (first, last) =
            (address >> BIT_SHIFT, address.saturating_add(size.saturating_sub(1)) >> BIT_SHIFT);
        if !self.set_near(first) || first != last {
            self.mark_slowly(address, size);
        }
    }

    #[inline(always)]
    fn set_near(&mut self, page: u64) -> bool {
        let number = page >> PIECE_SHIFT;
        let (near, index) = self.near[number as usize % NEAR];
        if near != number {
            return false;
        }
        let bit = page as usize % (1 << PIECE_SHIFT);
        self.bits[index as usize][bit / 64] |= 1 << (bit % 64);
        true
    }

    #[inline(never)]
    fn mark_slowly(&mut self, address: u64, size: u64) {
        if size > PIECE_BYTES {
            self.add_range(address, address.saturating_add(size));
            return;
        }
        let last = address.saturating_add(size.saturating_sub(1)) >> BIT_SHIFT;
        for page in address >> BIT_SHIFT..=last {
            let number = page >> PIECE_SHIFT;
            let index = match self.pieces.get(&number) {
                Some(&index) => index,
                None if self.bits.len() >= MOST || !self.budget.keep(price::PIECE) => return,
                None => {
                    let index = self.bits.len() as u32;
                    self.bits.push([0; 8]);
                    self.pieces.insert(number, index);
                    index
                }
            };
            self.near[number as usize % NEAR] = (number, index);
            self.set_near(page);
        }
    }

    fn add_range(&mut self, mut start: u64, mut end: u64) {
        while let Some((&before, &until)) = self.ranges.range(..=end).next_back()
            && until >= start
        {
            if before <= start && until >= end {
                return;
            }
            (start, end) = (start.min(before), end.max(until));
            self.ranges.remove(&before);
        }
        if self.ranges.len() >= self.paid_ranges {
            if self.ranges.len() >= MOST || !self.budget.keep(price::ELEMENT) {
                return;
            }
            self.paid_ranges += 1;
        }
        self.ranges.insert(start, end);
    }

    /// Whether a block ever lay in a range of addresses, to the page.
    pub(crate) fn any(&self, start: u64, end: u64) -> bool {
        let range = self.ranges.range(..end).next_back();
        if range.is_some_and(|(_, &until)| until > start) {
            return true;
        }
        // A damaged recording may ask for any range: then it is quicker to go through what there is.
        if (end - start) >> BIT_SHIFT >> PIECE_SHIFT > self.pieces.len() as u64 {
            let pages = start >> BIT_SHIFT..end.div_ceil(BIT_BYTES);
            return self.pieces.iter().any(|(&number, &index)| {
                let bits = &self.bits[index as usize];
                let first = number << PIECE_SHIFT;
                (0..1u64 << PIECE_SHIFT).any(|bit| {
                    bits[bit as usize / 64] >> (bit % 64) & 1 != 0 && pages.contains(&(first + bit))
                })
            });
        }
        (start >> BIT_SHIFT..end.div_ceil(BIT_BYTES)).any(|page| {
            let piece = self.pieces.get(&(page >> PIECE_SHIFT)).map(|&index| &self.bits[index as usize]);
            let bit = page as usize % (1 << PIECE_SHIFT);
            piece.is_some_and(|bits| bits[bit / 64] >> (bit % 64) & 1 != 0)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn it_is_a_set_of_pages(
            blocks in proptest::collection::vec((0u64..1 << 30, 0u64..8000, 0u32..12), 0..200),
            pages in proptest::collection::vec(0u64..1 << 18, 50),
        ) {
            let mut touched_pages = TouchedHeap::default();
            let mut truth = BTreeSet::new();
            for (address, size, shift) in blocks {
                let size = size << shift;
                touched_pages.mark(address, size);
                truth.extend(address >> 12..=(address + size.saturating_sub(1)) >> 12);
            }
            for page in pages.into_iter().chain(truth.iter().copied().take(1000)) {
                prop_assert_eq!(touched_pages.any(page << 12, (page + 1) << 12), truth.contains(&page));
            }
        }
    }
}
