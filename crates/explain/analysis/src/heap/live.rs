//! The live blocks of one process, by address.
//!
//! PERF: this table is searched at every event, and with 100 000 live blocks every search is a cache miss and often
//! a miss of the processor's address translation too, so what counts is how little memory it touches. It is open
//! addressing with linear probing; keys lie apart from what they lead to, so that probing and closing gaps stay within
//! one cache line of keys; and a block takes 16 bytes. Removing shifts later entries back instead of leaving a mark,
//! since the heap of a long run is all removal and insertion, and marks would fill the table again and again.

use super::recent::SLOT_BITS;
use crate::budget::Budget;
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
const THREAD_BITS: u32 = 22;
pub(crate) const MOST_REALLOCATIONS: u32 = (1 << (32 - THREAD_BITS)) - 1;
/// Stands for a size that is in [`LiveBlocks::large`].
const LARGE: u32 = (1 << (32 - SLOT_BITS)) - 1;

/// The size that a block of this request is counted with.
#[inline(always)]
pub(crate) fn cut_size(size: u64) -> u64 {
    size.min(MOST_BYTES)
}

/// A block as the table keeps it.
#[derive(Clone, Copy, Debug)]
#[repr(align(16))]
struct Packed {
    size_and_slot: u32,
    born: Tick,
    site: u32,
    thread_and_reallocations: u32,
}

const NONE: Packed = Packed { size_and_slot: 0, born: Tick(0), site: 0, thread_and_reallocations: 0 };

impl Packed {
    /// The size, or [`LARGE`].
    #[inline(always)]
    fn size(self) -> u32 {
        self.size_and_slot & LARGE
    }
}

/// What the analysis of pages needs to know of a live block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LiveBlock {
    pub(crate) address: u64,
    /// Requested bytes.
    pub(crate) size: u64,
    /// Site of its allocation, or of its last reallocation.
    pub(crate) site: u32,
}

/// Live blocks by address.
#[derive(Debug)]
pub(crate) struct LiveBlocks {
    /// Addresses with their lowest bit set, which no address of a recording has; 0 where there is no block.
    keys: Vec<u64>,
    blocks: Vec<Packed>,
    len: usize,
    /// 64 minus the binary logarithm of the number of keys.
    shift: u32,
    /// Sizes of 256 MiB and more.
    large: FxHashMap<u64, u64>,
    budget: Budget,
}

const FIRST_ENTRIES: usize = 1 << 8;

/// Bytes of an entry.
const ENTRY_BYTES: u64 = (size_of::<u64>() + size_of::<Packed>()) as u64;

impl LiveBlocks {
    /// A table that grows as far as the budget allows.
    pub(crate) fn new(budget: Budget) -> Self {
        Self {
            keys: vec![0; FIRST_ENTRIES],
            blocks: vec![NONE; FIRST_ENTRIES],
            len: 0,
            shift: 64 - FIRST_ENTRIES.trailing_zeros(),
            large: FxHashMap::default(),
            budget,
        }
    }
}

#[inline(always)]
fn key_of(address: u64) -> u64 {
    address | 1
}

impl LiveBlocks {
    #[inline(always)]
    fn home(&self, key: u64) -> usize {
        (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> self.shift) as usize
    }

    /// Index of the key's entry, or of the empty entry where it would go.
    #[inline(always)]
    fn find(&self, key: u64) -> (usize, bool) {
        let mask = self.keys.len() - 1;
        let mut at = self.home(key);
        loop {
            let found = self.keys[at & mask];
            if found == key {
                return (at & mask, true);
            }
            if found == 0 {
                return (at & mask, false);
            }
            at += 1;
        }
    }

