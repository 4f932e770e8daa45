//! The blocks that a thread was handed last: how soon one of them is freed, counted in allocations of its thread.
//!
//! A lifetime in nanoseconds says how busy the machine was, and the recorder's clock is too coarse for it. What a copy was
//! made for is said by how many other blocks its thread was handed before it was freed: none or a few if it was only read.

/// So many blocks of a thread are remembered. A power of two; a block of the table keeps its place among them in
/// [`SLOT_BITS`] bits.
const REMEMBERED: usize = 1 << SLOT_BITS;
pub(crate) const SLOT_BITS: u32 = 4;

/// Classes of [`FreedAfter`].
const CLASSES: usize = SLOT_BITS as usize + 1;

/// The last blocks of one thread, allocated or resized.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Recent {
    /// Their addresses, 0 where the block was freed.
    addresses: [u64; REMEMBERED],
    /// The place of the next one.
    next: u8,
}

impl Recent {
    /// The place that the next block has.
    #[inline(always)]
    pub(crate) fn slot(&self) -> u8 {
        self.next
    }

    /// The thread was handed a block.
    #[inline(always)]
    pub(crate) fn push(&mut self, address: u64) {
        self.addresses[usize::from(self.next) % REMEMBERED] = address;
        self.next = (self.next + 1) % REMEMBERED as u8;
    }

    /// The thread was handed a block and has freed it already.
    #[inline(always)]
    pub(crate) fn pass(&mut self) {
        self.push(0);
    }

    /// The block that the thread was handed last, 0 once that is freed.
    #[inline(always)]
    pub(crate) fn last(&self) -> u64 {
        self.addresses[usize::from(self.next).wrapping_sub(1) % REMEMBERED]
    }

    /// The thread frees a block that it was handed: how many others it was handed in between. `None` if these are
    /// more than are remembered.
    #[inline(always)]
    pub(crate) fn take(&mut self, address: u64, slot: u8) -> Option<u8> {
        let known = &mut self.addresses[usize::from(slot) % REMEMBERED];
        if *known != address {
            return None;
        }
        *known = 0;
        Some(self.next.wrapping_sub(slot + 1) % REMEMBERED as u8)
    }
}

/// Blocks that were freed by the thread that was handed them, by how many others it was handed in between: none, 1, 2 or 3,
/// 4 to 7, 8 to 15. Those that lived longer are not among them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FreedAfter([u64; CLASSES]);

impl FreedAfter {
    /// Adds a block that was freed after so many others.
    #[inline(always)]
    pub(crate) fn add(&mut self, others: u8) {
        let class = (u8::BITS - others.leading_zeros()) as usize;
        self.0[class % CLASSES] += 1;
    }

    /// Adds the blocks of another place.
    pub fn merge(&mut self, other: &Self) {
        self.0.iter_mut().zip(other.0).for_each(|(ours, theirs)| *ours += theirs);
    }

    /// *Temporary* blocks: freed before their thread allocated again.
    pub fn temporary(&self) -> u64 {
        self.0[0]
    }

    /// *Short-lived* blocks: freed within 15 allocations of their thread, the temporary ones included.
    pub fn short_lived(&self) -> u64 {
        self.0.iter().sum()
    }

    /// The classes: the fewest and the most allocations in between, and how many blocks.
    pub fn classes(&self) -> impl Iterator<Item = (u64, u64, u64)> {
        let bounds = |class: usize| if class == 0 { (0, 0) } else { (1 << (class - 1), (1 << class) - 1) };
        self.0.into_iter().enumerate().map(move |(class, blocks)| {
            let (fewest, most) = bounds(class);
            (fewest, most, blocks)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_allocations_in_between_are_counted() {
        let mut recent = Recent::default();
        let slots: Vec<u8> = (1..=20)
            .map(|address| {
                let slot = recent.slot();
                recent.push(address);
                slot
            })
            .collect();
        assert_eq!(recent.last(), 20);
        let taken: Vec<_> = [20, 19, 15, 5, 4, 1].map(|at| recent.take(at, slots[at as usize - 1])).into();
        assert_eq!(taken, [Some(0), Some(1), Some(5), Some(15), None, None]);
        assert_eq!(recent.take(20, slots[19]), None, "it is freed once");
        assert_eq!(recent.last(), 0);
    }

    #[test]
    fn classes_double() {
        let mut freed = FreedAfter::default();
        (0..16).for_each(|others| freed.add(others));
        let classes: Vec<_> = freed.classes().collect();
        assert_eq!(classes, [(0, 0, 1), (1, 1, 1), (2, 3, 2), (4, 7, 4), (8, 15, 8)]);
        assert_eq!((freed.temporary(), freed.short_lived()), (1, 16));
    }
}
