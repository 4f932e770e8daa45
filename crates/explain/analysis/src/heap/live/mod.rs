//! The live blocks of one process, by address.
//!
//! PERF: this table is searched at every event, and with 100 000 live blocks every search is a cache miss and often
//! a miss of the processor's address translation too, so what counts is how little memory it touches. It is open
//! addressing [in groups](groups) of a cache line; a block takes [16 bytes](entry), its address included; and
//! blocks that lie side by side in memory do so in the table, since programs ask for them and free them in that order.

mod entry;
mod groups;
mod live_block;

use super::recent::SLOT_BITS;
use crate::budget::{Budget, price};
use entry::{Entry, Key, Split};
use groups::{Groups, Place};
pub(crate) use live_block::LiveBlock;
use rustc_hash::FxHashMap;

/// A block that is live.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Block {
    /// Requested bytes.
    pub(crate) size: u64,
    /// When it was handed out.
    pub(crate) born: Tick,
    /// Site of its allocation, or of its last reallocation.
    pub(crate) site: u32,
    /// Which thread that was.
    pub(crate) thread: u32,
    /// How often it was made larger, up to [`MOST_REALLOCATIONS`].
    pub(crate) reallocations: u32,
    /// Its place among the last blocks of its thread.
    pub(crate) slot: u8,
}

/// A time in units of 2^14 ns (16 µs): finer than the epochs of a recording, and it lasts for 19 hours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tick(u32);

impl Tick {
    const SHIFT: u32 = 14;

    pub(crate) fn at(time_ns: u64) -> Self {
        Self((time_ns >> Self::SHIFT) as u32)
    }

    /// So many nanoseconds earlier, 19 hours at most.
    pub(crate) fn before(self, ns: u64) -> Self {
        Self(self.0.wrapping_sub((ns >> Self::SHIFT) as u32))
    }

    #[inline(always)]
    pub(crate) fn since_ns(self, earlier: Tick) -> u64 {
        u64::from(self.0.wrapping_sub(earlier.0)) << Self::SHIFT
    }
}

/// Sizes beyond the address space of a process only occur in damaged recordings and are cut to this.
const MOST_BYTES: u64 = (1 << 48) - 1;
pub(crate) const MOST_REALLOCATIONS: u32 = (1 << 10) - 1;

/// The size that a block of this request is counted with.
#[inline(always)]
pub(crate) fn cut_size(size: u64) -> u64 {
    size.min(MOST_BYTES)
}

/// Live blocks by address.
#[derive(Debug)]
pub(crate) struct LiveBlocks {
    entries: Groups,
    /// Entries that are taken.
    taken: usize,
    split: Split,
    /// Whether there was no room to divide in another way. PERF: to find that out takes as long as to do it.
    is_divided_for_good: bool,
    /// Blocks that an entry has no room for, and those whose addresses are none of an entry.
    aside: FxHashMap<u64, Block>,
    /// Most of them that there were at a time.
    paid_aside: usize,
    /// How many of them have no entry.
    without_entry: usize,
    budget: Budget,
}

const FIRST_ENTRIES_LOG2: u32 = 8;
const FIRST_ENTRIES: usize = 1 << FIRST_ENTRIES_LOG2;
const ENTRY_BYTES: u64 = size_of::<Entry>() as u64;

impl LiveBlocks {
    /// A table that grows as far as the budget allows.
    pub(crate) fn new(budget: Budget) -> Self {
        Self {
            entries: Groups::new(FIRST_ENTRIES_LOG2),
            taken: 0,
            split: Split::default(),
            is_divided_for_good: false,
            aside: FxHashMap::default(),
            paid_aside: 0,
            without_entry: 0,
            budget,
        }
    }

    /// Has what a search for an address will read brought into the cache.
    #[inline(always)]
    pub(crate) fn prefetch(&self, address: u64) {
        if let Some(key) = Key::of(address) {
            self.entries.prefetch(key);
        }
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.taken + self.without_entry
    }

