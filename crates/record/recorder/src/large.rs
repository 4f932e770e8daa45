//! What part of large blocks was ever touched.
//!
//! A replay has to touch as many pages as the program did, or its memory means nothing. So when a large block is
//! freed, its resident pages are counted. Which blocks are large is remembered in a small table by address;
//! blocks that fall out of it, and blocks beyond a budget per tick of the clock, are recorded as not measured.

use crate::sys;
use core::sync::atomic::{AtomicUsize, Ordering};

/// Blocks from here on are measured: glibc's initial threshold for giving a block a separate mapping.
pub const LARGE: usize = 128 << 10;
/// Measurements per thread between two ticks of the clock, each about a microsecond.
pub const BUDGET: u32 = 16;

/// Binary logarithm of the number of slots.
const SLOT_BITS: u32 = 9;
const SLOTS: usize = 1 << SLOT_BITS;

struct Slot {
    address: AtomicUsize,
    size: AtomicUsize,
}

static BLOCKS: [Slot; SLOTS] =
    [const { Slot { address: AtomicUsize::new(0), size: AtomicUsize::new(0) } }; SLOTS];

#[inline(always)]
fn slot(address: usize) -> &'static Slot {
    // The golden ratio's multiplier spreads addresses that are pages or their multiples apart.
    &BLOCKS[(address.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (usize::BITS - SLOT_BITS)) % SLOTS]
}

/// Remembers a block that was handed out.
#[inline(always)]
pub fn allocated(address: usize, size: usize) {
    if size >= LARGE {
        let slot = slot(address);
        slot.address.store(0, Ordering::Relaxed);
        slot.size.store(size, Ordering::Relaxed);
        slot.address.store(address, Ordering::Release);
    }
}

/// Measures a block that is about to be freed, if it is a large one and the budget allows.
#[inline(always)]
pub fn freed(address: usize, budget: &mut u32) -> Option<u32> {
    let slot = slot(address);
    if slot.address.load(Ordering::Relaxed) != address {
        return None;
    }
    measure(slot, address, budget)
}

#[cold]
fn measure(slot: &Slot, address: usize, budget: &mut u32) -> Option<u32> {
    let size = slot.size.load(Ordering::Relaxed);
    if slot.address.compare_exchange(address, 0, Ordering::AcqRel, Ordering::Relaxed).is_err() || *budget == 0
    {
        return None;
    }
    *budget -= 1;
    sys::resident_pages(address, size)
}
