//! Whether a block is noted.

use super::local;
use heapwise_trace::sampling::countdown::Distance;
use std::sync::atomic::{AtomicU32, Ordering};

/// The [`Distance`] between two noted blocks; 0 notes all.
static DISTANCE: AtomicU32 = AtomicU32::new(0);

#[inline]
fn distance() -> Distance {
    Distance::from_bits(DISTANCE.load(Ordering::Relaxed))
}

/// To be set before recording begins, with a power of two.
pub(super) fn set(sample_bytes: u64) {
    DISTANCE.store(Distance::of_log2(sample_bytes.max(1).ilog2()).to_bits(), Ordering::Relaxed);
}

/// Whether a block of this size is noted this time.
#[inline]
pub(super) fn wins(size: u64) -> bool {
    always_wins() || local::selects(distance(), size)
}

/// Whether a block of this size is not noted this time. If so, that is settled; if not, [`wins`] decides.
#[inline]
pub(super) fn passes_over(size: u64) -> bool {
    local::passes_over(distance(), size)
}

/// Whether all blocks are noted.
#[inline]
pub(super) fn always_wins() -> bool {
    distance() == Distance::default()
}
