//! The recorded blocks that are live, so that whoever frees a block knows whether it is one of them.
//!
//! Nearly none is. So a *filter* is read first: a byte for each of 65,536 classes of addresses, which counts the recorded blocks of its
//! class. Only where it is not zero the *places* are searched: each address has sixteen, in two cache lines, of each of three *parts*. The first
//! part is a page, and the next one is used where that is full, so that a process takes no page for each block. Nothing here waits:
//! signal handlers may allocate, and a thread may end anywhere.

use core::sync::atomic::{AtomicU8, AtomicU64, Ordering};

/// Classes of addresses, and their binary logarithm.
pub const CLASSES: usize = 1 << CLASSES_LOG2;
pub const CLASSES_LOG2: u32 = 16;
/// The highest bits of a product with the golden ratio's multiplier are spread evenly. So many of them are the class of an address.
pub const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
/// Places of one cache line.
const PLACES: usize = 8;
/// Bytes of live blocks that there are lines for where nothing is known of the system's memory.
pub const USUAL_BYTES: u64 = 64 << 30;
const FEWEST_LINES: u64 = 1 << 12;
const MOST_LINES: u64 = 1 << 18;
/// Lines of the parts before the last one.
const FIRST_PARTS: [usize; 2] = [1 << 6, 1 << 10];
const FIRST_LINES: usize = FIRST_PARTS[0] + FIRST_PARTS[1];

/// Addresses of blocks, 0 where there is none.
#[derive(Debug, Default)]
#[repr(C, align(64))]
pub struct Line([AtomicU64; PLACES]);

/// How many lines are needed for so many bytes of live blocks, if at most `sample_bytes` lie between recorded ones. There is a bound, which
/// is two million places.
pub const fn lines(sample_bytes: u64, live_bytes: u64) -> usize {
    // A recorded block stands for more than half of the distance, and half of the places are never too few.
    let places = live_bytes.saturating_mul(4) / if sample_bytes == 0 { 1 } else { sample_bytes };
    let most = MOST_LINES * PLACES as u64;
    let lines = ((if places < most { places } else { most }) / PLACES as u64).next_power_of_two();
    let least = if lines < FEWEST_LINES { FEWEST_LINES } else { lines };
    FIRST_LINES + (if least < MOST_LINES { least } else { MOST_LINES }) as usize
}

/// Views the memory that has them; all zeroes is none.
#[derive(Clone, Copy, Debug)]
pub struct Noted<'m> {
    filter: &'m [AtomicU8; CLASSES],
    parts: [&'m [Line]; 3],
}

#[inline(always)]
fn hash(address: u64) -> u64 {
    address.wrapping_mul(FACTOR)
}

#[inline(always)]
fn class(address: u64) -> usize {
    (hash(address) >> (u64::BITS - CLASSES_LOG2)) as usize
}

/// Whether an address may be that of a recorded block.
#[inline(always)]
pub fn may_have(filter: &[AtomicU8; CLASSES], address: u64) -> bool {
    filter[class(address)].load(Ordering::Relaxed) != 0
}

impl<'m> Noted<'m> {
    /// There are as many lines as [`lines`] says; `None` where they cannot be divided into parts.
    pub fn new(filter: &'m [AtomicU8; CLASSES], lines: &'m [Line]) -> Option<Self> {
        let (first, rest) = lines.split_at_checked(FIRST_PARTS[0])?;
        let (second, last) = rest.split_at_checked(FIRST_PARTS[1])?;
        last.len().is_power_of_two().then_some(Self { filter, parts: [first, second, last] })
    }

    /// Notes a block; `false` if there is no place for it. No other thread knows its address yet.
    pub fn insert(&self, address: u64) -> bool {
        if self.places(address).any(|place| place.load(Ordering::Relaxed) == address) {
            // Its free was not seen.
            return true;
        }
        let is_taken = |place: &AtomicU64| {
            place.compare_exchange(0, address, Ordering::Relaxed, Ordering::Relaxed).is_ok()
        };
        // Before the address is there: whoever gets the block, from this thread, finds both.
        self.count(address, |n| n.checked_add(1));
        let found = self.places(address).any(is_taken);
        if !found {
            self.count(address, fewer);
        }
        found
    }

    /// Forgets a block that is freed; `false` if it was none.
    pub fn remove(&self, address: u64) -> bool {
        let is_it = |place: &AtomicU64| {
            place.load(Ordering::Relaxed) == address
                && place.compare_exchange(address, 0, Ordering::Relaxed, Ordering::Relaxed).is_ok()
        };
        let found = self.places(address).any(is_it);
        if found {
            self.count(address, fewer);
        }
        found
    }

    /// Whether a block is one of them.
    pub fn contains(&self, address: u64) -> bool {
        self.places(address).any(|place| place.load(Ordering::Relaxed) == address)
    }

