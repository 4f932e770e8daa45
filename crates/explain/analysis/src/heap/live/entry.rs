//! A block and its address in 16 bytes.
//!
//! | word | bits | |
//! |---|---:|---|
//! | first | 45 | address, in units of 8 bytes; 0 if there is no block |
//! | | 12 | [size](size_code) |
//! | | 4 | place among the last blocks of its thread |
//! | | 3 | how often it was made larger; 7 if the block is kept aside |
//! | second | 32 | when it was handed out |
//! | | 32 | site and thread, [divided](Split) as there are threads |
//!
//! What does not fit is kept aside as a whole.

use super::{Block, SLOT_BITS, Tick};

const GROWN_BITS: u32 = 3;
const SIZE_BITS: u32 = 12;
const SLOT_SHIFT: u32 = GROWN_BITS;
const SIZE_SHIFT: u32 = SLOT_SHIFT + SLOT_BITS;
const KEY_SHIFT: u32 = SIZE_SHIFT + SIZE_BITS;
const KEY_BITS: u32 = 64 - KEY_SHIFT;
/// Stands for a block that is kept aside.
const ASIDE: u64 = (1 << GROWN_BITS) - 1;

/// Every size up to this one, and multiples of 16 up to 16 times as much.
const HALF_OF_SIZES: u64 = 1 << (SIZE_BITS - 1);

/// An address that an entry has room for: a multiple of eight below 2^48.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Key(u64);

impl Key {
    #[inline(always)]
    pub(super) fn of(address: u64) -> Option<Self> {
        let key = address.rotate_right(3);
        (key.wrapping_sub(1) < (1 << KEY_BITS) - 1).then_some(Self(key))
    }

    pub(super) fn address(self) -> u64 {
        self.0 << 3
    }

    /// Which 256 bytes of memory it lies in.
    #[inline(always)]
    pub(super) fn neighbourhood(self) -> u64 {
        self.0 >> 5
    }

    /// Which 128 bytes: four of the smallest blocks of glibc.
    #[inline(always)]
    pub(super) fn part(self) -> usize {
        (self.0 >> 4) as usize
    }
}

/// How 32 bits are divided among site and thread. A program has many of the one or of the other, and hardly ever of both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Split {
    thread_bits: u32,
}

/// Threads whose number needs more bits are rare enough that their blocks are kept aside.
const MOST_THREAD_BITS: u32 = 16;

impl Default for Split {
    fn default() -> Self {
        Self { thread_bits: 4 }
    }
}

impl Split {
    /// One with room for a thread that this one has no room for.
    pub(super) fn for_thread(self, thread: u32) -> Option<Self> {
        let bits = u32::BITS - thread.leading_zeros();
        let wanted = (bits + 1).min(MOST_THREAD_BITS);
        (bits > self.thread_bits && wanted > self.thread_bits).then_some(Self { thread_bits: wanted })
    }

    #[inline(always)]
    fn pack(self, site: u32, thread: u32) -> Option<u32> {
        let fits = thread >> self.thread_bits == 0 && site >> (u32::BITS - self.thread_bits) == 0;
        fits.then_some(site << self.thread_bits | thread)
    }
}

/// A size in 12 bits, if it has one of those that are usual.
#[inline(always)]
fn size_code(size: u64) -> Option<u64> {
    if size < HALF_OF_SIZES {
        return Some(size);
    }
    let sixteenths = size.rotate_right(4);
    (sixteenths < HALF_OF_SIZES).then_some(HALF_OF_SIZES | sixteenths)
}

#[inline(always)]
fn size_of_code(code: u64) -> u64 {
    if code < HALF_OF_SIZES { code } else { (code & (HALF_OF_SIZES - 1)) << 4 }
}

/// A block and its address, or nothing.
#[derive(Clone, Copy, Debug)]
#[repr(align(16))]
pub(super) struct Entry {
    first: u64,
    second: u64,
}