    #[inline]
    pub(crate) fn contains(&self, address: u64) -> bool {
        match Key::of(address) {
            Some(key) => self.entries.find(key).is_ok(),
            None => self.aside.contains_key(&address),
        }
    }

    /// Adds a block; `false`, and nothing is changed, if there is one at its address. Where the budget ends, it is not kept.
    #[inline(always)]
    pub(crate) fn insert(&mut self, address: u64, block: Block) -> bool {
        let Some(key) = Key::of(address) else { return self.insert_without_entry(address, block) };
        let Err(at) = self.entries.find(key) else { return false };
        match Entry::new(key, &block, self.split) {
            Some(entry) => self.entries.put(at, key, entry),
            None if self.put_slowly(at, key, address, block) => {}
            None => return true,
        }
        self.taken += 1;
        // PERF: up to four fifths, an analysis of random addresses took half as long again.
        if self.taken * 10 > self.entries.n_entries() * 7 {
            self.grow(at);
        }
        true
    }

    #[cold]
    #[inline(never)]
    fn insert_without_entry(&mut self, address: u64, block: Block) -> bool {
        if self.aside.contains_key(&address) {
            return false;
        }
        self.without_entry += usize::from(self.put_aside(address, block));
        true
    }

    /// Puts a block where it does not fit. Says whether there was room.
    #[cold]
    #[inline(never)]
    fn put_slowly(&mut self, at: Place, key: Key, address: u64, block: Block) -> bool {
        if let Some(split) = self.split.for_thread(block.thread).filter(|_| !self.is_divided_for_good) {
            self.divide(split);
        }
        let entry = Entry::new(key, &block, self.split);
        let is_there = entry.is_some() || self.put_aside(address, block);
        if is_there {
            self.entries.put(at, key, entry.unwrap_or(Entry::aside(key)));
        }
        is_there
    }

    fn put_aside(&mut self, address: u64, block: Block) -> bool {
        let has_room = self.pay_aside(1);
        if has_room {
            let (size, reallocations) = (cut_size(block.size), block.reallocations.min(MOST_REALLOCATIONS));
            self.aside.insert(address, Block { size, reallocations, ..block });
        }
        has_room
    }

    fn take_aside(&mut self, address: u64) -> Option<Block> {
        self.aside.remove(&address)
    }

    /// Says whether there is room for so many more blocks aside. What was paid for once is kept, since the table does not shrink.
    fn pay_aside(&mut self, more: usize) -> bool {
        let unpaid = (self.aside.len() + more).saturating_sub(self.paid_aside);
        let has_room = unpaid == 0 || self.budget.hold(unpaid as u64 * price::ASIDE);
        self.paid_aside += if has_room { unpaid } else { 0 };
        has_room
    }

    /// Divides the bits of sites and threads in another way, if there is room for the blocks that do not fit then.
    fn divide(&mut self, split: Split) {
        let before = self.split;
        let fits = |key, block: &Block| Entry::new(key, block, split);
        let blocks = self.entries.iter().filter_map(|entry| entry.key().zip(entry.block(before)));
        let n_aside = blocks.filter(|(key, block)| fits(*key, block).is_none()).count();
        if !self.pay_aside(n_aside) {
            self.is_divided_for_good = true;
            return;
        }
        self.split = split;
        for entry in self.entries.iter_mut() {
            let Some((key, block)) = entry.key().zip(entry.block(before)) else { continue };
            *entry = fits(key, &block).unwrap_or_else(|| {
                self.aside.insert(key.address(), block);
                Entry::aside(key)
            });
        }
    }

    /// Notes that the block at an address stands for a buffer that has grown so often.
    pub(crate) fn set_reallocations(&mut self, address: u64, reallocations: u32) {
        let Some(block) = self.remove(address) else { return };
        let reallocations = reallocations.min(MOST_REALLOCATIONS);
        let others = self.len();
        self.insert(address, Block { reallocations, ..block });
        if self.len() == others {
            // There is no room for it as it is now, but there was for it as it was.
            self.insert(address, block);
        }
    }

