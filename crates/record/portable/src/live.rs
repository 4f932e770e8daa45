//! The noted blocks that are live, so that a free knows whether it is one's.
//!
//! Nearly no free is. So a *filter* is read first: a byte for each of 65536 classes of addresses, which counts the
//! noted blocks of its class. Only where it is not zero a locked part of the table is searched. A byte that has once been at
//! its highest stays there, since it does not know any more how many there are.
//!
//! Where all blocks are noted, every free is, and nothing of this is needed.

use super::sampler;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

const CLASSES: usize = 1 << 16;
const PARTS: usize = 64;
/// Entries of the whole table: so that what this many bytes of small blocks make of it fits.
const BYTES_THAT_FIT: u64 = 128 << 30;
const FEWEST: u64 = 1 << 16;
const MOST: u64 = 1 << 23;

static FILTER: [AtomicU8; CLASSES] = [const { AtomicU8::new(0) }; CLASSES];
static TABLE: [Mutex<Part>; PARTS] = [const { Mutex::new(Part { keys: Vec::new(), len: 0 }) }; PARTS];
static IS_ON: AtomicBool = AtomicBool::new(false);

/// Open addressing with linear probing; 0 is no block.
struct Part {
    keys: Vec<usize>,
    len: usize,
}

fn hash(address: usize) -> u64 {
    (address as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

fn class(address: usize) -> &'static AtomicU8 {
    &FILTER[(hash(address) >> 48) as usize]
}

/// Makes room, before a recording begins.
pub(super) fn prepare(sample_bytes: u64) {
    clear();
    if sample_bytes > 1 {
        let entries = (BYTES_THAT_FIT / sample_bytes).clamp(FEWEST, MOST) as usize;
        for part in &TABLE {
            let mut part = lock(part);
            part.keys = vec![0; (entries / PARTS).next_power_of_two()];
        }
    }
    IS_ON.store(sample_bytes > 1, Ordering::Release);
}

/// Forgets everything, when a recording is over.
pub(super) fn clear() {
    IS_ON.store(false, Ordering::Release);
    for part in &TABLE {
        *lock(part) = Part { keys: Vec::new(), len: 0 };
    }
    FILTER.iter().for_each(|class| class.store(0, Ordering::Relaxed));
}

fn lock(part: &Mutex<Part>) -> std::sync::MutexGuard<'_, Part> {
    part.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

fn part(address: usize) -> &'static Mutex<Part> {
    &TABLE[(hash(address) >> 42) as usize % PARTS]
}

/// Whether this may be a noted block.
#[inline]
pub(super) fn may_have(block: *mut u8) -> bool {
    sampler::always_wins() || class(block as usize).load(Ordering::Relaxed) != 0
}

/// Remembers a block; `false` if there is no room. Its address is not known to other threads yet.
pub(super) fn insert(address: usize) -> bool {
    if !IS_ON.load(Ordering::Acquire) {
        return true;
    }
    if !lock(part(address)).insert(address) {
        return false;
    }
    let _ = class(address).fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| n.checked_add(1));
    true
}

/// Forgets a block that is freed; `false` if it was none of those that are noted.
pub(super) fn remove(address: usize) -> bool {
    if !IS_ON.load(Ordering::Acquire) {
        return true;
    }
    let was_there = lock(part(address)).remove(address);
    if was_there {
        let _ = class(address).fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| match n {
            0 | u8::MAX => None,
            n => Some(n - 1),
        });
    }
    was_there
}

impl Part {
    fn home(&self, address: usize) -> usize {
        (hash(address) >> 20) as usize & (self.keys.len() - 1)
    }

    fn insert(&mut self, address: usize) -> bool {
        // A part that is nearly full would be searched from end to end.
        if self.len + 1 > self.keys.len() / 8 * 7 {
            return false;
        }
        let mask = self.keys.len() - 1;
        let mut at = self.home(address);
        while self.keys[at] != 0 {
            if self.keys[at] == address {
                // Its free was not seen.
                return true;
            }
            at = (at + 1) & mask;
        }
        self.keys[at] = address;
        self.len += 1;
        true
    }

    fn remove(&mut self, address: usize) -> bool {
        if self.len == 0 {
            return false;
        }
        let mask = self.keys.len() - 1;
        let mut gap = self.home(address);
        while self.keys[gap] != address {
            if self.keys[gap] == 0 {
                return false;
            }
            gap = (gap + 1) & mask;
        }
        self.len -= 1;
        // Entries that were pushed behind the gap move back, so that each is still reached from its home.
        let mut at = gap;
        loop {
            at = (at + 1) & mask;
            let key = self.keys[at];
            if key == 0 {
                break;
            }
            if at.wrapping_sub(self.home(key)) & mask >= at.wrapping_sub(gap) & mask {
                self.keys[gap] = key;
                gap = at;
            }
        }
        self.keys[gap] = 0;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn a_part_is_a_set_that_says_when_it_is_full() {
        let mut part = Part { keys: vec![0; 64], len: 0 };
        let mut truth = BTreeSet::new();
        let mut x = 1u64;
        for _ in 0..20_000 {
            x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let address = (x >> 40) as usize % 200 * 8 + 8;
            if x & 1 << 20 == 0 {
                let fits = part.insert(address);
                assert_eq!(fits, truth.len() < 56);
                if fits {
                    truth.insert(address);
                }
            } else {
                assert_eq!(part.remove(address), truth.remove(&address));
            }
            assert_eq!(part.len, truth.len());
        }
        truth.iter().for_each(|address| assert!(part.remove(*address)));
        assert!(part.keys.iter().all(|key| *key == 0));
    }
}
