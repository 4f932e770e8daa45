//! Whether a block is noted.

use super::local;
use std::sync::atomic::{AtomicU32, Ordering};

/// At most 2 to the power of this bytes lie between two noted blocks; 0 notes all.
static SAMPLE_LOG2: AtomicU32 = AtomicU32::new(0);

/// To be set before recording begins, with a power of two.
pub(super) fn set(sample_bytes: u64) {
    SAMPLE_LOG2.store(sample_bytes.max(1).ilog2(), Ordering::Relaxed);
}

/// Whether a block of this size is noted this time.
#[inline]
pub(super) fn wins(size: u64) -> bool {
    let log2 = SAMPLE_LOG2.load(Ordering::Relaxed);
    log2 == 0 || local::selects(log2, size)
}

/// Whether a block of this size is not noted this time. If so, that is settled; if not, [`wins`] decides.
#[inline]
pub(super) fn passes_over(size: u64) -> bool {
    local::passes_over(SAMPLE_LOG2.load(Ordering::Relaxed), size)
}

/// Whether all blocks are noted.
#[inline]
pub(super) fn always_wins() -> bool {
    SAMPLE_LOG2.load(Ordering::Relaxed) == 0
}