    /// Takes out the block at an address.
    #[inline(always)]
    pub(crate) fn remove(&mut self, address: u64) -> Option<Block> {
        let Some(key) = Key::of(address) else { return self.remove_without_entry(address) };
        let at = self.entries.find(key).ok()?;
        let entry = self.entries.at(at);
        self.taken -= 1;
        self.entries.remove(at);
        entry.block(self.split).or_else(|| self.take_aside(address))
    }

    #[cold]
    #[inline(never)]
    fn remove_without_entry(&mut self, address: u64) -> Option<Block> {
        let block = self.take_aside(address)?;
        self.without_entry -= 1;
        Some(block)
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self, newest: Place) {
        let before = self.bytes();
        if !self.budget.hold(before * 2) {
            if let Some(key) = self.entries.at(newest).key() {
                self.remove(key.address());
            }
            return;
        }
        self.entries = self.entries.doubled();
        if before > FIRST_ENTRIES as u64 * ENTRY_BYTES {
            self.budget.release(before);
        }
    }

    /// Memory of the table.
    fn bytes(&self) -> u64 {
        self.entries.n_entries() as u64 * ENTRY_BYTES
    }

    /// Copies what there is into an empty buffer, in no order.
    pub(crate) fn copy(&self, mut to: Vec<LiveBlock>) -> Vec<LiveBlock> {
        to.reserve_exact(self.len());
        for entry in self.entries.iter() {
            if let Some((key, block)) = entry.key().zip(entry.block(self.split)) {
                to.push(LiveBlock::new(key.address(), block.size, block.site));
            }
        }
        let aside = self.aside.iter();
        to.extend(aside.map(|(&address, block)| LiveBlock::new(address, block.size, block.site)));
        to
    }

    /// Takes all blocks out and frees the memory.
    pub(crate) fn drain(&mut self) -> impl Iterator<Item = (u64, Block)> + use<> {
        let old = std::mem::replace(self, Self::new(self.budget.clone()));
        if old.entries.n_entries() > FIRST_ENTRIES {
            old.budget.release(old.bytes());
        }
        old.budget.release(old.paid_aside as u64 * price::ASIDE);
        let split = old.split;
        let plain = old.entries.into_entries().filter_map(move |entry| {
            let (key, block) = entry.key().zip(entry.block(split))?;
            Some((key.address(), block))
        });
        plain.chain(old.aside)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #[test]
        fn it_is_a_map(
            steps in proptest::collection::vec((0u64..600, 0u8..8, 0u32..3), 0..4000),
            stride in 2u32..20,
            (threads, sites) in (0u32..18, 0u32..32),
        ) {
            let mut table = LiveBlocks::new(Budget::default());
            let mut truth = BTreeMap::new();
            for (i, (address, what, reallocations)) in steps.into_iter().enumerate() {
                // Some are of no allocator that there is.
                let address = if i % 50 == 0 { !address << 3 } else { address << stride };
                // Every seventh block is so large that its size is kept elsewhere.
                let size = if i % 7 == 0 { (i as u64) << 33 } else { i as u64 * 8 };
                let block = Block {
                    size,
                    born: Tick(i as u32),
                    site: (i as u32).wrapping_mul(0x9e37_79b9) >> (31 - sites.min(31)),
                    thread: (i as u32).wrapping_mul(0x85eb_ca6b) >> (31 - threads),
                    reallocations: reallocations * 5,
                    slot: i as u8 % 16,
                };
                match what {
                    0..4 => {
                        let fresh = table.insert(address, block);
                        prop_assert_eq!(fresh, !truth.contains_key(&address));
                        truth.entry(address).or_insert(block);
                    }
                    4 => {
                        table.set_reallocations(address, i as u32);
                        if let Some(block) = truth.get_mut(&address) {
                            block.reallocations = (i as u32).min(MOST_REALLOCATIONS);
                        }
                    }
                    _ => prop_assert_eq!(table.remove(address), truth.remove(&address)),
                }
                prop_assert_eq!(table.len(), truth.len());
            }
            for address in truth.keys() {
                prop_assert!(table.contains(*address));
            }
            let mut copied = table.copy(Vec::new());
            copied.sort_unstable();
            let expected = truth.iter().map(|(&address, b)| LiveBlock::new(address, b.size, b.site));
            let mut expected: Vec<_> = expected.collect();
            expected.sort_unstable();
            prop_assert_eq!(copied, expected);
            prop_assert_eq!(table.drain().collect::<BTreeMap<_, _>>(), truth);
            prop_assert!(table.aside.is_empty() && table.len() == 0);
        }
    }