impl Entry {
    pub(super) const NONE: Self = Self { first: 0, second: 0 };

    /// `None` if there is no room for the block.
    #[inline(always)]
    pub(super) fn new(key: Key, block: &Block, split: Split) -> Option<Self> {
        let (grown, size) = (u64::from(block.reallocations), size_code(block.size)?);
        let site_and_thread = split.pack(block.site, block.thread)?;
        (grown < ASIDE).then_some(())?;
        let first = key.0 << KEY_SHIFT | size << SIZE_SHIFT | u64::from(block.slot) << SLOT_SHIFT | grown;
        Some(Self { first, second: u64::from(block.born.0) << 32 | u64::from(site_and_thread) })
    }

    /// For a block that is kept aside.
    pub(super) fn aside(key: Key) -> Self {
        Self { first: key.0 << KEY_SHIFT | ASIDE, second: 0 }
    }

    #[inline(always)]
    pub(super) fn is_none(self) -> bool {
        self.first == 0
    }

    #[inline(always)]
    pub(super) fn has(self, key: Key) -> bool {
        self.first >> KEY_SHIFT == key.0
    }

    #[inline(always)]
    pub(super) fn key(self) -> Option<Key> {
        (self.first != 0).then_some(Key(self.first >> KEY_SHIFT))
    }

    /// `None` if there is none, or if it is kept aside.
    #[inline(always)]
    pub(super) fn block(self, split: Split) -> Option<Block> {
        let grown = self.first & ASIDE;
        if self.first == 0 || grown == ASIDE {
            return None;
        }
        Some(Block {
            size: size_of_code(self.first >> SIZE_SHIFT & ((1 << SIZE_BITS) - 1)),
            born: Tick((self.second >> 32) as u32),
            site: self.second as u32 >> split.thread_bits,
            thread: self.second as u32 & ((1 << split.thread_bits) - 1),
            reallocations: grown as u32,
            slot: (self.first >> SLOT_SHIFT) as u8 & ((1 << SLOT_BITS) - 1),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_blocks_fit_a_cache_line() {
        assert_eq!(size_of::<Entry>(), 16);
    }

    #[test]
    fn usual_sizes_have_a_code() {
        let codes: Vec<(u64, u64)> =
            (0..100_000).filter_map(|size| size_code(size).map(|code| (size, code))).collect();
        assert!(codes.iter().all(|&(size, code)| size_of_code(code) == size && code < 1 << SIZE_BITS));
        let steps =
            |from: u64, to: u64| codes.iter().filter(|(size, _)| (from..to).contains(size)).count() as u64;
        assert_eq!([steps(0, 2048), steps(2048, 32 << 10), steps(32 << 10, 100_000)], [2048, 1920, 0]);
        assert_eq!(size_code(u64::MAX), None);
    }

    #[test]
    fn addresses_that_allocators_hand_out_have_a_key() {
        for address in [8, 0x7fff_ffff_fff8, 0xffff_ffff_fff8] {
            assert_eq!(Key::of(address).map(Key::address), Some(address));
        }
        for address in [0, 4, 9, 0x7fff_ffff_fff9, 1 << 48, u64::MAX, u64::MAX - 7] {
            assert_eq!(Key::of(address), None, "{address:#x}");
        }
    }

    #[test]
    fn there_is_room_for_many_threads_or_many_sites() {
        let few = Split::default();
        assert_eq!(few.for_thread(15), None);
        assert_eq!(few.pack((1 << 28) - 1, 15), Some(u32::MAX));
        let more = few.for_thread(1000).expect("it has no room for it");
        assert_eq!((more.thread_bits, more.pack(1 << 20, 2047)), (11, Some(1 << 31 | 2047)));
        let most = more.for_thread(60_000).expect("it has no room for it");
        assert_eq!((most.thread_bits, most.for_thread(u32::MAX)), (MOST_THREAD_BITS, None));
        assert_eq!(most.pack(1 << 16, 1), None);
    }
}