    /// Loads what a search for an address will need into the cache, and does not use it.
    #[inline(always)]
    pub(crate) fn peek(&self, address: u64) -> u64 {
        let at = self.home(key_of(address)) & (self.keys.len() - 1);
        self.keys[at] ^ u64::from(self.blocks[at].site)
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    #[inline]
    pub(crate) fn contains(&self, address: u64) -> bool {
        self.find(key_of(address)).1
    }

    #[inline(always)]
    fn pack(&mut self, key: u64, block: Block) -> Packed {
        let size = if block.size < u64::from(LARGE) {
            block.size as u32
        } else {
            self.large.insert(key, cut_size(block.size));
            LARGE
        };
        let thread = block.thread & ((1 << THREAD_BITS) - 1);
        let thread_and_reallocations = thread | block.reallocations.min(MOST_REALLOCATIONS) << THREAD_BITS;
        let size_and_slot = size | u32::from(block.slot) << (32 - SLOT_BITS);
        Packed { size_and_slot, born: block.born, site: block.site, thread_and_reallocations }
    }

    #[inline(always)]
    fn unpack(&mut self, key: u64, packed: Packed) -> Block {
        let size = match packed.size() {
            LARGE => self.large.remove(&key).unwrap_or(0),
            size => u64::from(size),
        };
        let thread = packed.thread_and_reallocations & ((1 << THREAD_BITS) - 1);
        let reallocations = packed.thread_and_reallocations >> THREAD_BITS;
        let slot = (packed.size_and_slot >> (32 - SLOT_BITS)) as u8;
        Block { size, born: packed.born, site: packed.site, thread, reallocations, slot }
    }

    /// Adds a block; `false`, and nothing is changed, if there is one at its address. Where the budget ends, it is not kept.
    #[inline(always)]
    pub(crate) fn insert(&mut self, address: u64, block: Block) -> bool {
        let key = key_of(address);
        let (at, there) = self.find(key);
        if there {
            return false;
        }
        self.keys[at] = key;
        self.blocks[at] = self.pack(key, block);
        self.len += 1;
        if self.len * 3 > self.keys.len() * 2 {
            self.grow(at);
        }
        true
    }

    /// Notes that the block at an address stands for a buffer that has grown so often.
    pub(crate) fn set_reallocations(&mut self, address: u64, reallocations: u32) {
        let (at, there) = self.find(key_of(address));
        if there {
            let word = &mut self.blocks[at].thread_and_reallocations;
            *word = (*word & ((1 << THREAD_BITS) - 1)) | reallocations.min(MOST_REALLOCATIONS) << THREAD_BITS;
        }
    }

    /// Takes out the block at an address.
    #[inline(always)]
    pub(crate) fn remove(&mut self, address: u64) -> Option<Block> {
        let key = key_of(address);
        let (at, there) = self.find(key);
        if !there {
            return None;
        }
        let packed = self.blocks[at];
        self.len -= 1;
        self.close_gap(at);
        Some(self.unpack(key, packed))
    }

    /// Moves entries back that were pushed behind the gap, so that every entry is still reached from its home.
    #[inline(always)]
    fn close_gap(&mut self, mut gap: usize) {
        let mask = self.keys.len() - 1;
        let mut at = gap;
        loop {
            at = (at + 1) & mask;
            let key = self.keys[at];
            if key == 0 {
                break;
            }
            let from_home = at.wrapping_sub(self.home(key)) & mask;
            let from_gap = at.wrapping_sub(gap) & mask;
            if from_home >= from_gap {
                self.keys[gap] = key;
                self.blocks[gap] = self.blocks[at];
                gap = at;
            }
        }
        self.keys[gap] = 0;
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self, newest: usize) {
        let before = self.keys.len() as u64 * ENTRY_BYTES;
        if !self.budget.hold(before * 2) {
            self.large.remove(&self.keys[newest]);
            self.len -= 1;
            self.close_gap(newest);
            return;
        }
        let keys = std::mem::take(&mut self.keys);
        let blocks = std::mem::take(&mut self.blocks);
        self.keys = vec![0; keys.len() * 2];
        self.blocks = vec![NONE; keys.len() * 2];
        self.shift -= 1;
        for (key, block) in keys.into_iter().zip(blocks).filter(|(key, _)| *key != 0) {
            let (at, _) = self.find(key);
            self.keys[at] = key;
            self.blocks[at] = block;
        }
        if before > FIRST_ENTRIES as u64 * ENTRY_BYTES {
            self.budget.release(before);
        }
    }

    /// Copies what there is into an empty buffer, in no order.
    pub(crate) fn copy(&self, mut to: Vec<LiveBlock>) -> Vec<LiveBlock> {
        to.reserve_exact(self.len);
        let entries = self.keys.iter().zip(&self.blocks).filter(|(key, _)| **key != 0);
        let blocks = entries.map(|(key, packed)| {
            let size = match packed.size() {
                LARGE => self.large.get(key).copied().unwrap_or(0),
                size => u64::from(size),
            };
            LiveBlock { address: key & !1, size, site: packed.site }
        });
        to.extend(blocks);
        to
    }

    /// Takes all blocks out and frees the memory.
    pub(crate) fn drain(&mut self) -> impl Iterator<Item = (u64, Block)> + use<> {
        let mut old = std::mem::replace(self, Self::new(self.budget.clone()));
        if old.keys.len() > FIRST_ENTRIES {
            old.budget.release(old.keys.len() as u64 * ENTRY_BYTES);
        }
        let (keys, blocks) = (std::mem::take(&mut old.keys), std::mem::take(&mut old.blocks));
        let entries = keys.into_iter().zip(blocks).filter(|(key, _)| *key != 0);
        entries.map(move |(key, packed)| (key & !1, old.unpack(key, packed)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #[test]
        fn it_is_a_map(steps in proptest::collection::vec((0u64..600, any::<bool>()), 0..4000), stride in 3u32..20) {
            let mut table = LiveBlocks::new(Budget::default());
            let mut truth = BTreeMap::new();
            for (i, (address, insert)) in steps.into_iter().enumerate() {
                let address = address << stride;
                // Every seventh block is so large that its size is kept elsewhere.
                let size = if i % 7 == 0 { (i as u64) << 33 } else { i as u64 };
                let block = Block { size, born: Tick(i as u32), site: 4, thread: 5, reallocations: 6, slot: i as u8 % 16 };
                if insert {
                    let fresh = table.insert(address, block);
                    prop_assert_eq!(fresh, !truth.contains_key(&address));
                    truth.entry(address).or_insert(block);
                } else {
                    prop_assert_eq!(table.remove(address), truth.remove(&address));
                }
                prop_assert_eq!(table.len, truth.len());
            }
            for address in truth.keys() {
                prop_assert!(table.contains(*address));
            }
            prop_assert_eq!(table.drain().collect::<BTreeMap<_, _>>(), truth);
            prop_assert!(table.large.is_empty());
        }
    }

    #[test]
    fn damaged_sizes_are_cut_and_resizes_saturate() {
        let mut table = LiveBlocks::new(Budget::default());
        assert!(table.insert(
            8,
            Block { size: u64::MAX, born: Tick(0), site: 0, thread: 1, reallocations: u32::MAX, slot: 0 }
        ));
        let block = table.remove(8).expect("it is there");
        assert_eq!((block.size, block.reallocations, block.thread), (MOST_BYTES, MOST_REALLOCATIONS, 1));
    }

    #[test]
    fn a_table_that_may_not_grow_goes_on_without_the_blocks_that_do_not_fit() {
        let budget = Budget::new(Some(FIRST_ENTRIES as u64 * ENTRY_BYTES * 8));
        let mut table = LiveBlocks::new(budget.clone());
        for i in 0..100_000u64 {
            let block = Block { size: i << 30, born: Tick(0), site: 0, thread: 1, reallocations: 0, slot: 0 };
            assert!(table.insert(i << 4, block), "whether it is kept is no matter of the address");
        }
        assert!(budget.exceeded().is_some());
        assert_eq!(table.len, FIRST_ENTRIES * 4 * 2 / 3, "two tables while it grows");
        assert!(table.contains(0) && !table.contains(99_999 << 4));
        let kept: BTreeMap<u64, Block> = table.drain().collect();
        assert!(kept.values().zip(0u64..).all(|(block, i)| block.size == i << 30));
        assert!(budget.hold(FIRST_ENTRIES as u64 * ENTRY_BYTES * 8), "all was released");
    }

    #[test]
    fn four_blocks_fit_a_cache_line() {
        assert_eq!(size_of::<Packed>(), 16);
    }
}