    const BLOCK: Block = Block { size: 8, born: Tick(0), site: 0, thread: 1, reallocations: 0, slot: 0 };

    #[test]
    fn damaged_sizes_are_cut_and_resizes_saturate() {
        let mut table = LiveBlocks::new(Budget::default());
        assert!(table.insert(8, Block { size: u64::MAX, reallocations: u32::MAX, ..BLOCK }));
        let expected = Block { size: MOST_BYTES, reallocations: MOST_REALLOCATIONS, ..BLOCK };
        assert_eq!(table.remove(8), Some(expected));
    }

    #[test]
    fn a_table_that_may_not_grow_goes_on_without_the_blocks_that_do_not_fit() {
        let budget = Budget::new(Some(FIRST_ENTRIES as u64 * ENTRY_BYTES * 8));
        let mut table = LiveBlocks::new(budget.clone());
        for i in 1..=100_000u64 {
            assert!(
                table.insert(i << 4, Block { size: i, ..BLOCK }),
                "whether it is kept is no matter of the address"
            );
        }
        assert!(budget.exceeded().is_some());
        assert_eq!(table.len(), FIRST_ENTRIES * 4 * 7 / 10, "two tables while it grows");
        assert!(table.contains(16) && !table.contains(100_000 << 4));
        let kept: BTreeMap<u64, Block> = table.drain().collect();
        assert!(kept.values().zip(1u64..).all(|(block, i)| block.size == i));
        assert!(budget.hold(FIRST_ENTRIES as u64 * ENTRY_BYTES * 8), "all was released");
    }

    #[test]
    fn bits_are_divided_again_only_if_there_is_room_for_what_does_not_fit_then() {
        let block = |i: u64| match i {
            150 => Block { thread: 60_000, ..BLOCK },
            i => Block { site: 1 << 27 | i as u32, ..BLOCK },
        };
        for (room, is_divided) in [(10_000, false), (100_000, true)] {
            let budget = Budget::new(Some(room));
            let mut table = LiveBlocks::new(budget.clone());
            assert!((0..=150).all(|i| table.insert((i + 1) << 4, block(i))));
            assert_eq!(table.split != Split::default(), is_divided);
            assert_eq!(table.aside.len(), if is_divided { 150 } else { 1 });
            assert!((0..=150).all(|i| table.remove((i + 1) << 4) == Some(block(i))));
            assert!(table.aside.is_empty() && !budget.hold(room), "the table does not shrink");
            assert_eq!(table.drain().count(), 0);
            assert!(budget.hold(room), "all was released");
        }
    }

    #[test]
    fn blocks_aside_are_paid_for() {
        let budget = Budget::new(Some(FIRST_ENTRIES as u64 * ENTRY_BYTES * 8));
        let mut table = LiveBlocks::new(budget.clone());
        for i in 1..=1000u64 {
            assert!(table.insert(i << 4, Block { size: 1 << 40, ..BLOCK }));
            assert!(table.insert(u64::MAX - i, BLOCK));
        }
        assert!(budget.exceeded().is_some());
        assert!(table.len() < 1000, "{}", table.len());
        assert_eq!(table.drain().count() as u64, FIRST_ENTRIES as u64 * ENTRY_BYTES * 8 / price::ASIDE);
        assert!(budget.hold(FIRST_ENTRIES as u64 * ENTRY_BYTES * 8), "all was released");
    }
}