    /// Where an address may be, in the order in which places are taken.
    fn places(&self, address: u64) -> impl Iterator<Item = &'m AtomicU64> + use<'m> {
        let hash = hash(address);
        // The second one is independent of the first, or lines that are full would be so in pairs.
        let second = (hash ^ (hash >> 32)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        self.parts.into_iter().flat_map(move |lines| {
            let of = |number: u64| &lines[(number >> 30) as usize & (lines.len() - 1)].0;
            of(hash).iter().chain(of(second))
        })
    }

    fn count(&self, address: u64, change: fn(u8) -> Option<u8>) {
        let _ = self.filter[class(address)].fetch_update(Ordering::Relaxed, Ordering::Relaxed, change);
    }
}

/// A byte that has once been at its highest stays there, since it does not know any more how many there are.
fn fewer(n: u8) -> Option<u8> {
    if n == 0 || n == u8::MAX { None } else { Some(n - 1) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    struct Memory {
        filter: Box<[AtomicU8; CLASSES]>,
        lines: Vec<Line>,
    }

    impl Memory {
        /// With so many lines in the last part.
        fn new(lines: usize) -> Self {
            let filter: Vec<AtomicU8> = (0..CLASSES).map(|_| AtomicU8::new(0)).collect();
            let filter = filter.into_boxed_slice().try_into().expect("as many");
            Self { filter, lines: (0..FIRST_LINES + lines).map(|_| Line::default()).collect() }
        }

        fn noted(&self) -> Noted<'_> {
            Noted::new(&self.filter, &self.lines).expect("a power of two")
        }
    }

    #[test]
    fn it_is_a_set_that_says_when_it_is_full() {
        let memory = Memory::new(1);
        let noted = memory.noted();
        let (mut truth, mut refused, mut x) = (BTreeSet::new(), 0, 1u64);
        for _ in 0..200_000 {
            x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let address = 0x7f00_0000_0000 + (x >> 40) % 20_000 * 16;
            if x & 1 << 20 == 0 {
                if noted.insert(address) {
                    truth.insert(address);
                } else {
                    assert!(!truth.contains(&address));
                    refused += 1;
                }
            } else {
                assert_eq!(noted.remove(address), truth.remove(&address));
            }
            assert_eq!(noted.contains(address), truth.contains(&address));
            assert_eq!(
                truth.contains(&address),
                may_have(&memory.filter, address) && {
                    let was_there = noted.remove(address);
                    assert!(!was_there || noted.insert(address));
                    was_there
                }
            );
        }
        assert!(refused > 0, "it was never full");
        for address in truth {
            assert!(may_have(&memory.filter, address) && noted.remove(address));
        }
        let is_empty =
            memory.lines.iter().flat_map(|line| &line.0).all(|place| place.load(Ordering::Relaxed) == 0);
        assert!(is_empty && memory.filter.iter().all(|n| n.load(Ordering::Relaxed) == 0));
    }

    #[test]
    fn half_of_the_places_are_never_too_few() {
        let memory = Memory::new(1 << 12);
        let noted = memory.noted();
        for n in 0..1u64 << 14 {
            assert!(noted.insert(0x55aa_0000_0010 + n * 48), "{n}");
        }
    }

    #[test]
    fn few_blocks_take_few_pages() {
        const LINES_OF_PAGE: usize = 4096 / size_of::<Line>();
        let memory = Memory::new(1 << 16);
        let pages = || {
            let is_used = |lines: &&[Line]| {
                lines.iter().flat_map(|line| &line.0).any(|place| place.load(Ordering::Relaxed) != 0)
            };
            memory.lines.chunks(LINES_OF_PAGE).filter(is_used).count()
        };
        for n in 0..1000u64 {
            assert!(memory.noted().insert(0x55aa_0000_0010 + n * 4096), "{n}");
            // The first page holds most of the first half of its places, and sixteen more what it does not hold.
            let most = if n < 200 { 1 } else { 17 };
            assert!(pages() <= most, "{} pages of {n} blocks", pages());
        }
    }

    #[test]
    fn threads_find_what_others_have_noted() {
        let memory = Memory::new(1 << 10);
        let noted = memory.noted();
        let (sender, receiver) = std::sync::mpsc::channel();
        std::thread::scope(|scope| {
            for thread in 1..=4u64 {
                let sender = sender.clone();
                scope.spawn(move || {
                    for n in 0..20_000u64 {
                        let address = thread << 40 | n << 4;
                        // Memory of the same class, and often of the same line.
                        if noted.insert(address) {
                            sender.send(address).expect("it is received");
                        }
                    }
                });
            }
            drop(sender);
            scope.spawn(move || receiver.iter().for_each(|address| assert!(noted.remove(address))));
        });
        assert!(memory.lines.iter().flat_map(|line| &line.0).all(|place| place.load(Ordering::Relaxed) == 0));
    }

    #[test]
    fn there_are_lines_for_what_may_be_live() {
        let of = |log2: u32| FIRST_LINES + (1 << log2);
        assert_eq!([8, 64, 128].map(|gib| lines(512 << 10, gib << 30)), [13, 16, 17].map(of));
        assert_eq!([1, 0, 1 << 30].map(|every| lines(every, USUAL_BYTES)), [18, 18, 12].map(of));
        assert_eq!([0, u64::MAX].map(|live| lines(512 << 10, live)), [12, 18].map(of));
    }
}
